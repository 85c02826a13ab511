/*
 * probe fault [--offset-cpu1 CYCLES] [--rate PPM] [--jump CYCLES --after SECONDS] -- PROGRAM ...
 *
 * Runs a program whose counter is at fault. The program may not execute rdtsc and rdtscp
 * (PR_SET_TSC), so each of them stops it, and the tracer answers: the true TSC, at another rate,
 * with an offset on processor 1, or with a jump after a time. All its threads and children share the
 * fault, and so does the vDSO, which reads the counter in the program; system calls do not. That is
 * what a program sees on a machine with a bad TSC whose kernel has not noticed.
 *
 * A tracer tends to gather its tasks on one processor. With an offset, the program's threads and
 * children are therefore tied to processors, in turn; its first task is not.
 *
 * Stock QEMU ignores writes to the TSC's registers, so the fault cannot be made any deeper.
 */
#define _GNU_SOURCE
#include "probe.h"
#include <stdio.h>

#if defined(__x86_64__)
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { TASKS = 256 };

static struct {
    long long offset_cpu1, jump;
    double rate_ppm, after;
} wanted;

/* A task of the program, and its open file of statistics. */
static struct {
    pid_t id;
    int stat;
} tasks[TASKS];

/* All tasks have places below this one. */
static int used;

static pid_t program;
static uint64_t first_tsc, served;
static struct timespec first_time;

static double elapsed(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec - first_time.tv_sec + (now.tv_nsec - first_time.tv_nsec) / 1e9;
}

/* The processor on which a stopped task ran last: field 39 of its statistics. */
static int processor(int stat)
{
    char text[1024];
    ssize_t length = pread(stat, text, sizeof text - 1, 0);
    if (length <= 0)
        return 0;
    text[length] = 0;
    char *at = strrchr(text, ')');
    for (int field = 2; at && field < 39; field++)
        at = strchr(at + 1, ' ');
    return at ? atoi(at + 1) : 0;
}

static uint64_t faulty(int cpu)
{
    uint64_t passed = __builtin_ia32_rdtsc() - first_tsc;
    uint64_t value = first_tsc + passed + (int64_t)((double)passed * wanted.rate_ppm / 1e6);
    if (cpu == 1)
        value += wanted.offset_cpu1;
    if (wanted.jump && elapsed() >= wanted.after)
        value += wanted.jump;
    return value;
}

/* The place of a task; a task that was not there before gets one. */
static int place(pid_t id, int *is_new)
{
    int found = -1;
    for (int i = 0; i < TASKS; i++) {
        if (tasks[i].id == id) {
            *is_new = 0;
            return i;
        }
        if (found < 0 && !tasks[i].id)
            found = i;
    }
    *is_new = 1;
    /* With too many tasks the rest go without: they count as running on processor 0. */
    if (found >= 0) {
        char path[64];
        snprintf(path, sizeof path, "/proc/%d/stat", id);
        used = found < used ? used : found + 1;
        tasks[found].id = id;
        tasks[found].stat = open(path, O_RDONLY | O_CLOEXEC);
    }
    return found;
}

static void forget(pid_t id)
{
    for (int i = 0; i < TASKS; i++)
        if (tasks[i].id == id) {
            close(tasks[i].stat);
            tasks[i].id = 0;
        }
}

static void spread(pid_t id)
{
    static int turn;
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(turn++ % sysconf(_SC_NPROCESSORS_ONLN), &set);
    sched_setaffinity(id, sizeof set, &set);
}

/* Whether the task stood before a read of the counter, which has been answered then. */
static int serve(pid_t id, int cpu)
{
    struct user_regs_struct registers;
    if (ptrace(PTRACE_GETREGS, id, 0, &registers))
        return 0;
    errno = 0;
    uint64_t code = ptrace(PTRACE_PEEKTEXT, id, registers.rip, 0);
    int plain = (code & 0xffff) == 0x310f, with_cpu = (code & 0xffffff) == 0xf9010f;
    if (errno || (!plain && !with_cpu))
        return 0;
    uint64_t value = faulty(cpu);
    registers.rax = (uint32_t)value;
    registers.rdx = value >> 32;
    if (with_cpu)
        registers.rcx = cpu;
    registers.rip += plain ? 2 : 3;
    served++;
    return ptrace(PTRACE_SETREGS, id, 0, &registers) == 0;
}

