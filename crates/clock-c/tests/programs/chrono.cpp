// C++11 and later: the clocks as clocks of <chrono>, where the standard library takes any clock.
#include <clocksmith.hpp>

#include <atomic>
#include <condition_variable>
#include <cstdio>
#include <mutex>
#include <thread>
#include <type_traits>

namespace {

int failures;

void check(bool right, int line, const char* what) {
    if (!right) {
        std::fprintf(stderr, "chrono.cpp:%d: not so: %s\n", line, what);
        ++failures;
    }
}
#define CHECK(condition) check(condition, __LINE__, #condition)

// TrivialClock, as the standard defines it, for the versions without is_clock.
template <class C>
void is_a_clock() {
    static_assert(std::is_same<typename C::rep, typename C::duration::rep>::value, "rep");
    static_assert(std::is_same<typename C::period, typename C::duration::period>::value, "period");
    static_assert(std::is_same<typename C::duration, std::chrono::nanoseconds>::value, "duration");
    static_assert(std::is_same<typename C::time_point::clock, C>::value, "clock of time_point");
    static_assert(std::is_same<typename C::time_point::duration, typename C::duration>::value,
                  "duration of time_point");
    static_assert(std::is_same<decltype(C::now()), typename C::time_point>::value, "now");
    static_assert(std::is_same<const bool, decltype(C::is_steady)>::value, "is_steady");
    static_assert(noexcept(C::now()), "now does not throw");
    static_assert(std::is_trivially_destructible<typename C::time_point>::value, "time_point");
#if __cplusplus >= 202002L
    static_assert(std::chrono::is_clock_v<C>);
#endif
    // By its address, which only a constant with a definition has.
    const bool* volatile steady = &C::is_steady;
    CHECK((*steady == std::integral_constant<bool, C::is_steady>::value));
    // Not the epoch, and not later than the next one.
    const typename C::time_point first = C::now();
    CHECK(first.time_since_epoch().count() > 0);
    CHECK(first <= C::now());
}

static_assert(clocksmith::steady_clock::is_steady, "ordered and monotonic");
static_assert(!clocksmith::coarse_clock::is_steady, "uneven steps");
static_assert(!clocksmith::fast_clock::is_steady, "unordered between threads");
static_assert(!clocksmith::system_clock::is_steady, "somebody may set it");

template <class C>
void waits() {
    using std::chrono::milliseconds;
    const typename C::time_point until = C::now() + milliseconds(30);
    std::this_thread::sleep_until(until);
    CHECK(C::now() >= until);

    std::mutex mutex;
    std::condition_variable bell;
    std::unique_lock<std::mutex> lock(mutex);
    const typename C::time_point later = C::now() + milliseconds(30);
    CHECK(!bell.wait_until(lock, later, [] { return false; }));
    CHECK(C::now() >= later);
}

// A time that a thread reads after it has seen another's time is not earlier.
void is_ordered_between_threads() {
    std::atomic<std::int64_t> seen(0);
    std::atomic<bool> done(false);
    std::thread other([&] {
        while (!done.load()) {
            seen.store(clocksmith::steady_clock::now().time_since_epoch().count());
        }
    });
    bool ordered = true;
    for (int i = 0; i < 200000; ++i) {
        const std::int64_t theirs = seen.load();
        ordered = ordered && clocksmith::steady_clock::now().time_since_epoch().count() >= theirs;
    }
    done.store(true);
    other.join();
    CHECK(ordered);
}

void is_the_standard_s_time() {
    using std::chrono::microseconds;
    namespace cs = clocksmith;
    const auto before = std::chrono::steady_clock::now();
    const auto ours = cs::steady_clock::to_std(cs::steady_clock::now());
    const auto after = std::chrono::steady_clock::now();
    CHECK(before <= ours && ours <= after);
    CHECK(cs::steady_clock::from_std(ours) == cs::steady_clock::from_std(before) + (ours - before));

    const auto wall_before = std::chrono::system_clock::now();
    const auto wall = cs::system_clock::now();
    const auto wall_after = std::chrono::system_clock::now();
    // Of a clock that counts microseconds, all before the next one is "not after".
    CHECK(wall_before <= cs::system_clock::to_sys(wall));
    CHECK(cs::system_clock::to_sys(wall) <= wall_after + microseconds(1));
    CHECK(cs::system_clock::from_sys(cs::system_clock::to_sys(wall)) == wall);

    const std::time_t seconds = cs::system_clock::to_time_t(wall);
    CHECK(cs::system_clock::from_time_t(seconds) <= wall);
    CHECK(wall - cs::system_clock::from_time_t(seconds) < std::chrono::seconds(1));
#if defined(__cpp_lib_chrono) && __cpp_lib_chrono >= 201907L
    CHECK(std::chrono::clock_cast<std::chrono::system_clock>(wall) == cs::system_clock::to_sys(wall));
    CHECK(std::chrono::clock_cast<cs::system_clock>(wall_before) ==
          cs::system_clock::from_sys(wall_before));
#endif
}

clocksmith::cached_clock kept;

void remembers() {
    namespace cs = clocksmith;
    kept.update();
    const auto before = kept.steady();
    const auto wall = kept.system();
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    CHECK(kept.steady() == before && kept.system() == wall);
    CHECK(before <= cs::steady_clock::now());
    {
        const cs::cached_clock::updater updater(kept, std::chrono::milliseconds(1));
        while (kept.steady() < before + std::chrono::milliseconds(10)) {
            std::this_thread::yield();
        }
    }
    bool refused = false;
    try {
        const cs::cached_clock::updater updater(kept, std::chrono::nanoseconds(0));
    } catch (const std::system_error& error) {
        refused = error.code().value() == EINVAL;
    }
    CHECK(refused);
    std::error_code error;
    {
        const cs::cached_clock::updater updater(kept, std::chrono::nanoseconds(-1), error);
    }
    CHECK(error == std::errc::invalid_argument);
    {
        const cs::cached_clock::updater updater(kept, std::chrono::milliseconds(1), error);
    }
    CHECK(!error);
}

}  // namespace

int main() {
    is_a_clock<clocksmith::steady_clock>();
    is_a_clock<clocksmith::fast_clock>();
    is_a_clock<clocksmith::coarse_clock>();
    is_a_clock<clocksmith::system_clock>();
    waits<clocksmith::steady_clock>();
    waits<clocksmith::fast_clock>();
    waits<clocksmith::coarse_clock>();
    waits<clocksmith::system_clock>();
    is_ordered_between_threads();
    is_the_standard_s_time();
    remembers();
    std::printf("C++ %ld, %s\n", static_cast<long>(__cplusplus),
                clocksmith_source_name(clocksmith_source()));
    return failures ? 1 : 0;
}
