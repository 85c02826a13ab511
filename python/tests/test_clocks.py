"""Each clock lies between two readings of the kernel's: here, in threads, after fork and spawn."""

import multiprocessing
import os
import threading
import time

import pytest

import clocksmith

# The difference that rounding, and a fine clock that is read early, may cause.
ROUNDING_NS = 1_000

# The numbers are Linux's, of clocks for which `time` has no names everywhere.
REALTIME_COARSE = 5
MONOTONIC_COARSE = 6
BOOTTIME = 7
TAI = 11

# Function, the kernel's clock.
CLOCKS = [
    ("monotonic_ns", time.CLOCK_MONOTONIC),
    ("monotonic_ordered_ns", time.CLOCK_MONOTONIC),
    ("monotonic_coarse_ns", MONOTONIC_COARSE),
    ("perf_counter_ns", time.CLOCK_MONOTONIC),
    ("time_ns", time.CLOCK_REALTIME),
    ("realtime_ns", time.CLOCK_REALTIME),
    ("realtime_ordered_ns", time.CLOCK_REALTIME),
    ("realtime_coarse_ns", REALTIME_COARSE),
    ("boottime_ns", BOOTTIME),
    ("monotonic_raw_ns", time.CLOCK_MONOTONIC_RAW),
    ("tai_ns", TAI),
]


def brackets(name, kernel, count=2_000):
    """The first reading that is not between two of the kernel's, or None."""
    read = getattr(clocksmith, name)
    for _ in range(count):
        before = time.clock_gettime_ns(kernel)
        ours = read()
        after = time.clock_gettime_ns(kernel)
        if not before - ROUNDING_NS <= ours <= after + ROUNDING_NS:
            return f"{name}: {ours}, the kernel's {before} before and {after} after"
    return None


def all_brackets():
    return [wrong for clock in CLOCKS if (wrong := brackets(*clock, count=200)) is not None]


def report_brackets(queue):
    """In a process of its own; at the top of the file, so that spawn finds it."""
    queue.put(all_brackets())


@pytest.mark.parametrize("clock", CLOCKS, ids=lambda clock: clock[0])
def test_lies_between_the_kernel_s(clock):
    assert brackets(*clock) is None


@pytest.mark.parametrize(
    "ours, theirs",
    [
        (clocksmith.monotonic, time.monotonic),
        (clocksmith.monotonic_ordered, time.monotonic),
        (clocksmith.perf_counter, time.perf_counter),
        (clocksmith.realtime_ordered, time.time),
        (clocksmith.time, time.time),
    ],
)
def test_seconds_are_those_of_time(ours, theirs):
    for _ in range(2_000):
        before, now, after = theirs(), ours(), theirs()
        assert before - 1e-6 <= now <= after + 1e-6
        assert type(now) is float


def test_monotonic_within_a_thread():
    times = [clocksmith.monotonic_ns() for _ in range(100_000)]
    assert times == sorted(times)
    assert len(set(times)) > 1_000


def test_coarse_clocks_are_coarse():
    for read in clocksmith.monotonic_coarse_ns, clocksmith.realtime_coarse_ns:
        assert len({read() for _ in range(10_000)}) < 1_000


def test_threads():
    wrong = []
    latest = [0]

    def run():
        wrong.extend(all_brackets())
        for _ in range(20_000):
            seen = latest[0]
            now = clocksmith.monotonic_ordered_ns()
            if now < seen:
                wrong.append(f"{now} after {seen}")
            latest[0] = now

    threads = [threading.Thread(target=run) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_fork():
    before = clocksmith.monotonic_ns()
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        # Nothing of the test program may run in the child.
        status = 1
        try:
            wrong = all_brackets()
            if clocksmith.monotonic_ns() < before:
                wrong.append("earlier than before the fork")
            os.write(writer, "\n".join(wrong).encode())
            status = 0
        finally:
            os._exit(status)
    os.close(writer)
    with os.fdopen(reader) as pipe:
        wrong = pipe.read()
    _, status = os.waitpid(child, 0)
    assert (status, wrong) == (0, "")


def test_spawn():
    context = multiprocessing.get_context("spawn")
    queue = context.Queue()
    process = context.Process(target=report_brackets, args=(queue,))
    process.start()
    assert queue.get(timeout=60) == []
    process.join()
    assert process.exitcode == 0
