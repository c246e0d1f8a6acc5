"""Programs under accelprof run: their records, and how little they notice."""

import os
import shutil
import subprocess
import sys
import textwrap

import pytest

SHOW = """
import os, sys
print([os.path.basename(os.path.dirname(p)) + "/" + os.path.basename(p)
       for p in sys.path if "python/site" in p])
print("sitecustomize" in sys.modules, sys.modules.get("sitecustomize"))
"""

TORCH = """
    import sys, types
    import helper
    seen = types.ModuleType("_torch")
    def attach():
        import torch
        print("attached", torch.ready)
        raise RuntimeError("not the program's")
    seen.attach = attach
    sys.modules["accelprof._torch"] = sys.modules["_accelprof._torch"] = seen
    ready = True
"""


def regions(runner):
    return {row[0]: row[1] for row in runner.rows("regions", "regions")}


def test_regions_steps_and_counters_are_recorded(runner):
    program = runner.write(
        "program.py",
        """
        import accelprof, threading
        assert accelprof.is_collecting()
        @accelprof.region("decorated")
        def f(): pass
        def work():
            for i in range(3):
                with accelprof.region("caf\u00e9"):
                    f()
        threads = [threading.Thread(target=work) for _ in range(4)]
        for t in threads: t.start()
        for t in threads: t.join()
        for i in range(5):
            accelprof.step()
            accelprof.counter("loss", 1 / (i + 1))
        accelprof.stop()
        assert not accelprof.is_collecting()
        with accelprof.region("unseen"): pass
        accelprof.start()
        print("done")
        """,
    )
    result = runner.recorded(program, options=("-t", "regions", "--record", "counter"))
    assert (result.returncode, result.stdout, result.stderr) == (0, "done\n", "")
    assert regions(runner) == {"caf\u00e9": 12, "caf\u00e9/decorated": 12}
    assert [ev["index"] for ev in runner.events("iteration")] == [0, 1, 2, 3, 4]
    counters = runner.events("counter")
    assert [(ev["name"], ev["value"]) for ev in counters] == [
        ("loss", pytest.approx(1 / (i + 1))) for i in range(5)
    ]


@pytest.mark.parametrize("how", ["-c", "-m", "shebang", "venv", "child", "fork"])
def test_every_way_to_start_python_is_attached(runner, how, tmp_path):
    text = "import accelprof\nwith accelprof.region('here'): pass\n"
    python, args = sys.executable, ["-c", text]
    if how == "-m":
        runner.write("package/__main__.py", text)
        args = ["-m", "package"]
    elif how == "shebang":
        python = runner.write("script", f"#!{sys.executable}\n{text}")
        os.chmod(python, 0o755)
        args = []
    elif how == "venv":
        subprocess.run(
            [sys.executable, "-m", "venv", "--without-pip", str(tmp_path / "venv")], check=True
        )
        python = str(tmp_path / "venv" / "bin" / "python")
    elif how == "child":
        args = ["-c", f"import subprocess, sys; subprocess.run([sys.executable, '-c', {text!r}])"]
    elif how == "fork":
        args = ["-c", "import os, accelprof\npid = os.fork()\n" + text + "pid and os.wait()"]
    result = runner.recorded(*args, options=("-t", "regions"), python=python)
    assert (result.returncode, result.stdout, result.stderr) == (0, "", "")
    assert regions(runner) == {"here": 2 if how == "fork" else 1}


def test_the_program_sees_its_own_path_and_no_other_sitecustomize(runner):
    native = runner.native("-c", SHOW, path=runner.folder)
    recorded = runner.recorded("-c", SHOW, path=runner.folder)
    assert recorded.stdout == native.stdout
    assert recorded.stderr == ""
    path = runner.recorded("-c", "import os; print(os.environ['PYTHONPATH'])", path="/a:/b")
    assert path.stdout.endswith("python/site:/a:/b\n")


def test_the_users_sitecustomize_still_runs(runner):
    runner.write("own/sitecustomize.py", "print('mine', __name__, __file__)\nanswer = 42\n")
    program = "import sitecustomize; print(sitecustomize.answer)"
    native = runner.native("-c", program, path=runner.folder / "own")
    recorded = runner.recorded("-c", program, path=runner.folder / "own")
    assert native.stdout.startswith("mine sitecustomize ") and "42" in native.stdout
    assert (recorded.stdout, recorded.stderr) == (native.stdout, native.stderr)


