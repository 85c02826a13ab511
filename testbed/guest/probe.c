/*
 * The guest's static program.
 *
 *   probe cpuid [CPU]      raw CPUID in the format of `cpuid -r`, a fixed choice of leaves
 *   probe cpuid-all [CPU]  the same, all leaves up to each range's maximum, with sub-leaves
 *   probe vdso             for each clock: does the vDSO serve it, or does it call the kernel?
 *   probe watch MS COUNT   reads the clocks COUNT times (0: for ever), MS milliseconds apart
 *   probe slew PPM         makes CLOCK_REALTIME and CLOCK_MONOTONIC run faster or slower
 *   probe step SECONDS     sets CLOCK_REALTIME forward or back
 *   probe nice PROGRAM ... runs a program behind all others; not every busybox can
 *   probe reader ...       threads that look for steps back and errors: reader.c
 *   probe fault ...        runs a program whose counter is at fault: fault.c
 *
 * The question about the vDSO is answered by behaviour, not by time: a child process forbids itself the
 * system call and then reads the clock through the vDSO. If that works, no call was made.
 */
#define _GNU_SOURCE
#include "probe.h"
#include <elf.h>
#include <errno.h>
#include <link.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/timex.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#ifdef __NR_clock_gettime64
#define READ_CALL __NR_clock_gettime64
#define READ_NAME "__vdso_clock_gettime64"
#else
#define READ_CALL __NR_clock_gettime
#define READ_NAME "__vdso_clock_gettime"
#endif

static unsigned symbol_count(const uint32_t *hash, const uint32_t *gnu_hash)
{
    if (hash) {
#ifdef __s390x__
        return ((const uint64_t *)hash)[1]; /* entries are 64 bits wide there */
#else
        return hash[1];
#endif
    }
    if (!gnu_hash)
        return 0;
    uint32_t buckets = gnu_hash[0], first = gnu_hash[1], words = gnu_hash[2], last = 0;
    const uint32_t *bucket = gnu_hash + 4 + words * (sizeof(long) / 4);
    const uint32_t *chain = bucket + buckets;
    for (uint32_t i = 0; i < buckets; i++)
        if (bucket[i] > last)
            last = bucket[i];
    if (last < first)
        return 0;
    while (!(chain[last - first] & 1))
        last++;
    return last + 1;
}

static read_clock find_in_vdso(const char *wanted)
{
    unsigned long base = getauxval(AT_SYSINFO_EHDR);
    if (!base)
        return NULL;
    const ElfW(Ehdr) *file = (void *)base;
    const ElfW(Phdr) *segment = (void *)(base + file->e_phoff);
    const ElfW(Dyn) *dynamic = NULL;
    unsigned long load = 0;
    int loaded = 0;
    for (int i = 0; i < file->e_phnum; i++) {
        if (segment[i].p_type == PT_LOAD && !loaded) {
            load = base + segment[i].p_offset - segment[i].p_vaddr;
            loaded = 1;
        }
        if (segment[i].p_type == PT_DYNAMIC)
            dynamic = (void *)(base + segment[i].p_offset);
    }
    if (!dynamic)
        return NULL;
    const ElfW(Sym) *symbols = NULL;
    const char *names = NULL;
    const uint32_t *hash = NULL, *gnu_hash = NULL;
    for (; dynamic->d_tag; dynamic++) {
        void *value = (void *)(load + dynamic->d_un.d_ptr);
        switch (dynamic->d_tag) {
        case DT_SYMTAB: symbols = value; break;
        case DT_STRTAB: names = value; break;
        case DT_HASH: hash = value; break;
        case DT_GNU_HASH: gnu_hash = value; break;
        }
    }
    unsigned count = symbols && names ? symbol_count(hash, gnu_hash) : 0;
    for (unsigned i = 0; i < count; i++)
        if (symbols[i].st_name && !strcmp(names + symbols[i].st_name, wanted))
            return (read_clock)(load + symbols[i].st_value);
    return NULL;
}

read_clock vdso_reader(void)
{
    read_clock reader = find_in_vdso(READ_NAME);
    return reader ? reader : find_in_vdso("__kernel_clock_gettime");
}

static int forbid_reading_clocks(void)
{
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, READ_CALL, 1, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_clock_gettime, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EBADF),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = { sizeof filter / sizeof *filter, filter };
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
        return -1;
    return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

