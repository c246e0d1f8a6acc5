"""Attach AccelProf's agent to the PyTorch of this process.

PyTorch's observers are C++, whose ABI differs from one PyTorch to the next: the shim between it and
the agent is compiled here, once, and kept. Whatever goes wrong is told to accelprof, not to the
program: nothing here raises or prints.
"""

import contextlib
import ctypes
import errno
import fcntl
import hashlib
import os
import re
import shutil
import stat
import subprocess
import sys
import tempfile

from . import _hook

ABI = 1  # PASTA_TORCH_ABI
FOLDER = "handlers/torch"
FILES = ("shim.cpp", "shim.h")
COMPILE_SECONDS = 300
SEAL = b"accelprof shim 1"  # at the end of a file in the cache: this, and the hash of all before it

_attached = False


class Trouble(Exception):
    """What cannot be done, and what to do about it."""


def _agent():
    """The agent of this run, or None."""
    path = _hook.agent_path()
    if path is None:
        return None
    agent = ctypes.CDLL(path)
    agent.pasta_torch_attach.argtypes = [ctypes.c_char_p, ctypes.c_char_p, ctypes.c_size_t]
    agent.pasta_torch_log.argtypes = [ctypes.c_char_p]
    agent.pasta_torch_log.restype = None
    agent.pasta_torch_yield.restype = None
    return agent


def _sources():
    """The folder with the shim's sources: beside the agent, unless PASTA_TORCH_SHIM names another."""
    folder = os.environ.get("PASTA_TORCH_SHIM")
    if not folder:
        lib = os.path.dirname(os.path.realpath(os.environ["PASTA_AGENT"]))
        folder = os.path.join(os.path.dirname(lib), "share", "accelprof", "torch")
    for name in FILES:
        if not os.path.isfile(os.path.join(folder, FOLDER, name)):
            raise Trouble(
                "%s/%s/%s is missing: install AccelProf again" % (folder, FOLDER, name)
            )
    return folder


def _compiler():
    named = os.environ.get("CXX", "").split()
    if named:
        return named
    for name in ("c++", "g++", "clang++"):
        path = shutil.which(name)
        if path:
            return [path]
    raise Trouble("no C++ compiler: install g++, or set CXX to one")


def _version(torch):
    """113 for 1.13.0a0."""
    major, minor = torch.__version__.split(".")[:2]
    return int(major) * 100 + int(minor)


def _cuda_folders(torch):
    """Where CUDA's headers may be: the toolkit, or the packages that PyTorch depends on."""
    site = os.path.dirname(os.path.dirname(os.path.realpath(torch.__file__)))
    folders = [
        os.path.join(os.environ[name], "include")
        for name in ("CUDA_HOME", "CUDA_PATH")
        if os.environ.get(name)
    ]
    folders.append("/usr/local/cuda/include")
    with contextlib.suppress(OSError):
        for name in sorted(os.listdir(os.path.join(site, "nvidia"))):
            folders.append(os.path.join(site, "nvidia", name, "include"))
    return [f for f in folders if os.path.isfile(os.path.join(f, "cuda_runtime_api.h"))][:1]


def _flags(torch, sources, cuda):
    root = os.path.dirname(os.path.realpath(torch.__file__))
    include = os.path.join(root, "include")
    flags = ["-std=c++17" if _version(torch) < 210 else "-std=c++20"]
    flags += ["-O2", "-fPIC", "-shared", "-fvisibility=hidden", "-DNDEBUG", "-w"]
    flags.append("-D_GLIBCXX_USE_CXX11_ABI=%d" % bool(torch.compiled_with_cxx11_abi()))
    flags += ["-I" + sources, "-isystem", include]
    flags += ["-isystem", os.path.join(include, "torch", "csrc", "api", "include")]
    # By name: the loader then finds those that the program has loaded.
    libraries = ["-L" + os.path.join(root, "lib"), "-ltorch_cpu", "-lc10"]
    if cuda:
        flags += ["-DPASTA_TORCH_CUDA", "-isystem", cuda]
        libraries.append("-lc10_cuda")
    return flags, libraries