@pytest.mark.parametrize("text", ["import nosuchmodule", "1 / 0", "raise SystemExit(7)", "def :"])
def test_a_sitecustomize_that_fails_still_fails(runner, text):
    runner.write("own/sitecustomize.py", text + "\n")
    native = runner.native("-c", "print('on')", path=runner.folder / "own")
    recorded = runner.recorded("-c", "print('on')", path=runner.folder / "own")

    def raised(result):  # of a traceback only the last line: the rest has accelprof's frame
        lines = result.stderr.splitlines()
        return lines[-1:] if "Traceback" in result.stderr else lines

    assert recorded.returncode == native.returncode
    assert recorded.stdout == native.stdout
    assert raised(recorded) == raised(native)


def test_usercustomize_still_runs(runner):
    runner.write("own/usercustomize.py", "print('user')\n")
    check = runner.native("-c", "import site; print(site.ENABLE_USER_SITE)")
    if check.stdout != "True\n":
        pytest.skip("this Python has no user site")
    recorded = runner.recorded("-c", "pass", path=runner.folder / "own")
    assert recorded.stdout == "user\n"


def test_torch_is_attached_to_after_its_import_and_not_before(runner):
    runner.write("lib/torch/__init__.py", TORCH)
    runner.write("lib/torch/helper.py", "")
    runner.write("lib/helper.py", "")
    program = runner.write(
        "program.py",
        """
        import sys
        assert "ctypes" not in sys.modules and "accelprof" not in sys.modules
        import torch
        print("imported", type(torch.__loader__).__name__, torch.__spec__.loader is torch.__loader__)
        print("exec_module" in vars(torch.__loader__))
        import torch.helper
        """,
    )
    recorded = runner.recorded(program, path=runner.folder / "lib")
    assert recorded.stdout == "attached True\nimported SourceFileLoader True\nFalse\n"
    assert "Traceback" not in recorded.stderr and recorded.returncode == 0
    assert "python: PyTorch is not recorded: RuntimeError: not the program's" in recorded.stderr


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("own", ["accelprof.py", "accelprof/__init__.py"])
def test_a_module_of_the_programs_own_called_accelprof_is_the_programs(runner, own, when):
    """And PyTorch is attached to all the same."""
    runner.write("lib/torch.py", TORCH)
    runner.write("lib/helper.py", "")
    runner.write("lib/" + own, "answer = 42\n")
    program = runner.write(
        "program.py",
        f"""
        import sys
        if "{when}" == "before": import accelprof
        import torch
        assert "accelprof" not in sys.modules or "{when}" == "before"
        import accelprof
        print(accelprof.answer, accelprof.__file__)
        """,
    )
    native = runner.native(program, path=runner.folder / "lib")
    recorded = runner.recorded(program, path=runner.folder / "lib")
    assert recorded.stdout == "attached True\n" + native.stdout
    assert recorded.returncode == native.returncode == 0
    assert "Traceback" not in recorded.stderr


def test_a_folder_or_an_installed_copy_called_accelprof_is_not_in_the_way(runner):
    """A clone of AccelProf is such a folder; a copy may not fit the agent."""
    runner.write("clone/accelprof/README.md", "")
    copy = runner.folder / "copy" / "accelprof"
    ours = os.path.join(os.environ["SRC"], "python", "accelprof")
    shutil.copytree(ours, copy, ignore=shutil.ignore_patterns("__pycache__"))
    program = "import accelprof\nwith accelprof.region('here'): print(accelprof.__file__)"
    for folder in ("clone", "copy"):
        path = runner.folder / folder
        result = runner.recorded("-c", program, path=path, options=("-t", "regions"))
        assert (result.returncode, result.stderr) == (0, "")
        assert not result.stdout.startswith(str(path))
        assert regions(runner) == {"here": 1}


@pytest.mark.parametrize("first", ["torch", "accelprof"])
def test_without_our_sitecustomize_the_package_finds_torch(runner, first):
    runner.write("lib/torch.py", TORCH)
    runner.write("lib/helper.py", "")
    second = {"torch": "accelprof", "accelprof": "torch"}[first]
    path = os.pathsep.join([str(runner.folder / "lib"), os.path.join(os.environ["SRC"], "python")])
    recorded = runner.recorded("-S", "-c", f"import {first}; import {second}", path=path)
    assert (recorded.returncode, recorded.stdout) == (0, "attached True\n")
    assert "python: PyTorch is not recorded: RuntimeError: not the program's" in recorded.stderr


def test_a_torch_that_cannot_be_imported_still_fails_and_can_be_tried_again(runner):
    runner.write("lib/torch.py", "import os\nif not os.environ.get('GOOD'): 1 / 0\n" + "print('ok')")
    program = """
import os
try:
    import torch
except ZeroDivisionError as err:
    print("failed", err)
os.environ["GOOD"] = "1"
import torch
"""
    recorded = runner.recorded("-c", program, path=runner.folder / "lib")
    assert recorded.stdout == "failed division by zero\nok\n"
    none = runner.recorded("-c", "import torch", path=runner.folder / "nowhere", python=bare())
    assert "No module named 'torch'" in none.stderr