static const char *path_of(read_clock reader, int clock)
{
    if (!reader)
        return "no-vdso";
    fflush(stdout);
    pid_t child = fork();
    if (child < 0)
        return "unknown";
    if (child == 0) {
        char time[32];
        if (forbid_reading_clocks())
            _exit(3);
        int result = reader(clock, time);
        /* powerpc's vDSO returns the error number itself */
        _exit(result == 0 ? 0 : result == -EBADF || result == EBADF ? 1 : 2);
    }
    int status;
    if (waitpid(child, &status, 0) < 0 || !WIFEXITED(status))
        return "unknown";
    switch (WEXITSTATUS(status)) {
    case 0: return "vdso";
    case 1: return "syscall";
    case 2: return "refused";
    default: return "unknown";
    }
}

static uint64_t nanoseconds(void)
{
    struct timespec time;
    syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1000000000ull + time.tv_nsec;
}

/* Nanoseconds of the fastest of five batches; under emulation only the ratios mean anything. */
static long cost(read_clock reader, int clock)
{
    enum { BATCHES = 5, READS = 500 };
    long best = -1;
    for (int batch = 0; batch < BATCHES; batch++) {
        char time[32];
        uint64_t start = nanoseconds();
        for (int i = 0; i < READS; i++) {
            if (reader)
                reader(clock, time);
            else
                syscall(SYS_clock_gettime, clock, time);
        }
        long each = (nanoseconds() - start) / READS;
        if (best < 0 || each < best)
            best = each;
    }
    return best;
}

static int vdso(void)
{
    static const struct { int id; const char *name; } clocks[] = {
        { 0, "REALTIME" },          { 1, "MONOTONIC" },         { 2, "PROCESS_CPUTIME_ID" },
        { 3, "THREAD_CPUTIME_ID" }, { 4, "MONOTONIC_RAW" },     { 5, "REALTIME_COARSE" },
        { 6, "MONOTONIC_COARSE" },  { 7, "BOOTTIME" },          { 8, "REALTIME_ALARM" },
        { 9, "BOOTTIME_ALARM" },    { 11, "TAI" },
    };
    read_clock reader = vdso_reader();
    for (unsigned i = 0; i < sizeof clocks / sizeof *clocks; i++) {
        struct timespec time, resolution = { 0 };
        if (syscall(SYS_clock_gettime, clocks[i].id, &time))
            continue;
        syscall(SYS_clock_getres, clocks[i].id, &resolution);
        printf("%s path=%s vdso_ns=%ld syscall_ns=%ld resolution_ns=%ld\n", clocks[i].name,
               path_of(reader, clocks[i].id), reader ? cost(reader, clocks[i].id) : -1,
               cost(NULL, clocks[i].id), (long)resolution.tv_nsec);
    }
    return 0;
}

#if defined(__x86_64__) || defined(__i386__)
static void leaf(unsigned leaf, unsigned sub)
{
    unsigned a, b, c, d;
    __asm__ volatile("cpuid" : "=a"(a), "=b"(b), "=c"(c), "=d"(d) : "a"(leaf), "c"(sub));
    printf("   0x%08x 0x%02x: eax=0x%08x ebx=0x%08x ecx=0x%08x edx=0x%08x\n", leaf, sub, a, b, c,
           d);
}

static unsigned highest(unsigned base)
{
    unsigned a = base, b, c = 0, d;
    __asm__ volatile("cpuid" : "+a"(a), "=b"(b), "+c"(c), "=d"(d));
    return a;
}

static int cpuid(int all)
{
    static const unsigned chosen[] = {
        0x0, 0x1, 0x2, 0x4, 0x5, 0x6, 0x7, 0xb, 0xd, 0x15, 0x16, 0x1f,
        0x40000000, 0x40000001, 0x40000002, 0x40000003, 0x40000004, 0x40000005, 0x40000006,
        0x40000007, 0x40000008, 0x40000009, 0x4000000a, 0x4000000b, 0x4000000c, 0x4000000d,
        0x4000000e, 0x4000000f, 0x40000010, 0x40000100, 0x40000101, 0x40000102, 0x40000103,
        0x40000104, 0x40000105, 0x40000106, 0x80000000, 0x80000001, 0x80000002, 0x80000003,
        0x80000004, 0x80000005, 0x80000006, 0x80000007, 0x80000008, 0x8000001e, 0x80000021,
    };
    puts("CPU:");
    if (!all) {
        for (unsigned i = 0; i < sizeof chosen / sizeof *chosen; i++)
            leaf(chosen[i], 0);
        return 0;
    }
    static const unsigned bases[] = { 0, 0x40000000, 0x40000100, 0x80000000 };
    for (unsigned i = 0; i < sizeof bases / sizeof *bases; i++) {
        unsigned top = highest(bases[i]);
        if (top < bases[i] || top > bases[i] + 0x100)
            continue;
        for (unsigned l = bases[i]; l <= top; l++) {
            unsigned subs = l == 4 || l == 0x8000001d ? 5 : l == 0xb || l == 0x1f ? 3
                          : l == 7 || l == 0xd        ? 2
                                                      : 1;
            for (unsigned sub = 0; sub < subs; sub++)
                leaf(l, sub);
        }
    }
    return 0;
}
#else
static int cpuid(int all)
{
    (void)all;
    fputs("this architecture has no CPUID\n", stderr);
    return 1;
}
#endif