static void pass_on(int signal)
{
    if (program > 0)
        kill(program, signal);
}

/*
 * The next task that has something to say. They are asked in turn: who waits for any of them gets the
 * first one in the kernel's list each time, and a quick one keeps the others from ever going on.
 */
static pid_t next_stop(int *status)
{
    static int last;
    for (int i = 1; i <= used; i++) {
        int at = (last + i) % used;
        if (tasks[at].id && waitpid(tasks[at].id, status, __WALL | WNOHANG) > 0) {
            last = at;
            return tasks[at].id;
        }
    }
    return waitpid(-1, status, __WALL);
}

static int trace(void)
{
    for (;;) {
        int status;
        pid_t id = next_stop(&status);
        if (id < 0 && errno == EINTR)
            continue;
        if (id < 0)
            return 1;
        if (!WIFSTOPPED(status)) {
            forget(id);
            if (id != program)
                continue;
            fprintf(stderr, "probe fault: answered %llu reads of the counter\n",
                    (unsigned long long)served);
            return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
        }
        int is_new, at = place(id, &is_new), signal = WSTOPSIG(status);
        if (is_new && wanted.offset_cpu1)
            spread(id);
        /* Stops that only the tracer is told of: an event, or the first stop of a new task. */
        if (status >> 16 || (is_new && signal == SIGSTOP))
            signal = 0;
        else if (signal == SIGSEGV && serve(id, at < 0 ? 0 : processor(tasks[at].stat)))
            signal = 0;
        ptrace(PTRACE_CONT, id, 0, signal);
    }
}

int fault(int count, char **words)
{
    int i = 0;
    for (; i + 1 < count && strcmp(words[i], "--"); i += 2) {
        const char *value = words[i + 1];
        if (!strcmp(words[i], "--offset-cpu1"))
            wanted.offset_cpu1 = atoll(value);
        else if (!strcmp(words[i], "--rate"))
            wanted.rate_ppm = atof(value);
        else if (!strcmp(words[i], "--jump"))
            wanted.jump = atoll(value);
        else if (!strcmp(words[i], "--after"))
            wanted.after = atof(value);
        else
            break;
    }
    if (i + 1 >= count || strcmp(words[i], "--")) {
        fputs("usage: probe fault [--offset-cpu1 CYCLES] [--rate PPM] [--jump CYCLES --after SECONDS]"
              " -- PROGRAM ...\n", stderr);
        return 2;
    }
    clock_gettime(CLOCK_MONOTONIC, &first_time);
    first_tsc = __builtin_ia32_rdtsc();
    program = fork();
    if (program < 0) {
        perror("probe fault: starting the program's process");
        return 1;
    }
    if (program == 0) {
        ptrace(PTRACE_TRACEME, 0, 0, 0);
        raise(SIGSTOP);
        /* Survives the start of the program, and goes over to its threads and children. */
        if (prctl(PR_SET_TSC, PR_TSC_SIGSEGV, 0, 0, 0)) {
            perror("probe fault: forbidding the program to read the counter");
            _exit(126);
        }
        execvp(words[i + 1], words + i + 1);
        perror(words[i + 1]);
        _exit(127);
    }
    int status, is_new;
    if (waitpid(program, &status, 0) < 0 || !WIFSTOPPED(status)) {
        fputs("probe fault: the program's process did not stop for the tracer\n", stderr);
        return 1;
    }
    place(program, &is_new);
    ptrace(PTRACE_SETOPTIONS, program, 0,
           PTRACE_O_EXITKILL | PTRACE_O_TRACECLONE | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK
               | PTRACE_O_TRACEEXEC);
    signal(SIGTERM, pass_on);
    signal(SIGINT, pass_on);
    ptrace(PTRACE_CONT, program, 0, 0);
    return trace();
}
#else
int fault(int count, char **words)
{
    (void)count;
    (void)words;
    fputs("probe fault: only for x86-64 programs\n", stderr);
    return 2;
}
#endif
