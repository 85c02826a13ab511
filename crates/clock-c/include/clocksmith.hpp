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

#include <cerrno>
#include <chrono>
#include <cstdint>
#include <ctime>
#include <system_error>

// Programs that are compiled without exceptions (-fno-exceptions) have all clocks, too.
#if defined(__cpp_exceptions) || defined(__EXCEPTIONS) || defined(_CPPUNWIND)
#define CLOCKSMITH_EXCEPTIONS 1
#endif

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
        return std::chrono::duration_cast<std::chrono::duration<std::time_t>>(time.time_since_epoch()).count();
    }
    static time_point from_time_t(std::time_t time) noexcept {
        return time_point(std::chrono::seconds(time));
    }
};

// A clock that returns the same time until it is updated: clocksmith.h documents it. Not a clock of <chrono>, because
// each object has a time of its own; its times are those of steady_clock and system_clock.
//
//     static clocksmith::cached_clock now;
//     now.update();                              // once in each turn of the loop
//     deadline < now.steady() ...
class cached_clock {
public:
    // A static one is there before anything runs.
    constexpr cached_clock() noexcept : state_() {}
    cached_clock(const cached_clock&) = delete;
    cached_clock& operator=(const cached_clock&) = delete;

    void update() noexcept { clocksmith_cached_update(&state_); }
    steady_clock::time_point steady() const noexcept {
        return steady_clock::time_point(
            steady_clock::duration(static_cast<steady_clock::rep>(clocksmith_cached_monotonic_ns(&state_))));
    }
    system_clock::time_point system() const noexcept {
        return system_clock::time_point(
            system_clock::duration(static_cast<system_clock::rep>(clocksmith_cached_realtime_ns(&state_))));
    }

    // A thread that updates a clock until this is destroyed. The clock must live longer: declare it first.
    class updater {
    public:
        // Sets `error`; if it is not zero there is no thread.
        updater(cached_clock& clock, std::chrono::nanoseconds interval, std::error_code& error) noexcept
            : updater_(nullptr) {
            error.assign(start(clock, interval), std::generic_category());
        }
#ifdef CLOCKSMITH_EXCEPTIONS
        // Throws std::system_error.
        updater(cached_clock& clock, std::chrono::nanoseconds interval) : updater_(nullptr) {
            const int error = start(clock, interval);
            if (error != 0) {
                throw std::system_error(error, std::generic_category(), "clocksmith: cannot keep a clock up to date");
            }
        }
#endif
        updater(const updater&) = delete;
        updater& operator=(const updater&) = delete;
        ~updater() { clocksmith_cached_stop(updater_); }

    private:
        int start(cached_clock& clock, std::chrono::nanoseconds interval) noexcept {
            if (interval.count() <= 0) {
                return EINVAL;
            }
            return clocksmith_cached_start(&clock.state_, static_cast<std::uint64_t>(interval.count()), &updater_);
        }

        clocksmith_updater* updater_;
    };

private:
    clocksmith_cached_clock state_;
};

}  // namespace clocksmith

#undef CLOCKSMITH_EXCEPTIONS

#endif
