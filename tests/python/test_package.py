"""The package in a program that is not recorded, and with an agent that only counts."""

import subprocess
import sys
import threading

import accelprof
import pytest
from accelprof import _record


class FakeAgent:
    def __init__(self):
        self.calls = []

    def region_begin(self, name):
        self.calls.append(("begin", name))

    def region_end(self):
        self.calls.append(("end",))

    def iteration(self, index):
        self.calls.append(("step", index))

    def counter(self, name, value):
        self.calls.append(("counter", name, value))

    def start(self):
        self.calls.append(("start",))

    def stop(self):
        self.calls.append(("stop",))

    def active(self):
        return 1


@pytest.fixture
def agent():
    return FakeAgent()


@pytest.fixture
def api(agent):
    return _record.make(agent)


def test_without_a_run_nothing_happens_and_nothing_is_loaded():
    program = """
import sys
before = set(sys.modules)
import accelprof
with accelprof.region("a") as r, accelprof.region("b"):
    accelprof.step()
    accelprof.counter("c", 1)
    accelprof.start()
    accelprof.stop()
def f(): return 3
assert accelprof.region("f")(f) is f
assert not accelprof.is_collecting()
assert "ctypes" not in sys.modules
assert not any("_hook" in type(f).__module__ for f in sys.meta_path)
"""
    subprocess.run([sys.executable, "-c", program], check=True, timeout=60)


def test_a_region_ends_when_its_body_does_and_raises_what_it_raised(api, agent):
    with pytest.raises(KeyError):
        with api["region"]("a"):
            with api["region"]("b"):
                pass
            raise KeyError("x")
    assert agent.calls == [("begin", b"a"), ("begin", b"b"), ("end",), ("end",)]


def test_a_region_can_be_used_again_within_itself_and_in_threads(api, agent):
    region = api["region"]("a")
    with region:
        with region:
            pass
    threads = [threading.Thread(target=lambda: region.__enter__().__exit__(None, None, None))]
    for thread in threads:
        thread.start()
        thread.join()
    assert agent.calls == [("begin", b"a")] * 2 + [("end",)] * 2 + [("begin", b"a"), ("end",)]


def test_a_decorated_function_is_a_region_and_looks_like_itself(api, agent):
    region = api["region"]

    @region("f")
    def function(a, *, b):
        """Its text."""
        if b is None:
            raise ValueError("b")
        return a + b

    assert function(1, b=2) == 3
    assert function.__name__ == "function" and function.__doc__ == "Its text."
    with pytest.raises(ValueError):
        function(1, b=None)
    assert agent.calls == [("begin", b"f"), ("end",)] * 2


def coroutine():
    async def f():
        pass

    return f


def generator():
    def f():
        yield

    return f


@pytest.mark.parametrize("make", [coroutine, generator])
@pytest.mark.parametrize("recorded", [False, True])
def test_what_runs_after_its_call_cannot_be_decorated(api, make, recorded):
    region = api["region"] if recorded else accelprof.region
    with pytest.raises(TypeError, match="use 'with accelprof.region"):
        region("f")(make())
    with pytest.raises(TypeError, match="can decorate a function, not int"):
        region("f")(3)


def test_names_are_utf_8_and_must_be_names(api, agent):
    with api["region"]("caf\u00e9 \udc80\0x"):
        pass
    assert agent.calls[0] == ("begin", "caf\u00e9 ? x".encode())
    for name in (3, None, b"bytes", []):
        with pytest.raises(TypeError, match="a name must be a str, not"):
            api["region"](name)


def test_names_that_are_made_up_do_not_pile_up(api):
    first = api["region"]("kept")
    assert api["region"]("kept") is first
    for i in range(_record._NAMES_MAX):
        api["region"](f"step {i}")
    assert api["region"]("kept") is not first


def test_steps_count_on_from_the_last_one(api, agent):
    api["step"]()
    api["step"]()
    api["step"](10)
    api["step"]()
    with pytest.raises(ValueError):
        api["step"](-7)
    api["step"]()  # as if that had not been
    assert [call[1] for call in agent.calls] == [0, 1, 10, 11, 12]


def test_a_value_is_any_number(api, agent):
    class Scalar:  # as those of numpy and PyTorch
        def __float__(self):
            return 1.5

    for value in (1, 1.5, True, Scalar()):
        api["counter"]("c", value)
    assert [call[2] for call in agent.calls] == [1.0, 1.5, 1.0, 1.5]


@pytest.mark.parametrize("recorded", [True, False])
@pytest.mark.parametrize(
    "function, args",
    [
        ("region", (3,)),
        ("counter", (3, 1.0)),
        ("counter", ("c", "1")),
        ("counter", ("c", None)),
        ("step", (-1,)),
        ("step", (1 << 64,)),
    ],
)
def test_what_is_wrong_is_wrong_with_and_without_a_run(api, function, args, recorded):
    call = api[function] if recorded else getattr(accelprof, function)
    with pytest.raises((TypeError, ValueError)):
        call(*args)


def test_the_two_sets_of_functions_are_the_same(api):
    assert sorted(api) == sorted(accelprof.__all__)