def bare():
    """This Python, if it has no torch of its own."""
    check = subprocess.run([sys.executable, "-c", "import torch"], stderr=subprocess.DEVNULL)
    if check.returncode == 0:
        pytest.skip("this Python has a torch")
    return sys.executable


@pytest.mark.parametrize("flag", ["-I", "-E", "-S", "-s"])
def test_isolated_pythons_still_run(runner, flag):
    result = runner.recorded(flag, "-c", "print('on')")
    assert (result.returncode, result.stdout, result.stderr) == (0, "on\n", "")


def test_without_a_run_the_folder_does_nothing(runner):
    site = os.path.join(os.environ["SRC"], "python", "site")
    program = "import sys; print(any('Hook' in type(f).__name__ for f in sys.meta_path))"
    result = runner.native("-c", program + SHOW, path=site)
    assert result.stdout.splitlines()[:2] == ["False", "[]"]


def test_python_stacks_are_the_same_as_pythons(runner):
    program = runner.write(
        "program.py",
        """
        import accelprof
        from accelprof import _agent, _stacks
        assert _agent.get().stacks == 6
        assert _stacks.begin()
        capture = _agent.get().library.pasta_pystack_capture
        def f(n):
            return capture() if n == 0 else f(n - 1)
        a, b, c = [f(2) for _ in range(3)]
        assert a == b == c != 0, (a, b, c)
        assert f(2) != a and f(3) != f(3 + 1)
        import threading
        got = []
        t = threading.Thread(target=lambda: got.append(f(1)))
        t.start(); t.join()
        assert got[0] not in (0, a)
        import ctypes
        text = ctypes.create_string_buffer(1 << 16)
        class Hot:
            def __init__(self):
                _agent.get().library.pasta_pystack_check(text, len(text))
        for _ in range(200):  # Python 3.13 calls it in another way by then
            Hot()
        names = text.value.decode().split("\\n")[::3]
        assert [name.split(".")[-1] for name in names] == ["__init__", "<module>", ""], names
        """,
    )
    options = ("--stacks", "python,modules")
    result = runner.recorded(program, options=options)
    if sys.version_info[:2] > (3, 13) or sys.implementation.name != "cpython":
        assert "no Python stacks" in result.stderr
    else:
        assert (result.returncode, result.stderr) == (0, "")


def test_stacks_that_are_none_are_refused_with_what_there_is(runner):
    for text in ("pythn", "python,", "native=0", "native=x,python", ""):
        result = runner.recorded("-c", "pass", options=("--stacks", text))
        assert result.returncode == 2
        assert "--stacks needs a list of native, native=PERIOD, python and modules" in result.stderr
    result = runner.recorded(
        "-c",
        "import os; print(os.environ['PASTA_STACKS'])",
        options=("--stacks", "python,native=7"),
    )
    assert result.stdout == "native=7,python\n"


def test_the_package_installs_and_records_without_the_folder(runner, tmp_path):
    """What python -I needs."""
    source = tmp_path / "source"
    shutil.copytree(
        os.path.join(os.environ["SRC"], "python"),
        source,
        ignore=shutil.ignore_patterns("build", "*.egg-info", "__pycache__"),
    )
    venv = tmp_path / "venv"
    made = subprocess.run([sys.executable, "-m", "venv", "--system-site-packages", str(venv)])
    if made.returncode:
        pytest.skip("this Python makes no venvs with pip")
    python = str(venv / "bin" / "python")
    check = "import setuptools, sys, wheel; sys.exit(int(setuptools.__version__.split('.')[0]) < 61)"
    if runner.native("-c", check, python=python).returncode:
        pytest.skip("no wheel, or no setuptools of version 61, here")
    pip = ["-m", "pip", "install", "-q", "--no-index", "--no-deps", "--no-build-isolation"]
    result = runner.native(*pip, str(source), python=python)
    assert result.returncode == 0, result.stderr
    program = textwrap.dedent(
        """
        import accelprof, os, sys
        assert "venv" in accelprof.__file__, accelprof.__file__
        assert os.path.exists(os.path.join(os.path.dirname(accelprof.__file__), "py.typed"))
        with accelprof.region("isolated"): pass
        assert any(type(f).__name__ == "_Hook" for f in sys.meta_path)
        """
    )
    result = runner.recorded("-I", "-c", program, options=("-t", "regions"), python=python)
    assert (result.returncode, result.stderr) == (0, "")
    assert regions(runner) == {"isolated": 1}


