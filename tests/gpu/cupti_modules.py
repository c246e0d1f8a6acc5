"""cupti_modules.py - compare the modules that a run saved with the code that ran.

cupti_modules.py RUN DATABASE   DATABASE is what accelprof export makes of RUN
"""
import ctypes
import os
import sqlite3
import struct
import sys

EM_CUDA = 190
SHT_SYMTAB, STT_FUNC = 2, 2
bad = 0


def holds(what, truth):
    global bad
    if not truth:
        print(f"{what}: does not hold")
        bad += 1


def equal(what, got, wanted):
    holds(f"{what}: {got}, and {wanted} were expected", got == wanted)


def text(strings, at):
    return strings[at:strings.index(b"\0", at)].decode()


def functions(path):
    """Names of the functions in an ELF file of CUDA."""
    with open(path, "rb") as f:
        data = f.read()
    holds(f"{path}: is ELF of 64 bits", data[:5] == b"\x7fELF\x02")
    if data[:5] != b"\x7fELF\x02":
        return set()
    machine = struct.unpack_from("<H", data, 18)[0]
    equal(f"{path}: its machine", machine, EM_CUDA)
    start, = struct.unpack_from("<Q", data, 40)
    size, count = struct.unpack_from("<HH", data, 58)
    if not count and start + 64 <= len(data):  # too many for the field: the first one has it
        count, = struct.unpack_from("<Q", data, start + 32)
    whole = count and start + size * count <= len(data)
    holds(f"{path}: is whole", whole)
    if not whole:
        return set()
    sections = [struct.unpack_from("<IIQQQQIIQQ", data, start + size * i) for i in range(count)]
    found = set()
    for _, kind, _, _, offset, length, link, _, _, entry in sections:
        if kind != SHT_SYMTAB:
            continue
        strings = data[sections[link][4]:sections[link][4] + sections[link][5]]
        for at in range(offset, offset + length, entry):
            name, info, _, section = struct.unpack_from("<IBBH", data, at)
            if info & 15 == STT_FUNC and section:
                found.add(text(strings, name))
    return found


def plain(name):
    """As accelprof shows it: it asks the same library."""
    lib = ctypes.CDLL("libstdc++.so.6")
    status = ctypes.c_int()
    demangle = lib["__cxa_demangle"]
    demangle.restype = ctypes.c_char_p  # it is not freed
    out = demangle(name.encode(), None, None, ctypes.byref(status))
    return out.decode() if out and name.startswith("_Z") else name


def main(run, database):
    db = sqlite3.connect(f"file:{database}?mode=ro", uri=True)
    loads = db.execute("SELECT path, bytes, crc, context, device FROM module "
                       "WHERE what = 'load' AND name = 'cubin'").fetchall()
    unloads = db.execute("SELECT count(*) FROM module WHERE what = 'unload' AND name = 'cubin'")
    holds("modules were loaded", loads)
    holds("all are saved", all(load[0] for load in loads))
    holds("all have a crc", all(load[2] for load in loads))
    holds("all have a context", all(load[3] for load in loads))
    devices = {row[0] for row in db.execute("SELECT device FROM device")}
    holds("all are on a device that there is", {load[4] for load in loads} <= devices)
    files = {os.path.join("modules", name) for name in os.listdir(os.path.join(run, "modules"))}
    equal("files", files, {load[0] for load in loads})
    for path, size, *_ in sorted(set(loads)):
        equal(f"{path}: bytes", os.path.getsize(os.path.join(run, path)), size)
    found = set()
    for path in sorted(files):
        found |= functions(os.path.join(run, path))
    ran = {row[0] for row in db.execute("SELECT DISTINCT name FROM kernel")}
    missing = ran - found - {plain(name) for name in found}
    equal("kernels that are in no copy", sorted(missing)[:10], [])
    holds("kernels ran", ran)
    crcs = {}
    for path, _, crc, *_ in loads:
        crcs.setdefault(crc, set()).add(path)
    print(f"{len(loads)} loads, {unloads.fetchone()[0]} unloads, {len(files)} copies of "
          f"{sum(os.path.getsize(os.path.join(run, p)) for p in files)} bytes with {len(found)} "
          f"functions; {len(ran)} kernels ran; "
          f"{sum(len(p) > 1 for p in crcs.values())} crcs stand for more than one of them")
    return bad > 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
