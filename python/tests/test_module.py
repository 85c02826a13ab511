"""What stands in the module: names, types, documentation, and what it says of its clocks."""

import ast
import importlib
import importlib.metadata
import pathlib
import sys
import sysconfig
import time

import pytest

import clocksmith
from clocksmith import _native

PACKAGE = pathlib.Path(clocksmith.__file__).parent
# These take an argument.
BY_ID = {"clock_gettime", "clock_gettime_ns"}
# There may be no device.
MAYBE = {"disruption_marker"}
FUNCTIONS = sorted(set(clocksmith.__all__) - {"get_clock_info"} - BY_ID - MAYBE)
RETURNS = dict.fromkeys(["monotonic", "monotonic_ordered", "perf_counter", "realtime_ordered", "time"], float)
RETURNS |= {"source": str, "version": str}
RETURNS["realtime_bounded_ns"] = RETURNS["is_slow"] = RETURNS["vmclock"] = tuple


def stubs(name):
    """The functions that a stub declares, with the names of their types."""
    tree = ast.parse((PACKAGE / name).read_text())
    functions = [node for node in tree.body if isinstance(node, ast.FunctionDef)]
    return {node.name: ast.unparse(node.returns).split("[")[0] for node in functions}


def test_stubs_declare_what_is_there():
    assert sorted(stubs("__init__.pyi")) == sorted(clocksmith.__all__)
    native = {name for name in vars(_native) if not name.startswith("_")}
    assert set(stubs("_native.pyi")) == native
    assert native == set(FUNCTIONS) | BY_ID | MAYBE | {"version"}
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


def test_vmclock_says_what_the_device_says_or_why_there_is_none():
    said, reason = clocksmith.vmclock()
    marker = clocksmith.disruption_marker()
    assert clocksmith.disruption_marker.__text_signature__ == "()"
    if not pathlib.Path("/dev/vmclock0").exists():
        assert said is None and marker is None
        assert "no VMCLOCK device" in reason
    elif said is not None:
        assert reason == "" and said["disruption_marker"] == marker
        assert isinstance(said["status"], str) and isinstance(said["is_monotonic"], bool)
    else:
        assert reason


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
        if name not in {"source", "realtime_bounded_ns", "is_slow", "vmclock"}:
            assert clocksmith.get_clock_info(name[:-3] if name.endswith("_ns") else name)
    assert clocksmith.get_clock_info("monotonic_coarse").resolution == time.clock_getres(6)
    with pytest.raises(ValueError, match="'process_time'.* there are: .*monotonic"):
        clocksmith.get_clock_info("process_time")


def interpreters():
    """CPython's module for interpreters with locks of their own, and the arguments that make one."""
    if sys.version_info >= (3, 13):
        return importlib.import_module("_interpreters"), ("isolated",)
    if sys.version_info >= (3, 12):
        return importlib.import_module("_xxsubinterpreters"), ()
    pytest.skip("before 3.12 all interpreters have one lock")


def test_interpreters_with_locks_of_their_own_have_the_clocks():
    module, arguments = interpreters()
    code = """if True:
        import time, clocksmith
        before, now, after = time.monotonic_ns(), clocksmith.monotonic_ordered_ns(), time.monotonic_ns()
        assert before <= now <= after
        assert clocksmith.is_slow()[1] and clocksmith.realtime_bounded_ns()
    """
    for _ in range(3):
        interpreter = module.create(*arguments)
        try:
            # An error is raised by 3.12, and returned by later ones.
            assert module.run_string(interpreter, code) is None
        finally:
            module.destroy(interpreter)
    assert clocksmith.monotonic_ns() > 0


def test_does_not_switch_the_global_lock_on():
    if not sysconfig.get_config_var("Py_GIL_DISABLED"):
        pytest.skip("this build has a global lock")
    # Importing a module that does not say that it can do without the lock switches it on.
    assert not sys._is_gil_enabled()
