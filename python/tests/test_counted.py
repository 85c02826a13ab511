"""counted.py names each test that does not count, and says how many ran."""

import pathlib

import pytest

pytest_plugins = ["pytester"]

TESTS = """
import pytest, unittest
def test_good(): pass
def test_left_out(): pass
def test_dropped(): pass
@pytest.mark.skip(reason="two\\nlines")
def test_skips(): pass
@pytest.mark.xfail(reason="known")
def test_fails(): assert False
@pytest.mark.xfail
def test_passes(): pass
class Parts(unittest.TestCase):
    def test_parts(self):
        with self.subTest(): self.skipTest("a part")
"""
# One hook informs pytest, the other does not.
CONFTEST = """
def pytest_collection_modifyitems(config, items):
    config.hook.pytest_deselected(items=[item for item in items if item.name == "test_left_out"])
    items[:] = [item for item in items if item.name not in ("test_left_out", "test_dropped")]
"""


@pytest.fixture
def lines(pytester, monkeypatch):
    """The lines of ours, and the exit code, of a run of these tests."""
    monkeypatch.setenv("PYTHONPATH", str(pathlib.Path(__file__).parents[1]))

    def run(tests, conftest="", **more):
        pytester.makeconftest(conftest)
        pytester.makepyfile(test_it=tests)
        for name, text in more.items():
            pytester.makepyfile(**{f"tests/{name}": text})
        done = pytester.runpytest_subprocess("-p", "counted", "--color=no")
        return [line for line in done.outlines if line.startswith(("skipped: ", "counted: ", "failed: "))], done.ret

    return run


def test_each_is_named(lines):
    (*skipped, counted), code = lines(TESTS, CONFTEST)
    assert code == 0
    # Some versions count a test of which a part skipped itself among those that pass.
    assert counted in ("counted: 5 of 5 tests ran, 1 passed", "counted: 5 of 5 tests ran, 2 passed")
    assert sorted(skipped) == [
        "skipped: a part",
        "skipped: test_it.py::test_dropped is left out",
        "skipped: test_it.py::test_fails fails, as is expected: known",
        "skipped: test_it.py::test_left_out is left out",
        "skipped: test_it.py::test_passes passes, and is expected to fail",
        "skipped: two lines",
    ]


def test_end_before_the_last_test_is_seen(lines):
    tests = "import pytest\ndef test_a(): pass\ndef test_b(): pytest.exit('why', returncode=0)\ndef test_c(): pass"
    assert lines(tests) == (["counted: 1 of 3 tests ran, 1 passed"], 0)


HIDDEN = """
import pytest, unittest
def test_a(): assert False
def test_a(): pass
class TestTwice:
    def test_b(self): assert False
    def test_b(self): pass
class TestAgain:
    def test_c(self): assert False
class TestAgain:
    def test_d(self): pass
class Other:
    def test_e(self): assert False
class TestOff:
    __test__ = False
    def test_f(self): assert False
def test_g(): assert False
test_g = None
def test_h():
    def test_i(): assert False
class Case(unittest.TestCase):
    def test_j(self): assert False
    def test_j(self): pass
@pytest.fixture
def test_k(): assert False
@pytest.mark.parametrize("x", ["::", "[", 1])
def test_l(x): pass
"""


def test_what_is_not_collected_is_named(lines):
    files = {
        "build/test_b": "def test_z(): assert False",
        "test_hidden": HIDDEN,
        "more_tests": "def test_d(): assert False",
        "cases": "class TestX:\n    def test_y(self): assert False",
    }
    (*skipped, counted), code = lines("def test_c(): pass", **files)
    assert (counted, code) == ("counted: 9 of 9 tests ran, 9 passed", 0)
    assert skipped == [
        "skipped: tests/build/test_b.py: none of its tests is collected",
        "skipped: tests/cases.py: none of its tests is collected",
        "skipped: tests/more_tests.py: none of its tests is collected",
        "skipped: test_hidden.py: test_a is defined more than once",
        "skipped: test_hidden.py: TestTwice.test_b is defined more than once",
        "skipped: test_hidden.py: TestAgain.test_c is not collected",
        "skipped: test_hidden.py: Other.test_e is not collected",
        "skipped: test_hidden.py: TestOff.test_f is not collected",
        "skipped: test_hidden.py: test_g is not collected",
        "skipped: test_hidden.py: test_h.test_i is not collected",
        "skipped: test_hidden.py: Case.test_j is defined more than once",
        "skipped: test_hidden.py: test_k is not collected",
    ]


def test_what_is_returned_and_a_class_that_cannot_be_made_are_failures(lines):
    assert lines("def test_a(): return False\ndef test_b(): pass")[1] == 1
    assert lines("def test_a(): assert (1 == 2, 'x')")[1] != 0
    assert lines("import pytest\n@pytest.mark.skpi\ndef test_a(): pass")[1] != 0
    assert lines("class TestA:\n    def __init__(self): pass\n    def test_b(self): assert False\ndef test_c(): pass")[1] != 0


def test_hooks_hide_no_failure(lines):
    tests = "def test_a(): assert False\ndef test_b(): pass"
    found, code = lines(tests, "def pytest_sessionfinish(session): session.exitstatus = 0")
    assert (found, code) == (["failed: test_it.py::test_a", "counted: 2 of 2 tests ran, 1 passed"], 0)
    protocol = """
def pytest_runtest_protocol(item):
    item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
    item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
    return True
"""
    assert lines(tests, protocol) == (["counted: 0 of 2 tests ran, 0 passed"], 0)
