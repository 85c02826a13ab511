/* Does one thing that programs do with clocks, and says "ok" if all was well.

   The times of the C library are compared with real system calls around them, and with each other. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#ifndef CLONE_NEWTIME
#define CLONE_NEWTIME 0x80
#endif

extern char **environ;
typedef long long ns_t;

/* What a clock may be off, in nanoseconds: 20 us, on machines that are busy, and emulated ones. */
#define OFF 20000

static int bad;

static void fail(const char *what, ns_t by) {
    if (bad++ < 5) fprintf(stderr, "%s: %lld ns\n", what, by);
}

static ns_t ns(const struct timespec *time) {
    return time->tv_sec * 1000000000ll + time->tv_nsec;
}

static ns_t now(int clock) {
    struct timespec time;
    if (clock_gettime(clock, &time)) fail("clock_gettime", errno);
    return ns(&time);
}

static ns_t raw(int clock) {
    struct timespec time = {0};
    syscall(SYS_clock_gettime, clock, &time);
    return ns(&time);
}

static time_t (*const time_of_day)(time_t *) = time;

static void agree(int rounds) {
    static const int clocks[] = {CLOCK_MONOTONIC, CLOCK_REALTIME, CLOCK_BOOTTIME, CLOCK_MONOTONIC_RAW, CLOCK_TAI};
    for (int i = 0; i < rounds; i++) {
        int clock = clocks[i % 5];
        ns_t before = raw(clock), time = now(clock), after = raw(clock);
        if (time < before - OFF) fail("before the system call before it", before - time);
        if (time > after + OFF) fail("after the system call after it", time - after);
        struct timeval day;
        before = raw(CLOCK_REALTIME) / 1000;
        gettimeofday(&day, NULL);
        ns_t us = day.tv_sec * 1000000ll + day.tv_usec;
        if (us < before - OFF / 1000 || us > raw(CLOCK_REALTIME) / 1000 + OFF / 1000) fail("gettimeofday", us - before);
        time_t seconds = time_of_day(NULL);
        if (seconds < us / 1000000 - 1 || seconds > us / 1000000 + 1) fail("time", seconds);
        if (i % 1000 == 0) usleep(3000);
    }
}

static atomic_llong newest;
static ns_t reads;

static void *reader(void *unused) {
    for (ns_t i = 0; i < reads; i++) {
        ns_t seen = atomic_load(&newest);
        ns_t time = now(CLOCK_MONOTONIC);
        if (time < seen) fail("behind another thread", seen - time);
        while (seen < time && !atomic_compare_exchange_weak(&newest, &seen, time)) {}
    }
    return unused;
}

static void threads(int count, ns_t each) {
    pthread_t ids[64];
    reads = each;
    for (int i = 0; i < count; i++) pthread_create(&ids[i], NULL, reader, NULL);
    for (int i = 0; i < count; i++) pthread_join(ids[i], NULL);
}

static volatile ns_t handled;
static void handler(int signal) {
    (void)signal;
    static ns_t last;
    ns_t time = now(CLOCK_MONOTONIC);
    if (time < last) fail("back in a handler", last - time);
    last = time;
    handled++;
}

static void signals(void) {
    struct sigaction action = {.sa_handler = handler};
    sigaction(SIGALRM, &action, NULL);
    struct itimerval every = {{0, 200}, {0, 200}};
    setitimer(ITIMER_REAL, &every, NULL);
    ns_t last = 0;
    for (int i = 0; i < 2000000; i++) {
        ns_t time = now(CLOCK_MONOTONIC);
        if (time < last) fail("back", last - time);
        last = time;
    }
    memset(&every, 0, sizeof every);
    setitimer(ITIMER_REAL, &every, NULL);
    if (!handled) fail("no signal came", 0);
}

static void ended(pid_t child) {
    int status = -1;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {}
    if (status) fail("a child failed", status);
}

