"""The clock of a loop of asyncio."""

import asyncio
import time

import pytest

import clocksmith


async def on_our_clock():
    loop = asyncio.get_running_loop()
    # The line that README.md shows.
    loop.time = clocksmith.monotonic
    before, now, after = time.monotonic(), loop.time(), time.monotonic()
    assert before - 1e-6 <= now <= after + 1e-6
    order = []
    loop.call_later(0.02, order.append, "later")
    loop.call_at(loop.time() + 0.01, order.append, "at")
    loop.call_soon(order.append, "soon")
    begun = time.monotonic_ns()
    await asyncio.sleep(0.03)
    assert time.monotonic_ns() - begun >= 30_000_000 - 1_000
    assert order == ["soon", "at", "later"]
    with pytest.raises(asyncio.TimeoutError):
        await asyncio.wait_for(asyncio.Event().wait(), 0.01)
    done = await asyncio.wait_for(asyncio.get_running_loop().run_in_executor(None, clocksmith.monotonic), 10)
    assert done >= now
    return "done"


def test_a_loop_has_this_clock():
    assert asyncio.run(on_our_clock()) == "done"


def test_a_timer_waits_as_long_as_it_says():
    async def run():
        loop = asyncio.get_running_loop()
        calls = []
        # The loop reads its clock before and after it waits; the second reading decides what is due.
        loop.time = lambda: calls.append(None) or clocksmith.monotonic()
        for milliseconds in 1, 2, 5, 10:
            begun = time.monotonic_ns()
            await asyncio.sleep(milliseconds / 1_000)
            assert time.monotonic_ns() - begun >= milliseconds * 1_000_000 - 1_000
        return len(calls)

    assert asyncio.run(run()) >= 8