def _key(torch, sources, compiler):
    """What the shim depends on. The agent refuses one of another ABI than its own."""
    hash_ = hashlib.sha256()
    for name in FILES:
        with open(os.path.join(sources, FOLDER, name), "rb") as file:
            hash_.update(file.read() + b"\0")
    with open(__file__, "rb") as file:  # its flags
        hash_.update(file.read() + b"\0")
    config = getattr(torch.version, "git_version", None)
    parts = [torch.__version__, config, torch.version.cuda, torch.compiled_with_cxx11_abi(), ABI]
    parts += [os.path.realpath(torch.__file__), compiler]
    with contextlib.suppress(OSError):
        parts.append(os.stat(shutil.which(compiler[0]) or compiler[0]).st_mtime_ns)
    hash_.update(repr(parts).encode())
    return "torch-%s-%s.so" % (torch.__version__, hash_.hexdigest()[:16])


def _is_own(info):
    """Code is loaded from there: nobody else may write to it."""
    others = stat.S_IWGRP | stat.S_IWOTH
    return info.st_uid == os.geteuid() and not info.st_mode & others


def _open_own(path, flags, mode=0o600):
    """A file descriptor of a plain file that is ours. Links are not followed, FIFOs not waited for."""
    fd = os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, mode)
    info = os.fstat(fd)
    if not stat.S_ISREG(info.st_mode) or not _is_own(info):
        os.close(fd)
        raise OSError(errno.EPERM, "not a plain file of this user's alone", path)
    return fd


def _cache():
    """The folder that shims are kept in, or None: there is none that we can write to."""
    base = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    folder = os.path.join(base, "accelprof")
    with contextlib.suppress(OSError):
        os.makedirs(folder, mode=0o700, exist_ok=True)
        if os.access(folder, os.W_OK) and _is_own(os.stat(folder)):
            return folder
    return None


def _environment():
    """Compilers are no part of the program under study."""
    env = dict(os.environ)
    for name in list(env):
        if name.startswith("PASTA_") or name in ("LD_PRELOAD", "CUDA_INJECTION64_PATH"):
            del env[name]
    env["LC_ALL"] = "C"
    return env


def _missing_header(text):
    """The header of PyTorch's that the compiler, gcc or clang, did not find; or None."""
    found = re.search(r"""fatal error: '?((?:ATen|c10|torch)/[^:'\s]+)(?:: No such|' file not)""", text)
    return found and found.group(1)


def _first_error(text):
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    for line in lines:
        if "error" in line.lower():
            return line
    return lines[0] if lines else "it says nothing"


def _run(command):
    try:
        done = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env=_environment(),
            timeout=COMPILE_SECONDS,
            check=False,
        )
    except OSError as error:
        raise Trouble("%s: %s: set CXX to a C++ compiler" % (command[0], error.strerror))
    except subprocess.TimeoutExpired:
        raise Trouble("%s did not end in %d s" % (command[0], COMPILE_SECONDS))
    return done.returncode, done.stdout.decode(errors="replace")


def _compile(torch, sources, compiler, to):
    """Compile into the file of that name, in a folder that is ours."""
    source = os.path.join(sources, FOLDER, "shim.cpp")
    tries = [None]
    if torch.version.cuda and _version(torch) >= 202:
        tries = _cuda_folders(torch) + tries
    for cuda in tries:
        flags, libraries = _flags(torch, sources, cuda)
        status, text = _run(compiler + flags + [source, "-o", to] + libraries)
        if not status:
            return
    header = _missing_header(text)
    if header:
        raise Trouble(
            "PyTorch's headers are missing (%s): install them (libtorch-dev on Debian and Ubuntu, "
            "python3-torch-devel on Fedora), or a PyTorch that comes with them" % header
        )
    raise Trouble("%s failed: %s" % (" ".join(compiler), _first_error(text)))


def _is_whole(path):
    """Is it a shim, as it was put into the cache? Loading a damaged one would kill the program."""
    size = len(SEAL) + hashlib.sha256().digest_size
    with contextlib.suppress(OSError):
        with open(_open_own(path, os.O_RDONLY), "rb") as file:
            data = file.read()
        hash_ = hashlib.sha256(data[:-size]).digest()
        return len(data) > size and data[-size:] == SEAL + hash_
    return False


def _seal(path):
    """Let _is_whole know it, also after a power failure. The loader ignores what follows an ELF file."""
    with open(_open_own(path, os.O_RDWR), "r+b") as file:
        hash_ = hashlib.sha256(file.read()).digest()
        file.write(SEAL + hash_)
        file.flush()
        os.fsync(file.fileno())