def test_stacks_can_be_read_while_others_make_and_drop_code(runner):
    program = runner.write(
        "program.py",
        """
        import ctypes, sys, threading, time
        import accelprof
        from accelprof import _agent, _stacks
        if not _stacks.begin():
            sys.exit()
        # One that lets go of Python's lock.
        capture = ctypes.CDLL(_agent.get().library._name).pasta_pystack_capture
        end = time.monotonic() + 1.5
        wrong = []
        def make_and_drop():
            i = 0
            while time.monotonic() < end:
                i += 1
                text = "\\n" * (i % 50) + "def f(c):\\n    return [c() for _ in range(3)]\\n"
                made = {}
                exec(compile(text, "<made %d>" % (i % 5), "exec"), made)
                ids = made["f"](capture)
                if 0 in ids or len(set(ids)) != 1:
                    wrong.append(ids)
        def deep(n):
            return capture() if n == 0 else deep(n - 1)
        def each(n):
            for _ in range(n):
                yield capture()
        def others():
            i = 0
            while time.monotonic() < end:
                i += 1
                if not deep(i % 300) or not all(each(5)):
                    wrong.append(i)
                short = threading.Thread(target=deep, args=(3,))
                short.start()
                short.join()
        threads = [threading.Thread(target=f) for f in (make_and_drop, others) * 2]
        for t in threads: t.start()
        for t in threads: t.join()
        print(wrong[:3])
        """,
    )
    result = runner.recorded(program, options=("--stacks", "python"))
    assert (result.returncode, result.stdout) == (0, "[]\n"), result.stderr


@pytest.mark.parametrize("old", ["python2.7", "python3.6", "python3.7"])
def test_pythons_that_are_too_old_still_run(runner, old):
    if shutil.which(old) is None or runner.native("-c", "", python=old).returncode:
        pytest.skip(f"no {old} here")
    native = runner.native("-c", SHOW, python=old)
    recorded = runner.recorded("-c", SHOW, python=old)
    assert (recorded.stdout, recorded.stderr) == (native.stdout, native.stderr)


def test_the_layouts_of_other_pythons_are_found_out_and_do_no_harm(runner):
    program = runner.write(
        "program.py",
        """
        import ctypes, sys
        from accelprof import _agent, _stacks
        library = _agent.get().library
        own = sys.version_info[1]
        alike = {8: 0, 9: 0}  # these two differ in nothing that is read
        if not _stacks.begin():
            sys.exit()
        for minor in (*range(8, 14), own):
            why = ctypes.create_string_buffer(256)
            begun = library.pasta_pystack_begin(0x030000f0 | minor << 16, why, len(why)) == 0
            right = begun and _stacks._agent_is_right(library)
            assert right == (alike.get(minor, minor) == alike.get(own, own)), (minor, own, why.value)
            assert library.pasta_pystack_capture() == 0  # not verified yet
        print("done")
        """,
    )
    result = runner.recorded(program, options=("--stacks", "python"))
    if sys.version_info[:2] <= (3, 13):
        assert (result.returncode, result.stdout, result.stderr) == (0, "done\n", "")


def test_triton_profiler_has_cupti_when_it_starts(runner):
    runner.write("lib/triton/__init__.py", "")
    runner.write("lib/triton/profiler/__init__.py", "from .profile import start")
    runner.write(
        "lib/triton/profiler/profile.py",
        '''
        import ctypes, os
        def start(name, answer=0):
            """As Proton's: it must be the one user of CUPTI."""
            folder = os.environ.get("TRITON_CUPTI_LIB_PATH", os.environ["FOLDER"])
            fake = ctypes.CDLL(os.path.join(folder, "libcupti.so"))
            subscriber = ctypes.c_void_p()
            callback = ctypes.CFUNCTYPE(None)(lambda: None)
            return name, answer, fake.cuptiSubscribe(ctypes.byref(subscriber), callback, None)
        ''',
    )
    program = runner.write(
        "program.py",
        """
        import ctypes, os, sys
        os.environ["PASTA_CUPTI"], os.environ["FOLDER"] = sys.argv[1:]
        if "CUDA_INJECTION64_PATH" in os.environ:
            ctypes.CDLL(os.environ["CUDA_INJECTION64_PATH"]).InitializeInjection()
        import triton.profiler as proton
        print(proton.start("it", answer=42), proton.start.__doc__)
        """,
    )
    fake = os.path.join(os.environ["BUILD"], "tests", "programs", "fake_cupti.so")
    own = runner.folder / "own"
    own.mkdir()
    shutil.copy(fake, own / "libcupti.so")
    native = runner.native(program, fake, str(own), path=runner.folder / "lib")
    assert native.stdout.startswith("('it', 42, 0)")
    recorded = runner.recorded(program, fake, str(own), path=runner.folder / "lib")
    assert recorded.stdout == native.stdout
    assert " began to use CUPTI itself" in recorded.stderr  # ours: we have noticed