static void children(char *self) {
    char *again[] = {self, "agree", NULL};
    for (int i = 0; i < 20; i++) {
        ns_t before = now(CLOCK_MONOTONIC);
        pid_t child = fork();
        if (!child) {
            if (now(CLOCK_MONOTONIC) < before) fail("a child is behind its parent", 0);
            agree(300);
            _exit(!!bad);
        }
        ended(child);
    }
    pid_t child = vfork();
    if (!child) {
        execv(self, again);
        _exit(99);
    }
    ended(child);
    if (posix_spawn(&child, self, NULL, NULL, again, environ)) fail("posix_spawn", errno);
    ended(child);
    if (system("true && true")) fail("system", 0);
}

static void *runs(void *self) {
    char *again[] = {self, "agree", NULL};
    execv(self, again);
    return NULL;
}

static void seccomp(int first) {
    if (!first) agree(200);
    ns_t last = now(CLOCK_MONOTONIC);
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clock_gettime, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {4, filter};
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program)) exit(77);
    /* Where the kernel's own clock needs the call, it is refused: then there is no time at all. */
    for (int i = 0; i < 3000000; i++) {
        struct timespec time;
        if (clock_gettime(CLOCK_MONOTONIC, &time)) {
            if (errno != EPERM) fail("errno", errno);
            continue;
        }
        if (ns(&time) < last) fail("back under a filter", last - ns(&time));
        last = ns(&time);
    }
}

static void timens(void) {
    if (unshare(CLONE_NEWTIME)) exit(77);
    int file = open("/proc/self/timens_offsets", O_WRONLY);
    const char *offsets = "monotonic 86400 0\nboottime 86400 0\n";
    if (file < 0 || write(file, offsets, strlen(offsets)) < 0) exit(77);
    close(file);
    ns_t outside = now(CLOCK_MONOTONIC);
    pid_t child = fork();
    if (!child) {
        if (now(CLOCK_MONOTONIC) - outside < 86400ll * 1000000000) fail("the namespace's offset is missing", 0);
        agree(20000);
        _exit(!!bad);
    }
    ended(child);
    agree(1000);
}

static void maps(void) {
    char line[512];
    FILE *file = fopen("/proc/self/maps", "r");
    while (fgets(line, sizeof line, file))
        if (strstr(line, "rwx")) fail(line, 0);
    fclose(file);
}

static void stop(void) {
    pid_t child = fork();
    if (!child) {
        raise(SIGSTOP);
        agree(100);
        _exit(!!bad);
    }
    int status;
    waitpid(child, &status, WUNTRACED);
    if (!WIFSTOPPED(status)) fail("it did not stop", status);
    kill(child, SIGCONT);
    ended(child);
}

int main(int count, char **words) {
    const char *what = count > 1 ? words[1] : "agree";
    if (!strcmp(what, "agree")) agree(20000);
    else if (!strcmp(what, "threads")) threads(count > 2 ? atoi(words[2]) : 4, count > 3 ? atoll(words[3]) : 500000);
    else if (!strcmp(what, "signals")) signals();
    else if (!strcmp(what, "children")) children(words[0]);
    else if (!strcmp(what, "exec")) { pthread_t id; pthread_create(&id, NULL, runs, words[0]); pause(); }
    else if (!strcmp(what, "seccomp")) seccomp(0);
    else if (!strcmp(what, "seccomp-first")) seccomp(1);
    else if (!strcmp(what, "timens")) timens();
    else if (!strcmp(what, "maps")) maps();
    else if (!strcmp(what, "stop")) stop();
    else if (!strcmp(what, "exit")) exit(atoi(words[2]));
    else if (!strcmp(what, "die")) { raise(atoi(words[2])); pause(); }
    else if (!strcmp(what, "pid")) { printf("%d\n", getpid()); return 0; }
    else if (!strcmp(what, "cost")) {
        ns_t begin = raw(CLOCK_MONOTONIC);
        int reads = count > 2 ? atoi(words[2]) : 1000000;
        for (int i = 0; i < reads; i++) now(CLOCK_MONOTONIC);
        printf("%.1f\n", (double)(raw(CLOCK_MONOTONIC) - begin) / reads);
        return 0;
    }
    else return 98;
    if (!bad) puts("ok");
    return !!bad;
}