def _compile_into(torch, sources, compiler, to):
    """Compile it into the cache, whole or not at all. The lock is held."""
    folder = to + ".part"
    shutil.rmtree(folder, ignore_errors=True)  # of a process that was killed
    with contextlib.suppress(OSError):  # whatever else lies there
        os.unlink(folder)
    os.mkdir(folder, 0o700)
    try:
        part = os.path.join(folder, "shim.so")
        _compile(torch, sources, compiler, part)
        os.chmod(part, 0o600)
        _seal(part)
        os.rename(part, to)
        cache = os.open(os.path.dirname(to), os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(cache)
        finally:
            os.close(cache)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _compile_once(torch, sources, compiler, to):
    """Compile it, unless a process of this run could not: all others would fail as slowly."""
    note = os.path.join(os.environ["PASTA_RUN"], ".%s.failed" % os.path.basename(to))
    with contextlib.suppress(OSError):
        with open(_open_own(note, os.O_RDONLY), encoding="utf-8", errors="replace") as file:
            raise Trouble(file.read())
    try:
        _compile_into(torch, sources, compiler, to)
    except Trouble as trouble:
        with contextlib.suppress(OSError):
            fd = _open_own(note, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
            with open(fd, "w", encoding="utf-8", errors="replace") as file:
                file.write(str(trouble))
        raise


def _build_cached(torch, sources, compiler, path):
    """Of many processes one compiles it, the others wait."""
    if _is_whole(path):
        return
    lock = _open_own(path + ".lock", os.O_RDWR | os.O_CREAT)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not _is_whole(path):
            _compile_once(torch, sources, compiler, path)
    finally:
        os.close(lock)


def _build(torch):
    """The path of a shim for this PyTorch, and whether it is a temporary one."""
    sources = _sources()
    compiler = _compiler()
    name = _key(torch, sources, compiler)
    cache = _cache()
    if cache:
        path = os.path.join(cache, name)
        # Where it cannot be kept (no locks, a full disk, a file of somebody else's) it is not.
        with contextlib.suppress(OSError):
            _build_cached(torch, sources, compiler, path)
            return path, False
    # Loaded at once: it need not stay, nor may it be in the way of others.
    folder = tempfile.mkdtemp(prefix="accelprof-")
    path = os.path.join(folder, name)
    try:
        _compile(torch, sources, compiler, path)
    except Trouble:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    return path, True


def _yield_to_profilers(agent):
    """PyTorch has one place for profilers, and refuses to start its own while ours is there."""
    for module, name in (
        ("torch.autograd.profiler", "_enable_profiler"),
        ("torch.autograd.profiler_legacy", "_enable_profiler_legacy"),
    ):
        there = sys.modules.get(module)
        enable = getattr(there, name, None)
        if enable is None or hasattr(enable, "_accelprof"):
            continue

        def enable_alone(*args, _enable=enable, **kwargs):
            agent.pasta_torch_yield()
            return _enable(*args, **kwargs)

        enable_alone._accelprof = True
        setattr(there, name, enable_alone)


def _attach(agent):
    import torch

    if _version(torch) < 113:
        raise Trouble("PyTorch %s is too old: 1.13 is the first that works" % torch.__version__)
    path, temporary = _build(torch)
    why = ctypes.create_string_buffer(240)
    try:
        failed = agent.pasta_torch_attach(os.fsencode(path), why, len(why))
    finally:
        if temporary:
            shutil.rmtree(os.path.dirname(path), ignore_errors=True)
    if failed:
        raise Trouble(why.value.decode(errors="replace"))
    _yield_to_profilers(agent)


def attach():
    """Record this process's PyTorch, if it runs under accelprof and a tool wants it.

    Call it once torch has been imported; again does nothing. True: it is recorded.
    """
    global _attached
    agent = None
    if _attached or getattr(sys.modules.get(_hook.PRIVATE + "._torch"), "_attached", False):
        return True
    try:
        agent = _agent()
        if agent is None or not agent.pasta_torch_enabled():
            return False
        _attach(agent)
        _attached = True
        return True
    except Exception as error:  # the program goes on, whatever it is
        with contextlib.suppress(Exception):
            text = "operators are not recorded: %s" % error
            agent.pasta_torch_log(text.encode())
        return False
