"""Every name of the time module, with the clocks of clocksmith: ``import clocksmith.drop_in as time``.

``monotonic``, ``perf_counter`` and ``time``, each with and without ``_ns``, and ``clock_gettime`` and ``clock_gettime_ns`` are
clocksmith's, ordered between threads as those of ``time`` are. All other names are those of ``time`` itself: ``sleep``,
``process_time``, ``thread_time``, ``strftime``, ``struct_time``, the constants, and what later versions of Python add.
"""

import time as _time

from . import get_clock_info as _get_clock_info
from ._native import (
    clock_gettime,
    clock_gettime_ns,
)
from ._native import monotonic_ordered as monotonic
from ._native import monotonic_ordered as perf_counter
from ._native import monotonic_ordered_ns as monotonic_ns
from ._native import monotonic_ordered_ns as perf_counter_ns
from ._native import realtime_ordered as time
from ._native import realtime_ordered_ns as time_ns

_OURS = {
    "clock_gettime",
    "clock_gettime_ns",
    "get_clock_info",
    "monotonic",
    "monotonic_ns",
    "perf_counter",
    "perf_counter_ns",
    "time",
    "time_ns",
}


def get_clock_info(name):
    """What time.get_clock_info() says of a clock; of a clock of clocksmith what clocksmith.get_clock_info() says."""
    if name in ("monotonic", "perf_counter", "time"):
        return _get_clock_info(name)
    return _time.get_clock_info(name)


# Functions and types do not change. Constants do: time.tzset() sets tzname, timezone, altzone and daylight.
for _name, _value in vars(_time).items():
    if callable(_value) and not _name.startswith("_") and _name not in _OURS:
        globals()[_name] = _value
del _name, _value

__all__ = sorted(_OURS.union(_name for _name in dir(_time) if not _name.startswith("_")))


def __getattr__(name):
    return getattr(_time, name)


def __dir__():
    return sorted({*globals(), *dir(_time)})
