"""What the tests share: programs, run with and without AccelProf."""

import json
import os
import subprocess
import sys
import textwrap

import pytest

SRC = os.environ["SRC"]


class Runner:
    """Python programs in a folder of their own."""

    def __init__(self, folder):
        self.folder = folder
        self.runs = 0

    def write(self, name, text):
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text), encoding="utf-8")
        return str(path)

    def env(self, path=None):
        """The environment as it was before the tests' own PYTHONPATH."""
        env = {k: v for k, v in os.environ.items() if not k.startswith("PASTA_")}
        env.pop("PYTHONPATH", None)
        if path is not None:
            env["PYTHONPATH"] = str(path)
        return env

    def native(self, *args, path=None, python=sys.executable):
        return self._call([python, *args], path)

    def recorded(self, *args, path=None, options=(), python=sys.executable):
        """Below accelprof run; the run's folder is self.run."""
        self.runs += 1
        self.run = self.folder / f"run{self.runs}"
        command = [os.environ["ACCELPROF"], "run", "-q", "-o", str(self.run), *options, "--"]
        return self._call([*command, python, *args], path)

    def _call(self, command, path):
        return subprocess.run(
            command,
            env=self.env(path),
            cwd=str(self.folder),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            encoding="utf-8",
            timeout=60,
            check=False,
        )

    def rows(self, tool, table):
        """A table of the last run's report."""
        with open(self.run / "results" / "report.json", encoding="utf-8") as file:
            report = json.load(file)
        tools = [t for t in report["tools"] if t["name"] == tool]
        return [row for t in tools[0]["tables"] if t["name"] == table for row in t["rows"]]

    def events(self, *kinds):
        """The last run's events of these kinds, in order."""
        dump = os.path.join(os.environ["BUILD"], "tests", "dump")
        text = subprocess.run([dump, str(self.run), *kinds], stdout=subprocess.PIPE, check=True)
        return [ev for ev in map(json.loads, text.stdout.splitlines()) if ev["kind"] in kinds]


@pytest.fixture
def runner(tmp_path):
    return Runner(tmp_path)
