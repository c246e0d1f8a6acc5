"""judging.py - reports as the judges of tests read them."""
import json


def load(path):
    with open(path, encoding="utf-8") as f:
        return json.load(f)


def table(report, tool, name):
    """Rows of a table as dictionaries; none where the tool has no such table."""
    for t in next(t for t in report["tools"] if t["name"] == tool)["tables"]:
        if t["name"] == name:
            return [dict(zip([c["name"] for c in t["columns"]], row)) for row in t["rows"]]
    return []
