"""Loaded by pytest.sh: says how many of the collected tests ran, and why others did not count.

For each test that skipped itself, was left out, or of which a failure is expected, there is a line `skipped: REASON`; the last
line is `counted: N of N tests ran, M passed`. A part of a test (subtest) counts as a test. pytest's own summary has other words
from version to version.
"""

import ast

import pytest

# pytest's kinds; those of plugins, and of a later pytest, are named.
KINDS = {"", "passed", "failed", "error", "skipped", "xfailed", "xpassed", "deselected", "warnings"}
KINDS |= {"subtests passed", "subtests failed"}

reasons, ran, collected_files = [], set(), set()


@pytest.hookimpl(hookwrapper=True, tryfirst=True)
def pytest_collection_modifyitems(items):
    before = [item.nodeid for item in items]
    collected_files.update(item.path for item in items)
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


def left_out(top):
    """What pytest does not collect: files by their name or by a setting, and a function that a later one replaces."""
    for file in sorted((top / "tests").rglob("*.py")):
        body = ast.parse(file.read_bytes()).body
        names = [one.name for one in body if isinstance(one, (ast.FunctionDef, ast.AsyncFunctionDef))]
        tests = [name for name in names if name.startswith("test")]
        if file not in collected_files and tests:
            yield f"{file.name}: none of its tests is collected"
        yield from (f"{file.name}: {name} is defined more than once" for name in sorted(set(tests)) if tests.count(name) > 1)


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
    collected, passed = terminalreporter._session.testscollected, len(stats.get("passed", []))
    terminalreporter.write_line(f"counted: {len(ran)} of {collected} tests ran, {passed} passed")
