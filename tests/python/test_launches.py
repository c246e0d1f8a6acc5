"""Python stacks of launches in programs without PyTorch: through ctypes and through pyopencl."""

import os
import subprocess
import sys
import textwrap

import pytest

STACKS = ("-t", "python_flame", "--stacks", "python")

# Functions of OpenCL, with a kernel that does nothing. launch() is a function of C.
OPENCL = '''
import ctypes
_cl = ctypes.CDLL("libOpenCL.so.1")
_p, _u, _n = ctypes.c_void_p, ctypes.c_uint32, ctypes.c_size_t
for _name in ("clCreateContext", "clCreateCommandQueue", "clCreateProgramWithSource", "clCreateKernel"):
    getattr(_cl, _name).restype = _p
_platform, _device, _status = _p(), _p(), ctypes.c_int32()
assert not _cl.clGetPlatformIDs(1, ctypes.byref(_platform), None)
assert not _cl.clGetDeviceIDs(_platform, ctypes.c_uint64(0xFFFFFFFF), 1, ctypes.byref(_device), None)
_context = _p(_cl.clCreateContext(None, 1, ctypes.byref(_device), None, None, ctypes.byref(_status)))
QUEUE = _p(_cl.clCreateCommandQueue(_context, _device, ctypes.c_uint64(0), ctypes.byref(_status)))
_source = ctypes.c_char_p(b"__kernel void nothing(void) {}")
_program = _p(_cl.clCreateProgramWithSource(_context, 1, ctypes.byref(_source), None, ctypes.byref(_status)))
assert not _cl.clBuildProgram(_program, 0, None, None, None, None)
KERNEL = _p(_cl.clCreateKernel(_program, b"nothing", ctypes.byref(_status)))
ONE = ctypes.byref(_n(1))
launch = _cl.clEnqueueNDRangeKernel
launch.argtypes = [_p, _p, _u, _p, _p, _p, _u, _p, _p]
LAUNCH = (QUEUE, KERNEL, 1, None, ONE, None, 0, None, None)
finish = lambda: _cl.clFinish(QUEUE)
'''


def has_opencl():
    with open(os.devnull, "w") as null:
        return not subprocess.run([sys.executable, "-c", OPENCL], stdout=null, stderr=null).returncode


def with_pyopencl():
    """An interpreter that has pyopencl, which may not be the one that has pytest; or None."""
    for python in (sys.executable, "/usr/bin/python3"):
        try:
            subprocess.run([python, "-c", "import pyopencl"], check=True, stderr=subprocess.PIPE)
            return python
        except (OSError, subprocess.CalledProcessError):
            pass
    return None


PYOPENCL = with_pyopencl()
needs_opencl = pytest.mark.skipif(not has_opencl(), reason="no OpenCL device here")


def kernels(runner):
    """The number of kernels by function and line."""
    return {
        (function, line): count
        for function, _, line, _, _, _, count, _ in runner.rows("python_flame", "lines")
        if count
    }


def recorded(runner, text, native=True, **how):
    """Records a program. A line of it ends with "# NAME"; returns the lines by name."""
    runner.write("cl.py", OPENCL)
    path = runner.write("program.py", text)
    result = runner.recorded(path, options=STACKS, **how)
    assert (result.returncode, result.stderr) == (0, "")
    if native:
        assert result.stdout == runner.native(path, python=how.get("python", sys.executable)).stdout
    lines = textwrap.dedent(text).split("\n")
    return {s.rpartition("# ")[2]: i + 1 for i, s in enumerate(lines) if "  # " in s}


@needs_opencl
def test_launches_have_the_line_that_makes_them(runner):
    at = recorded(
        runner,
        """
        import threading
        from cl import LAUNCH, finish, launch

        def plain(n):
            for _ in range(n):
                launch(*LAUNCH)  # plain

        def generator(n):
            for _ in range(n):
                yield launch(*LAUNCH)  # generator

        class Class:
            def __len__(self):
                launch(*LAUNCH)  # method
                return 1

        plain(10)
        print(sum(generator(7)), [len(Class()) for _ in range(5)])
        threads = [threading.Thread(target=plain, args=(3,)) for _ in range(4)]
        for t in threads: t.start()
        for t in threads: t.join()
        eval("launch(*LAUNCH)")  # caller
        finish()
        """,
    )
    name = (lambda long, short: long) if sys.version_info >= (3, 11) else (lambda long, short: short)
    assert kernels(runner) == {
        ("plain", at["plain"]): 22,
        ("generator", at["generator"]): 7,
        (name("Class.__len__", "__len__"), at["method"]): 5,
        ("<module>", at["caller"]): 1,
    }


