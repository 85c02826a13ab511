/* C99 and later: every clock lies between two readings of the kernel's, before and after a fork, in a
 * signal handler, and when the kernel must be used; a cached clock remembers until it is updated. */
#define _GNU_SOURCE
#include <clocksmith.h>

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define TEXT_(x) #x
#define TEXT(x) TEXT_(x)

/* The difference that rounding, and a fine clock that is read early, may cause. */
#define ROUNDING_NS 1000

static int failures;

#define CHECK(condition)                                                                \
    do {                                                                                \
        if (!(condition)) {                                                             \
            fprintf(stderr, "clocks.c:%d: not so: %s\n", __LINE__, #condition);         \
            failures++;                                                                 \
        }                                                                               \
    } while (0)

static uint64_t kernel_ns(clockid_t id) {
    struct timespec now;
    if (clock_gettime(id, &now) != 0) {
        perror("clocks.c: clock_gettime");
        exit(1);
    }
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static const struct {
    const char *name;
    uint64_t (*read)(void);
    clockid_t kernel;
} CLOCKS[] = {
    {"monotonic", clocksmith_monotonic_ns, CLOCK_MONOTONIC},
    {"monotonic_ordered", clocksmith_monotonic_ordered_ns, CLOCK_MONOTONIC},
    {"monotonic_coarse", clocksmith_monotonic_coarse_ns, CLOCK_MONOTONIC_COARSE},
    {"realtime", clocksmith_realtime_ns, CLOCK_REALTIME},
    {"realtime_ordered", clocksmith_realtime_ordered_ns, CLOCK_REALTIME},
    {"realtime_coarse", clocksmith_realtime_coarse_ns, CLOCK_REALTIME_COARSE},
    {"boottime", clocksmith_boottime_ns, CLOCK_BOOTTIME},
    {"monotonic_raw", clocksmith_monotonic_raw_ns, CLOCK_MONOTONIC_RAW},
    {"tai", clocksmith_tai_ns, CLOCK_TAI},
};

static void check_clocks(void) {
    for (size_t i = 0; i < sizeof CLOCKS / sizeof CLOCKS[0]; i++) {
        for (int turn = 0; turn < 1000; turn++) {
            uint64_t first = kernel_ns(CLOCKS[i].kernel);
            uint64_t ours = CLOCKS[i].read();
            uint64_t last = kernel_ns(CLOCKS[i].kernel);
            if (ours + ROUNDING_NS < first || ours > last + ROUNDING_NS) {
                fprintf(stderr, "clocks.c: %s is %llu, the kernel's %llu before and %llu after\n",
                        CLOCKS[i].name, (unsigned long long)ours, (unsigned long long)first,
                        (unsigned long long)last);
                failures++;
                break;
            }
        }
    }
}

static void check_gettime(void) {
    int (*gettime)(clockid_t, struct timespec *) = clocksmith_gettime;
    struct timespec time;
    for (clockid_t id = 0; id < 12; id++) {
        struct timespec before, after;
        errno = 0;
        int theirs = clock_gettime(id, &before);
        int reason = errno;
        errno = 0;
        int ours = gettime(id, &time);
        CHECK(ours == theirs && errno == reason);
        if (theirs != 0 || clock_gettime(id, &after) != 0) {
            continue;
        }
        int64_t first = (int64_t)before.tv_sec * 1000000000 + before.tv_nsec - ROUNDING_NS;
        int64_t middle = (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
        int64_t last = (int64_t)after.tv_sec * 1000000000 + after.tv_nsec + ROUNDING_NS;
        CHECK(time.tv_nsec >= 0 && time.tv_nsec < 1000000000);
        CHECK(first <= middle && middle <= last);
    }
    CHECK(gettime(-7777, &time) == -1 && errno == EINVAL);
    errno = 0;
}

static void check_coarse_is_coarse(void) {
    /* A fine clock would differ at nearly every read. */
    int changes = 0;
    uint64_t last = clocksmith_monotonic_coarse_ns();
    for (int i = 0; i < 1000; i++) {
        uint64_t now = clocksmith_monotonic_coarse_ns();
        changes += now != last;
        last = now;
    }
    CHECK(changes < 100);
}

static void check_ticks(void) {
    struct clocksmith_tick_anchor first = clocksmith_tick_anchor_now();
    uint64_t before = kernel_ns(CLOCK_MONOTONIC);
    uint64_t ticks = clocksmith_ticks_ordered();
    uint64_t after = kernel_ns(CLOCK_MONOTONIC);
    CHECK(clocksmith_ticks() >= ticks);
    while (clocksmith_monotonic_ns() < after + 20000000) {
    }
    struct clocksmith_tick_anchor second = clocksmith_tick_anchor_now();
    uint64_t time = clocksmith_ticks_to_ns(first, second, ticks);
    CHECK(time + 10 * ROUNDING_NS >= before && time <= after + 10 * ROUNDING_NS);
    CHECK(clocksmith_ticks_to_ns(first, second, second.ticks) == second.monotonic_ns);
    double took = (double)(second.ticks - first.ticks) / (double)clocksmith_ticks_per_second();
    double ns = (double)(second.monotonic_ns - first.monotonic_ns);
    CHECK(clocksmith_ticks_per_second() == 0 || (took * 1e9 > 0.999 * ns && took * 1e9 < 1.001 * ns));
}

static void check_vmclock(void) {
    uint64_t marker = 1, earliest = 1, latest = 1;
    struct clocksmith_vmclock state;
    char reason[200];
    int result = clocksmith_disruption_marker(&marker);
    int again = clocksmith_vmclock_state(&state, reason, sizeof reason);
    int bounded = clocksmith_vmclock_utc_bounded_ns(&earliest, &latest);
    if (result == 0) {
        CHECK(again == EAGAIN || (again == 0 && state.disruption_marker == marker && reason[0] == 0));
        CHECK(bounded == EAGAIN || (bounded == 0 && earliest < latest));
    } else {
        CHECK(result == ENODEV || result == EACCES || result == ENOTSUP);
        CHECK(access("/dev/vmclock0", F_OK) != 0 || result != ENODEV);
        CHECK(again == result && bounded == result && marker == 0 && latest == UINT64_MAX);
        CHECK(strstr(reason, "VMCLOCK") != NULL);
    }
}

static struct clocksmith_cached_clock kept;

/* Waits until the cached clock shows that time; gives up after two seconds. */
static void wait_cached(uint64_t until) {
    uint64_t limit = kernel_ns(CLOCK_MONOTONIC) + 2000000000u;
    while (clocksmith_cached_monotonic_ns(&kept) < until && kernel_ns(CLOCK_MONOTONIC) < limit) {
        usleep(500);
    }
    CHECK(clocksmith_cached_monotonic_ns(&kept) >= until);
}

static volatile sig_atomic_t handlers;
static pthread_t this_thread;

static void count(int number) {
    (void)number;
    /* Of another thread it would be the updater's. */
    handlers += pthread_equal(pthread_self(), this_thread) ? 1 : 1000;
}

static void check_cached(void) {
    /* Nothing is remembered: the coarse clock. */
    uint64_t coarse = clocksmith_monotonic_coarse_ns(), wall = clocksmith_realtime_coarse_ns(), last;
    CHECK(clocksmith_cached_monotonic_ns(&kept) >= coarse);
    CHECK(clocksmith_cached_realtime_ns(&kept) >= wall);

    /* By hand. */
    uint64_t before = kernel_ns(CLOCK_MONOTONIC);
    clocksmith_cached_update(&kept);
    uint64_t after = kernel_ns(CLOCK_MONOTONIC);
    last = clocksmith_cached_monotonic_ns(&kept);
    CHECK(last + ROUNDING_NS >= before && last <= after + ROUNDING_NS);
    wall = clocksmith_cached_realtime_ns(&kept);
    usleep(2000);
    CHECK(clocksmith_cached_monotonic_ns(&kept) == last && clocksmith_cached_realtime_ns(&kept) == wall);

    /* By two threads, which run no handler: a signal to the process stays pending while this thread blocks it. */
    struct clocksmith_updater *updater = NULL, *second = NULL;
    CHECK(clocksmith_cached_start(&kept, 0, &updater) == EINVAL && updater == NULL);
    CHECK(clocksmith_cached_start(&kept, 1000000, &updater) == 0 && updater != NULL);
    CHECK(clocksmith_cached_start(&kept, 3600000000000u, &second) == 0 && second != NULL);
    wait_cached(last + 10000000);
    this_thread = pthread_self();
    signal(SIGUSR2, count);
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR2);
    CHECK(pthread_sigmask(SIG_BLOCK, &set, NULL) == 0);
    kill(getpid(), SIGUSR2);
    usleep(5000);
    CHECK(handlers == 0);
    CHECK(pthread_sigmask(SIG_UNBLOCK, &set, NULL) == 0);
    CHECK(handlers == 1);

    /* A child has no updater, and time goes on there. */
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        wait_cached(clocksmith_cached_monotonic_ns(&kept) + 10000000);
        clocksmith_cached_stop(updater);
        updater = NULL;
        CHECK(clocksmith_cached_start(&kept, 1000000, &updater) == 0);
        wait_cached(clocksmith_cached_monotonic_ns(&kept) + 10000000);
        clocksmith_cached_stop(updater);
        _exit(failures ? 1 : 0);
    }
    int status = -1;
    CHECK(child > 0 && waitpid(child, &status, 0) == child && status == 0);

    clocksmith_cached_stop(updater);
    last = clocksmith_cached_monotonic_ns(&kept);
    usleep(5000);
    CHECK(clocksmith_cached_monotonic_ns(&kept) == last);
    /* After the last one: the kernel's, and not backward. */
    clocksmith_cached_stop(second);
    clocksmith_cached_stop(NULL);
    wait_cached(last + 10000000);
}

static volatile sig_atomic_t in_handler;

static void handler(int number) {
    (void)number;
    in_handler = clocksmith_monotonic_ns() != 0;
}

int main(void) {
    uint64_t last = clocksmith_monotonic_ns();
    for (int i = 0; i < 100000; i++) {
        uint64_t now = clocksmith_monotonic_ns();
        CHECK(now >= last);
        last = now;
    }

    errno = 12345;
    check_clocks();
    CHECK(errno == 12345);
    check_coarse_is_coarse();
    check_gettime();
    check_ticks();
    check_vmclock();
    check_cached();

    CHECK(strcmp(clocksmith_version(), TEXT(CLOCKSMITH_VERSION_MAJOR) "." TEXT(
        CLOCKSMITH_VERSION_MINOR) "." TEXT(CLOCKSMITH_VERSION_PATCH)) == 0);

    static const char *const NAMES[] = {"unknown", "vvar", "disciplined", "vdso", "syscall",
                                        "std", "pvclock", "hyperv-page", "unknown"};
    for (int i = 0; i < 9; i++) {
        CHECK(strcmp(clocksmith_source_name((enum clocksmith_source_id)i), NAMES[i]) == 0);
    }
    enum clocksmith_source_id usual = clocksmith_source();
    CHECK(usual >= CLOCKSMITH_SOURCE_VVAR && usual <= CLOCKSMITH_SOURCE_HYPERV_PAGE);

    CHECK(clocksmith_restrict((enum clocksmith_source_id)0) == EINVAL);
    CHECK(clocksmith_restrict((enum clocksmith_source_id)8) == EINVAL);
    CHECK(clocksmith_source() == usual);
    CHECK(clocksmith_restrict(CLOCKSMITH_SOURCE_SYSCALL) == 0);
    CHECK(clocksmith_source() == CLOCKSMITH_SOURCE_SYSCALL);
    check_clocks();
    CHECK(clocksmith_monotonic_ns() >= last);
    CHECK(clocksmith_restrict(CLOCKSMITH_SOURCE_VVAR) == 0);
    check_clocks();

    signal(SIGUSR1, handler);
    raise(SIGUSR1);
    CHECK(in_handler);

    char reason[200], start[6];
    int slow = clocksmith_is_slow(reason, sizeof reason);
    CHECK(slow >= -1 && slow <= 1 && strlen(reason) > 20);
    CHECK(clocksmith_is_slow(NULL, 0) <= 1);
    clocksmith_is_slow(start, sizeof start);
    CHECK(strlen(start) == 5 && strncmp(start, reason, 5) == 0);

    int trusted = clocksmith_trust_counter(50, reason, sizeof reason);
    CHECK(trusted == 0 ? reason[0] == 0 : trusted == ENOTSUP && strlen(reason) > 5);
    check_clocks();
    clocksmith_distrust_counter();

    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        check_clocks();
        check_coarse_is_coarse();
        _exit(failures ? 1 : 0);
    }
    int status = -1;
    CHECK(child > 0 && waitpid(child, &status, 0) == child && status == 0);

    printf("%s, %s\n", clocksmith_version(), clocksmith_source_name(clocksmith_source()));
    return failures ? 1 : 0;
}
