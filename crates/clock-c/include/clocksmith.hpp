// The clocks of clocksmith as clocks of <chrono>: C++11 and later.
//
// Each is a TrivialClock: now() does not throw, and durations are nanoseconds. They can replace
// every clock of the standard library: std::this_thread::sleep_until, condition_variable::wait_until,
// std::chrono::time_point. clocksmith.h documents each clock.
//
// SPDX-License-Identifier: MIT OR Apache-2.0
#ifndef CLOCKSMITH_HPP
#define CLOCKSMITH_HPP

#include "clocksmith.h"

#include <chrono>
#include <cstdint>
#include <ctime>

namespace clocksmith {

namespace detail {

// A template, so that C++11 allows the definition of the constant in a header.
template <class Clock, bool Steady>
struct clock_base {
    using duration = std::chrono::nanoseconds;
    using rep = duration::rep;
    using period = duration::period;
    using time_point = std::chrono::time_point<Clock, duration>;
    static constexpr bool is_steady = Steady;

protected:
    static time_point at(std::uint64_t ns) noexcept {
        return time_point(duration(static_cast<rep>(ns)));
    }
};

#if __cplusplus < 201703L
template <class Clock, bool Steady>
constexpr bool clock_base<Clock, Steady>::is_steady;
#endif

}  // namespace detail

// CLOCK_MONOTONIC, ordered: the same as std::chrono::steady_clock on Linux, with the same epoch.
struct steady_clock : detail::clock_base<steady_clock, true> {
    static time_point now() noexcept { return at(clocksmith_monotonic_ordered_ns()); }

    // Converts a moment to and from std::chrono::steady_clock. On Linux the two are one clock; the
    // standard does not guarantee it elsewhere.
    template <class Duration>
    static std::chrono::time_point<std::chrono::steady_clock, Duration> to_std(
        const std::chrono::time_point<steady_clock, Duration>& time) noexcept {
        return std::chrono::time_point<std::chrono::steady_clock, Duration>(
            time.time_since_epoch());
    }
    template <class Duration>
    static std::chrono::time_point<steady_clock, Duration> from_std(
        const std::chrono::time_point<std::chrono::steady_clock, Duration>& time) noexcept {
        return std::chrono::time_point<steady_clock, Duration>(time.time_since_epoch());
    }
};

// CLOCK_MONOTONIC, unordered: the fastest one, for intervals within a thread.
//
// is_steady is false. Within a thread the clock is steady; but the standard requires that a time is
// never earlier than one that another thread took before, and it may be earlier by a few nanoseconds.
struct fast_clock : detail::clock_base<fast_clock, false> {
    static time_point now() noexcept { return at(clocksmith_monotonic_ns()); }
};

// CLOCK_MONOTONIC_COARSE: CLOCK_MONOTONIC at the kernel's last tick, 1 to 10 ms ago.
//
// It never goes backward, but its steps are not all of one length, so it is not steady by the
// standard's definition. This matters: the library may sleep only once until a time of a steady clock,
// and this clock could still show an earlier time then.
struct coarse_clock : detail::clock_base<coarse_clock, false> {
    static time_point now() noexcept { return at(clocksmith_monotonic_coarse_ns()); }
};

// CLOCK_REALTIME, ordered: the wall clock, from 1970-01-01 00:00 UTC without leap seconds.
struct system_clock : detail::clock_base<system_clock, false> {
    static time_point now() noexcept { return at(clocksmith_realtime_ordered_ns()); }

    // Converts a moment to and from std::chrono::system_clock. std::chrono::clock_cast of C++20 looks
    // for these names.
    template <class Duration>
    static std::chrono::time_point<std::chrono::system_clock, Duration> to_sys(
        const std::chrono::time_point<system_clock, Duration>& time) noexcept {
        return std::chrono::time_point<std::chrono::system_clock, Duration>(
            time.time_since_epoch());
    }
    template <class Duration>
    static std::chrono::time_point<system_clock, Duration> from_sys(
        const std::chrono::time_point<std::chrono::system_clock, Duration>& time) noexcept {
        return std::chrono::time_point<system_clock, Duration>(time.time_since_epoch());
    }

    // Whole seconds; the fraction is truncated.
    static std::time_t to_time_t(const time_point& time) noexcept {
        return static_cast<std::time_t>(
            std::chrono::duration_cast<std::chrono::seconds>(time.time_since_epoch()).count());
    }
    static time_point from_time_t(std::time_t time) noexcept {
        return time_point(std::chrono::seconds(time));
    }
};

}  // namespace clocksmith

#endif
