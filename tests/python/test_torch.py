"""How the PyTorch shim is compiled and cached; with a fake compiler that counts its calls."""

import os
import shutil
import sys
import types

import pytest
from accelprof import _torch


def new_run(tmp_path, monkeypatch):
    """Where the one before was, as after rm -r."""
    folder = tmp_path / "run"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    monkeypatch.setenv("PASTA_RUN", str(folder))


@pytest.fixture
def torch(tmp_path, monkeypatch):
    """A PyTorch, as far as the agent reads it, and a compiler that makes what MADE selects."""
    monkeypatch.setenv("PASTA_TORCH_SHIM", os.path.join(os.environ["SRC"], "src"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    new_run(tmp_path, monkeypatch)
    compiler = tmp_path / "c++"
    compiler.write_text(
        "#!/bin/sh\n"
        "echo x >>" + str(tmp_path / "calls") + "\n"
        '[ "$MADE" ] || { echo "shim.cpp:1: error: no"; exit 1; }\n'
        'while [ "$1" != -o ]; do shift; done\n'
        'echo "$MADE" >"$2"\n'
    )
    compiler.chmod(0o700)
    monkeypatch.setenv("CXX", str(compiler))
    monkeypatch.delenv("MADE", raising=False)
    return types.SimpleNamespace(
        __version__="2.5.0",
        __file__=str(tmp_path / "torch" / "__init__.py"),
        version=types.SimpleNamespace(cuda=None),
        compiled_with_cxx11_abi=lambda: True,
    )


def calls(tmp_path):
    return (tmp_path / "calls").read_text().count("x")


def content(path):
    """What the compiler made, without what the cache adds."""
    with open(path, "rb") as file:
        return file.read().partition(_torch.SEAL)[0]


def test_a_shim_is_compiled_once_and_then_found(torch, tmp_path, monkeypatch):
    monkeypatch.setenv("MADE", "it")
    path, temporary = _torch._build(torch)
    assert _torch._build(torch) == (path, temporary) == (path, False)
    assert content(path) == b"it\n"
    assert os.stat(path).st_mode & 0o077 == 0
    assert calls(tmp_path) == 1


def test_what_cannot_be_compiled_is_tried_once_in_a_run(torch, tmp_path, monkeypatch):
    for _ in range(3):
        with pytest.raises(_torch.Trouble, match="failed: shim.cpp:1: error: no"):
            _torch._build(torch)
    assert calls(tmp_path) == 1
    new_run(tmp_path, monkeypatch)
    with pytest.raises(_torch.Trouble):
        _torch._build(torch)
    assert calls(tmp_path) == 2
    new_run(tmp_path, monkeypatch)
    monkeypatch.setenv("MADE", "it")
    path, _ = _torch._build(torch)
    assert sorted(os.listdir(os.path.dirname(path))) == sorted(
        [os.path.basename(path), os.path.basename(path) + ".lock"]
    )


def truncate(path):
    os.truncate(path, 2)


def empty(path):
    os.truncate(path, 0)


def flip(path):
    with open(path, "r+b") as file:
        file.write(b"I")


def unsealed(path):  # as one of an older AccelProf
    with open(path, "w", encoding="utf-8") as file:
        file.write("it\n")


def open_to_others(path):
    os.chmod(path, 0o666)


def link(path):
    os.rename(path, path + ".elsewhere")
    os.symlink(path + ".elsewhere", path)


def fifo(path):
    os.unlink(path)
    os.mkfifo(path)


@pytest.mark.parametrize("harm", [truncate, empty, flip, unsealed, open_to_others, link, fifo])
def test_a_shim_that_is_not_as_it_was_is_compiled_again(torch, tmp_path, monkeypatch, harm):
    monkeypatch.setenv("MADE", "it")
    path, _ = _torch._build(torch)
    harm(path)
    assert not _torch._is_whole(path)
    assert _torch._build(torch) == (path, False)
    assert _torch._is_whole(path) and content(path) == b"it\n"
    assert calls(tmp_path) == 2


@pytest.mark.parametrize("name", [".lock", ".part"])
def test_links_in_the_cache_are_not_followed(torch, tmp_path, monkeypatch, name):
    monkeypatch.setenv("MADE", "it")
    path, _ = _torch._build(torch)
    os.unlink(path)
    victim = tmp_path / "victim"
    victim.mkdir()
    (victim / "file").write_text("mine")
    with_lock = name == ".lock"
    if with_lock:
        os.unlink(path + name)
    os.symlink(victim / "file" if with_lock else victim, path + name)
    made, temporary = _torch._build(torch)
    assert temporary == with_lock
    assert content(made).startswith(b"it\n")
    assert os.listdir(victim) == ["file"] and (victim / "file").read_text() == "mine"
    if temporary:
        shutil.rmtree(os.path.dirname(made))


def test_what_a_killed_process_left_is_cleared_away(torch, tmp_path, monkeypatch):
    monkeypatch.setenv("MADE", "it")
    path, _ = _torch._build(torch)
    os.unlink(path)
    os.mkdir(path + ".part")
    (tmp_path / "accelprof" / (os.path.basename(path) + ".part") / "shim.so").write_text("half")
    assert _torch._build(torch) == (path, False)
    assert content(path) == b"it\n"
    assert not os.path.exists(path + ".part")


def test_without_file_locks_the_shim_is_not_cached(torch, tmp_path, monkeypatch):
    monkeypatch.setenv("MADE", "it")

    def flock(fd, how):
        raise OSError(37, "No locks available")

    monkeypatch.setattr(_torch.fcntl, "flock", flock)
    path, temporary = _torch._build(torch)
    assert temporary and content(path) == b"it\n"
    shutil.rmtree(os.path.dirname(path))


def test_what_the_hook_has_attached_is_not_attached_again(monkeypatch):
    """The hook's copy of the package has another name than the program's."""
    monkeypatch.delenv("PASTA_RUN", raising=False)
    assert not _torch.attach()
    hooks = types.SimpleNamespace(_attached=True)
    monkeypatch.setitem(sys.modules, "_accelprof._torch", hooks)
    assert _torch.attach()


def test_with_pytorch_a_truncated_shim_does_no_harm(runner):
    """The whole of it, where there is a PyTorch."""
    if runner.native("-c", "import torch").returncode:
        pytest.skip("no PyTorch in this Python")
    program = runner.write("program.py", "import torch\nprint(torch.ones(3).sum().item())\n")
    env = ("env", f"XDG_CACHE_HOME={runner.folder}")

    def ops():
        args = (*env[1:], sys.executable, program)
        result = runner.recorded(*args, options=("-t", "ops"), python=env[0])
        assert (result.returncode, result.stdout) == (0, "3.0\n"), result.stderr
        return result.stderr, runner.rows("ops", "ops")

    message, rows = ops()
    if "operators are not recorded" in message:
        pytest.skip(message)
    assert rows
    (shim,) = (runner.folder / "accelprof").glob("*.so")
    os.truncate(shim, 4096)
    message, rows = ops()
    assert "not recorded" not in message and rows