static long long of(int clock)
{
    struct timespec time;
    syscall(SYS_clock_gettime, clock, &time);
    return time.tv_sec * 1000000000ll + time.tv_nsec;
}

static unsigned long long counter(void)
{
#if defined(__x86_64__) || defined(__i386__)
    return __builtin_ia32_rdtsc();
#else
    return 0;
#endif
}

/* The clocks of one line are read as close together as they were in the best of twenty tries. */
static int watch(int pause, int lines)
{
    for (int i = 0; lines == 0 || i < lines; i++) {
        long long raw = 0, monotonic = 0, real = 0, best = -1;
        unsigned long long tsc = 0;
        for (int try = 0; try < 20; try++) {
            long long before = of(CLOCK_MONOTONIC_RAW);
            long long m = of(CLOCK_MONOTONIC), r = of(CLOCK_REALTIME);
            unsigned long long t = counter();
            long long after = of(CLOCK_MONOTONIC_RAW);
            if (best < 0 || after - before < best) {
                best = after - before;
                raw = before + best / 2;
                monotonic = m;
                real = r;
                tsc = t;
            }
        }
        /* A snapshot may be loaded in the middle of a line: the sum tells two halves from a whole. */
        printf("tick raw=%lld monotonic=%lld real=%lld tsc=%llu xor=%lld\n", raw, monotonic, real, tsc,
               raw ^ monotonic ^ real ^ (long long)tsc);
        fflush(stdout);
        usleep(pause * 1000);
    }
    return 0;
}

static int slew(double ppm)
{
    struct timex wish = { .modes = ADJ_FREQUENCY, .freq = ppm * 65536 };
    if (adjtimex(&wish) < 0) {
        perror("adjtimex");
        return 1;
    }
    return 0;
}

static int step(long seconds)
{
    struct timespec time;
    clock_gettime(CLOCK_REALTIME, &time);
    time.tv_sec += seconds;
    if (clock_settime(CLOCK_REALTIME, &time)) {
        perror("clock_settime");
        return 1;
    }
    return 0;
}

static int nice_program(char **words)
{
    if (setpriority(PRIO_PROCESS, 0, 10))
        perror("setpriority");
    execvp(words[0], words);
    perror(words[0]);
    return 127;
}

int main(int count, char **words)
{
    const char *job = count > 1 ? words[1] : "";
    if (!strcmp(job, "vdso"))
        return vdso();
    if (!strcmp(job, "watch") && count > 3)
        return watch(atoi(words[2]), atoi(words[3]));
    if (!strcmp(job, "slew") && count > 2)
        return slew(atof(words[2]));
    if (!strcmp(job, "step") && count > 2)
        return step(atol(words[2]));
    if (!strcmp(job, "nice") && count > 2)
        return nice_program(words + 2);
    if (!strcmp(job, "reader"))
        return reader(count - 2, words + 2);
    if (!strcmp(job, "fault"))
        return fault(count - 2, words + 2);
    if (!strcmp(job, "cpuid") || !strcmp(job, "cpuid-all")) {
        cpu_set_t set;
        CPU_ZERO(&set);
        CPU_SET(count > 2 ? atoi(words[2]) : 0, &set);
        sched_setaffinity(0, sizeof set, &set);
        return cpuid(job[5] == '-');
    }
    fputs("usage: probe vdso | watch MS COUNT | slew PPM | step SECONDS | cpuid [CPU] | cpuid-all [CPU]"
          " | nice PROGRAM ... | reader --threads N | fault ... -- PROGRAM ...\n", stderr);
    return 2;
}
