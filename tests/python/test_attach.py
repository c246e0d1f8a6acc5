"""Handing CUPTI over to the program's own profilers."""

import ctypes
import os
import tempfile
import types

from accelprof import _agent, _attach


def with_cupti(monkeypatch, path):
    """An agent that uses the CUPTI at a path, or none."""

    def cupti_path():
        return path

    library = types.SimpleNamespace(pasta_cupti_path=cupti_path)
    monkeypatch.setattr(_agent, "get", lambda: types.SimpleNamespace(library=library))


def started(monkeypatch):
    """What Proton sees when it starts: the variable, and what the library there is."""
    seen = []

    def start(name, *, answer):
        folder = os.environ.get(_attach.PROTON_CUPTI)
        there = folder and os.path.join(folder, "libcupti.so")
        seen.append((folder, there and os.path.islink(there) and os.readlink(there)))
        return name, answer

    profile = types.SimpleNamespace(start=start)
    _attach.proton_imported(profile)
    assert profile.start("it", answer=42) == ("it", 42)
    return seen[0]


def test_proton_loads_the_cupti_that_we_use(monkeypatch):
    monkeypatch.delenv(_attach.PROTON_CUPTI, raising=False)
    with_cupti(monkeypatch, b"/there/libcupti.so.13")
    folder, library = started(monkeypatch)
    assert library == "/there/libcupti.so.13"
    assert not os.path.exists(folder)
    assert _attach.PROTON_CUPTI not in os.environ


def test_proton_gets_its_own_variable_back(monkeypatch):
    monkeypatch.setenv(_attach.PROTON_CUPTI, "/mine")
    with_cupti(monkeypatch, b"/there/libcupti.so.13")
    assert started(monkeypatch)[1] == "/there/libcupti.so.13"
    assert os.environ[_attach.PROTON_CUPTI] == "/mine"


def test_proton_is_left_alone_where_we_do_not_use_cupti(monkeypatch):
    monkeypatch.setenv(_attach.PROTON_CUPTI, "/mine")
    with_cupti(monkeypatch, None)
    assert started(monkeypatch)[0] == "/mine"


def test_proton_starts_where_no_folder_can_be_made(monkeypatch):
    logged = []
    monkeypatch.delenv(_attach.PROTON_CUPTI, raising=False)
    monkeypatch.setattr(_agent, "log", logged.append)
    monkeypatch.setattr(tempfile, "tempdir", "/nowhere/at/all")
    with_cupti(monkeypatch, b"/there/libcupti.so.13")
    assert started(monkeypatch)[0] is None
    assert len(logged) == 1 and "CUPTI" in logged[0]


def test_the_agent_has_the_path():
    library = ctypes.CDLL(os.path.join(os.environ["BUILD"], "lib", "libpasta-agent.so"))
    library.pasta_cupti_path.restype = ctypes.c_char_p
    assert library.pasta_cupti_path() is None
