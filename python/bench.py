"""What a call costs, beside the same call of the time module.

    python bench.py [--json] [--rounds N]

The two of a pair take turns in short batches on one processor, in an order that changes. The figure is the
median of the batches' ratios: a busy neighbour meets both. Nanoseconds are medians and hold the loop's
share, which is the same for both; they are there for orientation.
"""

import argparse
import json
import os
import statistics
import time
import timeit

import clocksmith

CALLS = 2_000
PAIRS = ["monotonic_ns", "monotonic", "perf_counter_ns", "perf_counter", "time_ns", "time"]


def batch(function):
    """A function that makes CALLS calls and returns the nanoseconds of one."""
    timer = timeit.Timer("f()", globals={"f": function}, timer=time.perf_counter_ns)
    return lambda: timer.timeit(CALLS) / CALLS


def compare(name, rounds):
    ours, theirs = batch(getattr(clocksmith, name)), batch(getattr(time, name))
    ours(), theirs()
    pairs = []
    for turn in range(rounds):
        if turn % 2:
            us, them = ours(), theirs()
        else:
            them, us = theirs(), ours()
        pairs.append((us, them))
    return {
        "name": name,
        "ns": round(statistics.median(us for us, _ in pairs), 2),
        "time_ns": round(statistics.median(them for _, them in pairs), 2),
        "of_time": round(statistics.median(us / them for us, them in pairs), 3),
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", action="store_true", help="one JSON document")
    parser.add_argument("--rounds", type=int, default=1_000, help="batches of each (default 1000)")
    arguments = parser.parse_args()
    if arguments.rounds < 1:
        parser.error("--rounds wants a number from 1 on")
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    results = [compare(name, arguments.rounds) for name in PAIRS]
    if arguments.json:
        print(json.dumps({"source": clocksmith.source(), "calls": CALLS, "functions": results}))
        return
    print(f"source {clocksmith.source()}, {arguments.rounds} rounds of {CALLS} calls")
    for result in results:
        print("{name:16} {ns:7.2f} ns   time.{name:16} {time_ns:7.2f} ns   ratio {of_time:.3f}".format(**result))


if __name__ == "__main__":
    main()
