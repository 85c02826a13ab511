"""The kernel's own time on Linux at the cost of one counter read.

The functions have the names, the units and the clocks of the ``time`` module. ``monotonic_ns()`` and the
others are read unordered: within a thread they never go backward, but beside a time that another thread
took they may look a few nanoseconds early. ``monotonic_ordered_ns()`` and ``realtime_ordered_ns()`` do not.

``import clocksmith.drop_in as time`` has every name of ``time``, with ordered clocks.
"""

import time as _time
from types import SimpleNamespace as _SimpleNamespace

from ._native import (
    boottime_ns,
    clock_gettime,
    clock_gettime_ns,
    disruption_marker,
    is_slow,
    monotonic,
    monotonic_coarse_ns,
    monotonic_ns,
    monotonic_ordered,
    monotonic_ordered_ns,
    monotonic_raw_ns,
    perf_counter,
    perf_counter_ns,
    realtime_bounded_ns,
    realtime_coarse_ns,
    realtime_ns,
    realtime_ordered,
    realtime_ordered_ns,
    source,
    tai_ns,
    time,
    time_ns,
    vmclock,
)
from ._native import version as _version

__all__ = [
    "boottime_ns",
    "clock_gettime",
    "clock_gettime_ns",
    "disruption_marker",
    "get_clock_info",
    "is_slow",
    "monotonic",
    "monotonic_coarse_ns",
    "monotonic_ns",
    "monotonic_ordered",
    "monotonic_ordered_ns",
    "monotonic_raw_ns",
    "perf_counter",
    "perf_counter_ns",
    "realtime_bounded_ns",
    "realtime_coarse_ns",
    "realtime_ns",
    "realtime_ordered",
    "realtime_ordered_ns",
    "source",
    "tai_ns",
    "time",
    "time_ns",
    "vmclock",
]
__version__ = _version()

# The kernel's name of each clock, and whether the clock can be set.
_CLOCKS = {
    "boottime": ("CLOCK_BOOTTIME", False),
    "monotonic": ("CLOCK_MONOTONIC", False),
    "monotonic_coarse": ("CLOCK_MONOTONIC_COARSE", False),
    "monotonic_ordered": ("CLOCK_MONOTONIC", False),
    "monotonic_raw": ("CLOCK_MONOTONIC_RAW", False),
    "perf_counter": ("CLOCK_MONOTONIC", False),
    "realtime": ("CLOCK_REALTIME", True),
    "realtime_coarse": ("CLOCK_REALTIME_COARSE", True),
    "realtime_ordered": ("CLOCK_REALTIME", True),
    "tai": ("CLOCK_TAI", True),
    "time": ("CLOCK_REALTIME", True),
}
# Python's time module has no names for these; the numbers are Linux's.
_COARSE = {"CLOCK_REALTIME_COARSE": 5, "CLOCK_MONOTONIC_COARSE": 6}


def get_clock_info(name):
    """What time.get_clock_info() says of a clock, for those of this module.

    The name is the function's, without "_ns": "monotonic", "time", "monotonic_coarse" and so on. Returns
    an object with the attributes implementation, monotonic, adjustable and resolution (in seconds).
    """
    if name not in _CLOCKS:
        raise ValueError(f"no clock {name!r} to describe; there are: {', '.join(_CLOCKS)}")
    kernel, adjustable = _CLOCKS[name]
    resolution = 1e-9
    if kernel in _COARSE:
        try:
            resolution = _time.clock_getres(_COARSE[kernel])
        except (AttributeError, OSError):
            # No such clock here: a fine one serves instead.
            pass
    return _SimpleNamespace(
        implementation=f"clocksmith({kernel}, {source()})",
        monotonic=not adjustable,
        adjustable=adjustable,
        resolution=resolution,
    )
