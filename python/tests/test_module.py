"""What stands in the module: names, types, documentation, and what it says of its clocks."""

import ast
import importlib.metadata
import pathlib
import time

import pytest

import clocksmith
from clocksmith import _native

PACKAGE = pathlib.Path(clocksmith.__file__).parent
FUNCTIONS = sorted(set(clocksmith.__all__) - {"get_clock_info"})
RETURNS = {"source": str, "version": str, "monotonic": float, "perf_counter": float, "time": float}
RETURNS["realtime_bounded_ns"] = RETURNS["is_slow"] = tuple


def stubs(name):
    """The functions that a stub declares, with the names of their types."""
    tree = ast.parse((PACKAGE / name).read_text())
    functions = [node for node in tree.body if isinstance(node, ast.FunctionDef)]
    return {node.name: ast.unparse(node.returns).split("[")[0] for node in functions}


def test_stubs_declare_what_is_there():
    assert sorted(stubs("__init__.pyi")) == sorted(clocksmith.__all__)
    native = {name for name in vars(_native) if not name.startswith("_")}
    assert set(stubs("_native.pyi")) == native
    assert native == set(FUNCTIONS) | {"version"}
    assert (PACKAGE / "py.typed").exists()


@pytest.mark.parametrize("name", FUNCTIONS)
def test_function(name):
    function = getattr(clocksmith, name)
    expected = RETURNS.get(name, int)
    assert type(function()) is expected
    assert stubs("__init__.pyi")[name] == stubs("_native.pyi")[name] == expected.__name__
    assert function.__doc__ and function.__name__ == name
    assert function.__text_signature__ == "()"
    with pytest.raises(TypeError):
        function(1)


def test_version_is_the_wheel_s():
    assert clocksmith.__version__ == importlib.metadata.version("clocksmith")


def test_is_slow_has_a_verdict_and_a_reason():
    slow, reason = clocksmith.is_slow()
    assert slow in {True, False, None}
    assert "a read" in reason


def test_source():
    assert clocksmith.source() in {"vvar", "pvclock", "hyperv-page", "disciplined", "vdso", "syscall", "std"}


@pytest.mark.parametrize("name", ["monotonic", "perf_counter", "time"])
def test_clock_info_is_like_time_s(name):
    ours, theirs = clocksmith.get_clock_info(name), time.get_clock_info(name)
    assert vars(ours).keys() == vars(theirs).keys()
    assert (ours.monotonic, ours.adjustable) == (theirs.monotonic, theirs.adjustable)
    assert ours.resolution == theirs.resolution
    assert clocksmith.source() in ours.implementation


def test_clock_info_has_every_clock():
    for name in FUNCTIONS:
        if name not in {"source", "realtime_bounded_ns", "is_slow"}:
            assert clocksmith.get_clock_info(name[:-3] if name.endswith("_ns") else name)
    assert clocksmith.get_clock_info("monotonic_coarse").resolution == time.clock_getres(6)
    with pytest.raises(ValueError, match="'process_time'.* there are: .*monotonic"):
        clocksmith.get_clock_info("process_time")
