"""Attaches AccelProf's agent to the PyTorch of this process.

PyTorch's observers are C++, and their ABI differs between versions. So the shim between PyTorch and
the agent is compiled here, once, and cached. Errors are reported to accelprof, not to the program:
attach() neither raises nor prints.
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

ABI = 2  # PASTA_TORCH_ABI
FOLDER = "handlers/torch"
FILES = ("shim.cpp", "shim.h", "shimvalues.hpp")
COMPILE_SECONDS = 300
SEAL = b"accelprof shim 1"  # ends a file in the cache, with the hash of the rest

_attached = False


class Trouble(Exception):
    """What does not work, and what to do about it."""


def _agent():
    """The agent; None if the process does not belong to a run."""
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
    """The version as a number: 113 for 1.13.0a0."""
    major, minor = torch.__version__.split(".")[:2]
    return int(major) * 100 + int(minor)


def _cuda_folders(torch):
    """The folder of CUDA's headers, in a list: in the toolkit, or in PyTorch's dependencies."""
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
    # By name, so that the loader uses the copies that the program has loaded.
    libraries = ["-L" + os.path.join(root, "lib"), "-ltorch_cpu", "-lc10"]
    if cuda:
        flags += ["-DPASTA_TORCH_CUDA", "-isystem", cuda]
        libraries.append("-lc10_cuda")
    return flags, libraries


def _key(torch, sources, compiler):
    """The file name of the shim, with a hash of everything that the shim depends on."""
    hash_ = hashlib.sha256()
    for name in FILES:
        with open(os.path.join(sources, FOLDER, name), "rb") as file:
            hash_.update(file.read() + b"\0")
    with open(__file__, "rb") as file:  # has the flags
        hash_.update(file.read() + b"\0")
    config = getattr(torch.version, "git_version", None)
    parts = [torch.__version__, config, torch.version.cuda, torch.compiled_with_cxx11_abi(), ABI]
    parts += [os.path.realpath(torch.__file__), compiler]
    with contextlib.suppress(OSError):
        parts.append(os.stat(shutil.which(compiler[0]) or compiler[0]).st_mtime_ns)
    hash_.update(repr(parts).encode())
    return "torch-%s-%s.so" % (torch.__version__, hash_.hexdigest()[:16])


def _is_own(info):
    """Whether only this user can write to it: code is loaded from it."""
    others = stat.S_IWGRP | stat.S_IWOTH
    return info.st_uid == os.geteuid() and not info.st_mode & others


def _open_own(path, flags, mode=0o600):
    """Open a regular file that only this user can write to. Follows no link, waits for no FIFO."""
    fd = os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, mode)
    info = os.fstat(fd)
    if not stat.S_ISREG(info.st_mode) or not _is_own(info):
        os.close(fd)
        raise OSError(errno.EPERM, "not a regular file that only this user can write to", path)
    return fd


def _cache():
    """The folder of cached shims; None if it cannot be written or others can write to it."""
    base = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    folder = os.path.join(base, "accelprof")
    with contextlib.suppress(OSError):
        os.makedirs(folder, mode=0o700, exist_ok=True)
        if os.access(folder, os.W_OK) and _is_own(os.stat(folder)):
            return folder
    return None


def _environment():
    """The compiler's environment: without AccelProf's variables, so it is not recorded."""
    env = dict(os.environ)
    for name in list(env):
        if name.startswith("PASTA_") or name in ("LD_PRELOAD", "CUDA_INJECTION64_PATH"):
            del env[name]
    env["LC_ALL"] = "C"
    return env


def _missing_header(text):
    """The header of PyTorch that gcc or clang did not find; or None."""
    found = re.search(r"""fatal error: '?((?:ATen|c10|torch)/[^:'\s]+)(?:: No such|' file not)""", text)
    return found and found.group(1)


def _first_error(text):
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    for line in lines:
        if "error" in line.lower():
            return line
    return lines[0] if lines else "it printed nothing"


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
        raise Trouble("%s did not finish within %d s" % (command[0], COMPILE_SECONDS))
    return done.returncode, done.stdout.decode(errors="replace")


def _compile(torch, sources, compiler, to):
    """Compile the shim into a file. Tries with CUDA's headers first, then without them."""
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
    """Whether a cached shim is complete. Loading a damaged one would crash the program."""
    size = len(SEAL) + hashlib.sha256().digest_size
    with contextlib.suppress(OSError):
        with open(_open_own(path, os.O_RDONLY), "rb") as file:
            data = file.read()
        hash_ = hashlib.sha256(data[:-size]).digest()
        return len(data) > size and data[-size:] == SEAL + hash_
    return False


def _seal(path):
    """Append the seal that _is_whole checks, and sync. The loader ignores bytes after an ELF file."""
    with open(_open_own(path, os.O_RDWR), "r+b") as file:
        hash_ = hashlib.sha256(file.read()).digest()
        file.write(SEAL + hash_)
        file.flush()
        os.fsync(file.fileno())


def _compile_into(torch, sources, compiler, to):
    """Compile the shim into the cache, completely or not at all. The caller holds the lock."""
    folder = to + ".part"
    shutil.rmtree(folder, ignore_errors=True)  # left by a process that was killed
    with contextlib.suppress(OSError):  # in case it is not a folder
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
    """Compile the shim, unless another process of this run failed: each would fail as slowly."""
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
    """Compile the shim into the cache. Of several processes one compiles, and the others wait."""
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
    """The path of a shim for this PyTorch, and whether its folder is temporary."""
    sources = _sources()
    compiler = _compiler()
    name = _key(torch, sources, compiler)
    cache = _cache()
    if cache:
        path = os.path.join(cache, name)
        # If the cache cannot be used (no locks, a full disk, another user's file), do without it.
        with contextlib.suppress(OSError):
            _build_cached(torch, sources, compiler, path)
            return path, False
    # The shim is loaded at once, and its folder removed then.
    folder = tempfile.mkdtemp(prefix="accelprof-")
    path = os.path.join(folder, name)
    try:
        _compile(torch, sources, compiler, path)
    except Trouble:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    return path, True


def _yield_to_profilers(agent):
    """Release PyTorch's only profiler slot before the program starts a profiler of its own."""
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
        raise Trouble("PyTorch %s is too old: AccelProf needs 1.13 or later" % torch.__version__)
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
    """Record this process's PyTorch, if the run records anything of PyTorch.

    Call it after torch has been imported. A second call does nothing. Returns whether PyTorch is
    recorded.
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
    except Exception as error:  # the program goes on after any error
        with contextlib.suppress(Exception):
            text = "operators are not recorded: %s" % error
            agent.pasta_torch_log(text.encode())
        return False
