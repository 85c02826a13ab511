"""clocksmith.drop_in can stand for the time module, by name, by import, and in sys.modules."""

import importlib.util
import inspect
import pathlib
import subprocess
import sys
import threading
import time

import pytest

import clocksmith
import clocksmith.drop_in as drop_in
from clocksmith import _native

# With a rounding to the seconds of a float.
ROUNDING_NS = 1_000
CLOCKS = [name for name in dir(time) if name.startswith("CLOCK_")]
OURS = ["monotonic", "monotonic_ns", "perf_counter", "perf_counter_ns", "time", "time_ns"]


def test_has_every_name_of_time():
    for name, theirs in vars(time).items():
        ours = getattr(drop_in, name)
        if not name.startswith("__"):
            assert name in dir(drop_in)
            assert type(ours) is type(theirs) or callable(ours) and callable(theirs), name
    assert [name for name in dir(time) if not name.startswith("_")] == drop_in.__all__
    assert drop_in.sleep is time.sleep and drop_in.process_time is time.process_time
    with pytest.raises(AttributeError, match="no_such_name"):
        drop_in.no_such_name


def test_exports_every_name_of_time():
    here = {}
    exec("from clocksmith.drop_in import *", here)
    assert {name for name in dir(time) if not name.startswith("_")} <= here.keys()
    assert here["monotonic_ns"] is _native.monotonic_ordered_ns


@pytest.mark.parametrize("name", OURS)
def test_clocks_are_ours_ordered_and_the_kernel_s(name):
    ours, theirs = getattr(drop_in, name), getattr(time, name)
    assert ours.__module__ == "clocksmith._native" and "ordered" in ours.__name__
    rounding = ROUNDING_NS if name.endswith("_ns") else ROUNDING_NS / 1e9
    for _ in range(1_000):
        before, now, after = theirs(), ours(), theirs()
        assert before - rounding <= now <= after + rounding
        assert type(now) is type(before)


@pytest.mark.parametrize("name", CLOCKS)
def test_clock_gettime_is_the_kernel_s(name):
    number = getattr(time, name)
    try:
        time.clock_gettime(number)
    except OSError as error:
        # Alarms without a clock that wakes the machine.
        with pytest.raises(OSError) as raised:
            drop_in.clock_gettime(number)
        assert raised.value.errno == error.errno
        return
    for _ in range(200):
        before, now, after = (module.clock_gettime_ns(number) for module in (time, drop_in, time))
        assert before - ROUNDING_NS <= now <= after + ROUNDING_NS
        before, now, after = (module.clock_gettime(number) for module in (time, drop_in, time))
        assert before - 1e-6 <= now <= after + 1e-6
    assert type(now) is float


def test_clock_gettime_of_a_thread():
    number = time.pthread_getcpuclockid(threading.get_ident())
    assert number < 0
    assert time.clock_gettime_ns(number) <= drop_in.clock_gettime_ns(number) <= time.clock_gettime_ns(number)


@pytest.mark.parametrize("number", [-7777, 1.5, "1", None])
def test_clock_gettime_refuses_what_time_refuses(number):
    for name in "clock_gettime", "clock_gettime_ns":
        raised = []
        for module in time, drop_in:
            with pytest.raises((OSError, TypeError, OverflowError)) as error:
                getattr(module, name)(number)
            raised.append((error.type, getattr(error.value, "errno", None)))
        assert raised[0] == raised[1]
        with pytest.raises(TypeError):
            getattr(drop_in, name)()


@pytest.mark.parametrize("number", [2**31, 2**70, -(2**31) - 1])
def test_clock_gettime_refuses_numbers_that_no_clock_has(number):
    for name in "clock_gettime", "clock_gettime_ns":
        # time has TypeError for some of them in some versions.
        with pytest.raises(OverflowError):
            getattr(drop_in, name)(number)


def test_clock_gettime_takes_what_is_a_number():
    class Number:
        def __index__(self):
            return time.CLOCK_MONOTONIC

    assert time.clock_gettime_ns(Number()) <= drop_in.clock_gettime_ns(Number()) <= time.clock_gettime_ns(Number())
    assert inspect.signature(drop_in.clock_gettime_ns).parameters.keys() == {"clk_id"}


@pytest.mark.parametrize("name", ["monotonic", "perf_counter", "process_time", "thread_time", "time"])
def test_clock_info(name):
    ours, theirs = drop_in.get_clock_info(name), time.get_clock_info(name)
    assert vars(ours).keys() == vars(theirs).keys()
    assert (ours.monotonic, ours.adjustable, ours.resolution) == (theirs.monotonic, theirs.adjustable, theirs.resolution)
    assert ("clocksmith" in ours.implementation) == (name in OURS)


def test_clock_info_refuses_what_time_refuses():
    with pytest.raises(ValueError):
        drop_in.get_clock_info("monotonic_coarse")


def program(code):
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_time_zone_is_the_present_one():
    said = program("""if True:
        import os, clocksmith.drop_in as time
        os.environ["TZ"] = "XYZ+3"
        time.tzset()
        print(time.tzname[0], time.timezone, time.strftime("%Z", time.localtime(0)))
    """)
    assert said.split() == ["XYZ", "10800", "XYZ"]


def test_stands_for_time_in_other_modules():
    said = program("""if True:
        import sys, clocksmith.drop_in
        sys.modules["time"] = clocksmith.drop_in
        for name in "asyncio", "threading", "queue", "logging", "datetime", "sched", "timeit", "random", "subprocess":
            sys.modules.pop(name, None)
        import asyncio, datetime, logging, queue, sched, threading, time, timeit
        assert time is clocksmith.drop_in
        assert threading._time is clocksmith.drop_in.monotonic and queue.time is clocksmith.drop_in.monotonic
        assert timeit.default_timer is clocksmith.drop_in.perf_counter
        asyncio.run(asyncio.wait_for(asyncio.sleep(0.01), 5))
        assert not threading.Event().wait(0.01)
        datetime.datetime.strptime("2026-11-27", "%Y-%m-%d")
        logging.warning("a line")
        print(time.sleep(0.001), time.gmtime(0).tm_year)
    """)
    assert said.split() == ["None", "1970"]


@pytest.mark.skipif("not config.getoption('--long')")
@pytest.mark.skipif(importlib.util.find_spec("test.test_time") is None, reason="Python's own tests are not installed")
def test_passes_python_s_own_tests():
    program("""if True:
        import sys, unittest, clocksmith.drop_in
        sys.modules["time"] = clocksmith.drop_in
        import test.test_time
        assert test.test_time.time is clocksmith.drop_in
        unittest.main("test.test_time", argv=["drop_in"])
    """)


def test_stub_is_that_of_time():
    stub = pathlib.Path(clocksmith.__file__).with_name("drop_in.pyi").read_text()
    assert "from time import *" in stub
