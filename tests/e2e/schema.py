"""schema.py valid|broken SCHEMA FILE... - whether documents conform to their JSON Schema.

valid: all of them are. broken: they are, and are not once any one thing in them is changed.
"""
import copy
import json
import sys

try:
    from jsonschema import Draft202012Validator
except ImportError:
    sys.exit("python3 has no jsonschema: run scripts/bootstrap check")

OPTIONAL = {"error"}
TUPLES = {"points", "bars", "cells", "stacks"}
MANY = 3  # of a list's members are looked at: the first, the last and one between


def load(name):
    with open(name, encoding="utf-8") as f:
        return json.load(f)


def some(items):
    return items if len(items) <= MANY else [items[0], items[len(items) // 2], items[-1]]


def paths(node, path=()):
    """Paths to everything in a document, its lists cut short."""
    yield path
    if isinstance(node, dict):
        for key in node:
            yield from paths(node[key], path + (key,))
    elif isinstance(node, list):
        for i in some(range(len(node))):
            yield from paths(node[i], path + (i,))


def at(doc, path):
    for step in path:
        doc = doc[step]
    return doc


def mutations(doc):
    """Changed documents, each with what was done; the document itself is mended after each."""
    for path in list(paths(doc)):
        node = at(doc, path)
        if path:
            holder, key = at(doc, path[:-1]), path[-1]
            holder[key] = [] if isinstance(node, dict) else {"odd": 1}
            yield path, "another type"
            holder[key] = node
            if isinstance(holder, dict) and key not in OPTIONAL:
                members = list(holder.items())
                del holder[key]
                yield path, "left out"
                holder.clear()
                holder.update(members)
        if isinstance(node, dict):
            node["odd"] = 1
            yield path, "one more member"
            del node["odd"]
        if len(path) > 1 and path[-2] in TUPLES:
            last = node.pop()
            yield path, "cut short"
            node += [last, 1]
            yield path, "too long"
            node.pop()


def short(doc):
    """A copy with short lists, so that it is quick to look at."""
    if isinstance(doc, dict):
        return {key: short(value) for key, value in doc.items()}
    if isinstance(doc, list):
        return [short(value) for value in some(doc)]
    return doc


def main():
    mode, schema = sys.argv[1], load(sys.argv[2])
    failures = tried = 0
    Draft202012Validator.check_schema(schema)
    validator = Draft202012Validator(schema)
    for name in sys.argv[3:]:
        doc = load(name)
        for error in list(validator.iter_errors(doc))[:5]:
            failures += 1
            print(f"FAILED: {name}: {error.json_path}: {error.message[:200]}")
        if mode != "broken":
            continue
        doc = doc if "tools" not in doc else {**doc, "tools": [
            {**t, "tables": short(t["tables"]), "charts": [short(c) for c in t["charts"]]}
            if isinstance(t, dict) else t for t in doc["tools"] or []]}
        before = copy.deepcopy(doc)
        for path, what in mutations(doc):
            tried += 1
            if validator.is_valid(doc):
                failures += 1
                print(f"FAILED: {name}: {what} at {path} is still valid")
        assert doc == before
    if mode == "broken" and not tried:
        failures += 1
        print("FAILED: nothing was tried")
    return failures > 0


sys.exit(main())
