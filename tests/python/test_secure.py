"""Programs with more rights than the user who starts them: nothing is attached."""

import array
import os
import shutil
import subprocess
import sys
import tempfile

import pytest
from accelprof import _agent, _hook

AGENT = os.path.join(os.environ["BUILD"], "lib", "libpasta-agent.so")
SITE = os.path.join(os.environ["SRC"], "python", "site")


def auxv(tmp_path, *entries):
    path = tmp_path / "auxv"
    path.write_bytes(array.array("L", [word for entry in entries for word in entry]).tobytes())
    return str(path)


@pytest.mark.parametrize("value, secure", [(0, False), (1, True), (2, True)])
def test_the_kernel_marks_processes_that_gained_rights(tmp_path, value, secure):
    path = auxv(tmp_path, (6, 4096), (_hook.AT_SECURE, value), (9, 1), (0, 0))
    assert _hook.is_secure(path) is secure


@pytest.mark.parametrize("real, effective, secure", [(1, 1, False), (1, 0, True)])
@pytest.mark.parametrize("ids", ["uid", "gid"])
def test_without_that_mark_ids_decide(tmp_path, monkeypatch, ids, real, effective, secure):
    for name in ("uid", "gid"):
        monkeypatch.setattr(os, "get" + name, lambda: 1)
        monkeypatch.setattr(os, "gete" + name, lambda: 1)
    monkeypatch.setattr(os, "get" + ids, lambda: real)
    monkeypatch.setattr(os, "gete" + ids, lambda: effective)
    (tmp_path / "torn").write_bytes(b"\x17\0\0")
    for path in (auxv(tmp_path, (6, 4096), (0, 0)), str(tmp_path / "none"), str(tmp_path / "torn")):
        assert _hook.is_secure(path) is secure


def test_a_process_that_may_not_read_its_own_mark_has_gained_rights(monkeypatch):
    def denied(*args, **kwargs):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("builtins.open", denied)
    assert _hook.is_secure()


def test_an_ordinary_process_has_not():
    assert not _hook.is_secure()


def test_then_there_is_no_agent(monkeypatch):
    monkeypatch.setenv("PASTA_AGENT", AGENT)
    monkeypatch.setenv("PASTA_RUN", "/nowhere")
    assert _hook.agent_path() == AGENT
    monkeypatch.setattr(_hook, "is_secure", lambda: True)
    monkeypatch.setattr(_agent, "_tried", False)
    assert _hook.agent_path() is None
    assert _agent.get() is None


SHOW = """
import os, sys
print(any(type(f).__name__ == "_Hook" for f in sys.meta_path), "_accelprof_hook" in sys.modules)
sys.path.insert(0, sys.argv[1])
import accelprof
accelprof.region("x")
from accelprof import _torch
print("ctypes" in sys.modules and "accelprof._agent" in sys.modules, _torch.attach())
with open("/proc/self/maps") as file:
    print("libpasta-agent" in file.read())
print(os.getuid() != os.geteuid())
"""


@pytest.fixture
def outside():
    """A folder that everybody may enter, which pytest's are not."""
    folder = tempfile.mkdtemp()
    os.chmod(folder, 0o755)
    yield folder
    shutil.rmtree(folder)


def show(python, outside, *before):
    env = {k: v for k, v in os.environ.items() if not k.startswith(("PASTA_", "PYTHON"))}
    env.update(PASTA_AGENT=AGENT, PASTA_RUN=os.path.join(outside, "run"), PYTHONPATH=SITE)
    env["PYTHONHOME"] = os.pathsep.join((sys.base_prefix, sys.base_exec_prefix))
    package = os.path.join(os.environ["SRC"], "python")
    command = [*before, python, "-B", "-c", SHOW, package]
    return subprocess.run(command, env=env, stdout=subprocess.PIPE, encoding="utf-8", timeout=60)


def test_a_set_user_id_python_loads_no_agent(outside):
    if os.geteuid() != 0 or not shutil.which("setpriv"):
        pytest.skip("needs root and setpriv(1), to make a set-user-ID program")
    os.makedirs(os.path.join(outside, "run", "shards"))
    python = os.path.join(outside, "python")
    shutil.copy(os.path.realpath(sys.executable), python)
    plain = show(python, outside)
    if plain.returncode:
        pytest.skip("a copy of this Python does not run")
    # The same, as it is without more rights: all of it is there.
    assert plain.stdout.split() == ["True", "True", "True", "False", "True", "False"]
    os.chmod(python, 0o4755)
    setpriv = ("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups")
    secure = show(python, outside, *setpriv)
    if "True" not in secure.stdout.split()[-1:]:
        pytest.skip("no set-user-ID programs here: " + secure.stdout)
    assert secure.stdout.split() == ["False", "False", "False", "False", "False", "True"]
    assert os.listdir(os.path.join(outside, "run", "shards")) == []
