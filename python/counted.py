"""Loaded by pytest.sh: says how many of the collected tests ran, and why others did not count.

For each test that skipped itself, was left out, or of which a failure is expected, there is a line `skipped: REASON`; the last
line is `counted: N of N tests ran, M passed`. A part of a test (subtest) counts as a test. pytest's own summary has other words
from version to version.
"""

import ast
from collections import Counter

import pytest

# pytest's kinds; those of plugins, and of a later pytest, are named.
KINDS = {"", "passed", "failed", "error", "skipped", "xfailed", "xpassed", "deselected", "warnings"}
KINDS |= {"subtests passed", "subtests failed"}

# Of each collected test its file and the names around its own.
reasons, ran, collected = [], set(), set()


@pytest.hookimpl(hookwrapper=True, tryfirst=True)
def pytest_collection_modifyitems(items):
    before = [item.nodeid for item in items]
    # The values of a test with parameters are in brackets, and may have the sign between names.
    collected.update((item.path, *item.nodeid.partition("[")[0].split("::")[1:]) for item in items)
    yield
    # Also those of which a conftest.py does not inform pytest.
    after = {item.nodeid for item in items}
    reasons.extend(f"{name} is left out" for name in before if name not in after)


def pytest_runtest_logreport(report):
    # A test of which nothing is reported but its end has not run.
    if report.when == "call" or not report.passed:
        ran.add(report.nodeid)
    # The summary says nothing of a part of a test, unless it is asked to be quiet.
    known = getattr(report, "wasxfail", None)
    if known is not None and (report.skipped or report.passed):
        words = "fails, as is expected" if report.skipped else "passes, and is expected to fail"
        reasons.append(f"{report.nodeid} {words}: {known}".rstrip(": "))
    elif report.skipped:
        skipped(report)


def pytest_collectreport(report):
    if report.skipped:
        skipped(report)


def skipped(report):
    why = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
    reasons.append(why[len("Skipped: ") :] if why.startswith("Skipped: ") else why)


# Directories of other programs.
FOREIGN = {"build", "target", "venv", "site-packages", "node_modules"}


def written(node, above=()):
    """Each test that is written below a node: the names of the classes and functions around it, and its own."""
    for one in ast.iter_child_nodes(node):
        is_function = isinstance(one, (ast.FunctionDef, ast.AsyncFunctionDef))
        inside = (*above, one.name) if is_function or isinstance(one, ast.ClassDef) else above
        if is_function and one.name.startswith("test"):
            yield inside
        yield from written(one, inside)


def left_out(top):
    """What pytest does not collect, by its name, its place or a setting, and what a later definition replaces."""
    for file in sorted(top.rglob("*.py")):
        inside = file.relative_to(top).parts
        is_named = file.name.startswith("test_") or file.name.endswith("_test.py")
        # Below `tests` all is ours, also in directories that pytest does not enter.
        is_foreign = FOREIGN & set(inside) or any(part.startswith(".") for part in inside)
        if inside[0] != "tests" and (is_foreign or not is_named):
            continue
        found = Counter(written(ast.parse(file.read_bytes())))
        if found and not any(one[0] == file for one in collected):
            yield f"{file.relative_to(top)}: none of its tests is collected"
            continue
        for names, times in found.items():
            if (file, *names) not in collected:
                yield f"{file.name}: {'.'.join(names)} is not collected"
            elif times > 1:
                yield f"{file.name}: {'.'.join(names)} is defined more than once"


def pytest_configure(config):
    # A test that returns what it should assert, a class of tests that pytest cannot make, an assertion that is always true, and
    # a mark that nobody knows.
    kinds = ["PytestReturnNotNoneWarning", "PytestCollectionWarning", "PytestAssertRewriteWarning", "PytestUnknownMarkWarning"]
    for kind in kinds:
        if hasattr(pytest, kind):
            config.addinivalue_line("filterwarnings", f"error::pytest.{kind}")


def pytest_terminal_summary(terminalreporter):
    stats = terminalreporter.stats
    reasons.extend(left_out(terminalreporter.config.rootpath))
    for kind in stats.keys() - KINDS:
        reasons.extend(f"{getattr(one, 'nodeid', one)} is {kind}" for one in stats[kind])
    for reason in reasons:
        terminalreporter.write_line("skipped: " + (" ".join(reason.split()) or "no reason"))
    # Whatever exit code the run has in the end.
    for kind in ("failed", "error", "subtests failed"):
        for one in stats.get(kind, []):
            terminalreporter.write_line(f"failed: {getattr(one, 'nodeid', one)}")
    total, passed = terminalreporter._session.testscollected, len(stats.get("passed", []))
    terminalreporter.write_line(f"counted: {len(ran)} of {total} tests ran, {passed} passed")
