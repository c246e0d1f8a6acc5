"""How the shim of PyTorch is compiled, and kept; with a compiler that only counts."""

import os
import shutil
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
    """A PyTorch, as much of it as is looked at, and a compiler that makes what MADE says."""
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


def test_a_shim_is_compiled_once_and_then_found(torch, tmp_path, monkeypatch):
    monkeypatch.setenv("MADE", "it")
    path, temporary = _torch._build(torch)
    assert _torch._build(torch) == (path, temporary) == (path, False)
    with open(path, encoding="utf-8") as file:
        assert file.read() == "it\n"
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