@needs_opencl
def test_launches_before_after_and_during_the_exit_of_python(runner):
    """Threads launch while Python shuts down; the last launches have no stack, and nothing fails."""
    for _ in range(3):
        at = recorded(
            runner,
            """
            import atexit, threading, time
            from cl import LAUNCH, finish, launch

            def late():
                launch(*LAUNCH)  # late

            def forever():
                while True:
                    launch(*LAUNCH)  # forever
                    finish()

            for _ in range(4):
                threading.Thread(target=forever, daemon=True).start()
            atexit.register(late)
            time.sleep(0.1)
            print("done")
            """,
        )
        found = kernels(runner)
        assert found[("late", at["late"])] == 1
        assert found[("forever", at["forever"])] > 10


@needs_opencl
@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
def test_a_forked_child_has_stacks(runner):
    at = recorded(
        runner,
        """
        import ctypes, os, sys
        def child():
            from cl import LAUNCH, finish, launch
            for _ in range(6):
                launch(*LAUNCH)  # child
            finish()
        pid = os.fork()
        if not pid:
            child()
            sys.exit(0)
        print(os.waitpid(pid, 0)[1])
        """,
    )
    assert kernels(runner) == {("child", at["child"]): 6}


@needs_opencl
def test_without_stacks_ctypes_is_not_watched(runner):
    runner.write("cl.py", OPENCL)
    program = "import sys, ctypes\nprint([m for m in sys.modules if 'accelprof' in m])"
    result = runner.recorded("-c", program, options=("-t", "kernel_freq"))
    assert result.stdout == "['_accelprof_hook']\n"
    result = runner.recorded("-c", program, options=STACKS)
    assert "_accelprof._stacks" in result.stdout


@needs_opencl
def test_a_program_that_changes_ctypes_or_has_modules_of_its_own_runs_as_before(runner):
    runner.write("typing.py", "raise RuntimeError('typing of the program')\n")
    program = "import ctypes, sys\nprint(ctypes.c_int(3).value, len(sys.argv))"
    path = runner.write("own.py", program)
    native, result = runner.native(path), runner.recorded(path, options=STACKS)
    assert (result.stdout, result.returncode) == (native.stdout, native.returncode)


@needs_opencl
@pytest.mark.skipif(not PYOPENCL, reason="no pyopencl here")
def test_launches_of_pyopencl_have_the_line_of_the_program(runner):
    at = recorded(
        runner,
        """
        import os
        os.environ["PYOPENCL_NO_CACHE"] = "1"
        import numpy
        import pyopencl as cl
        context = cl.Context(cl.get_platforms()[0].get_devices()[:1])
        queue = cl.CommandQueue(context)
        code = "__kernel void twice(__global float *x) { x[get_global_id(0)] *= 2; }"
        twice = cl.Kernel(cl.Program(context, code).build(), "twice")
        x = numpy.ones(64, numpy.float32)
        buffer = cl.Buffer(context, cl.mem_flags.READ_WRITE, x.nbytes)

        def double(n):
            for _ in range(n):
                twice(queue, (64,), None, buffer)  # double

        cl.enqueue_copy(queue, buffer, x)
        double(9)
        cl.enqueue_copy(queue, x, buffer)
        print(x[0])
        """,
        python=PYOPENCL,
    )
    assert kernels(runner) == {("double", at["double"]): 9}
    # Copies have lines, too, and the innermost line is one of pyopencl.
    launches = runner.events("launch")
    assert len(launches) == 11 and all(ev["python"] for ev in launches)
    report = subprocess.run(
        [os.environ["ACCELPROF"], "report", str(runner.run), "-t", "python_flame"]
        + ["--lines", "library", "--format", "csv", "--table", "lines"],
        stdout=subprocess.PIPE,
        encoding="utf-8",
        check=True,
    )
    assert "pyopencl/__init__.py" in report.stdout.split("\n")[1]
