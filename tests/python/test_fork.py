"""The agent's thread when a program forks: Python 3.12 and later warn of threads then."""

import ctypes
import os
import shutil
import subprocess
import sys

import pytest
from accelprof import _agent

AGENT = os.path.join(os.environ["BUILD"], "lib", "libpasta-agent.so")

FORK = """
import os, sys, time
import accelprof
def threads():
    return len(os.listdir("/proc/self/task"))
for i in range(20):
    with accelprof.region("before"):
        pass
    for _ in range(200):  # the agent's thread comes with an event, in a moment
        if threads() > 1:
            break
        time.sleep(0.01)
    running = threads()
    pid = os.fork()
    if not pid:
        with accelprof.region("child"):
            os._exit(0)
    if threads() != 1 or running != 2:
        print("threads", running, threads())
    os.waitpid(pid, 0)
"""


def test_an_agent_without_the_function_is_left_alone(monkeypatch):
    registered = []
    monkeypatch.setattr(os, "register_at_fork", lambda **what: registered.append(what))
    _agent._pause_at_fork(ctypes.PyDLL(None))
    assert registered == []


@pytest.fixture(params=["this", "python3.12", "python3.13", "python3.14"])
def python(request, runner):
    if request.param == "this":
        return sys.executable
    path = shutil.which(request.param)
    if path is None or runner.native("-c", "", python=path).returncode:
        pytest.skip(f"no {request.param} here")
    return path


def test_a_fork_of_python_pauses_the_agents_thread(runner, python):
    """With an agent that does just that."""
    fake = os.path.join(os.environ["BUILD"], "tests", "programs", "fake_agent.so")
    env = {**runner.env(os.path.join(os.environ["SRC"], "python")), "PASTA_AGENT": fake}
    env["PASTA_RUN"] = str(runner.folder)
    command = [python, "-B", "-W", "always", "-c", FORK]
    result = subprocess.run(
        command, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8", timeout=60
    )
    assert (result.returncode, result.stdout, result.stderr) == (0, "", "")


def test_a_fork_of_python_finds_no_thread_of_the_agent(runner, python):
    if not hasattr(ctypes.CDLL(AGENT), "pasta_agent_fork_pause"):
        pytest.skip("this agent's thread cannot be paused")
    result = runner.recorded("-W", "always", "-c", FORK, options=("-t", "regions"), python=python)
    assert (result.returncode, result.stdout, result.stderr) == (0, "", "")
    assert {row[0]: row[1] for row in runner.rows("regions", "regions")} == {
        "before": 20,
        "child": 20,
    }
