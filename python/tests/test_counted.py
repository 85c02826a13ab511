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

    def run(tests, conftest=""):
        pytester.makeconftest(conftest)
        pytester.makepyfile(test_it=tests)
        done = pytester.runpytest_subprocess("-p", "counted", "--color=no")
        return [line for line in done.outlines if line.startswith(("skipped: ", "counted: "))], done.ret

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
