/* What the files of the guest's static program have in common. */
#ifndef PROBE_H
#define PROBE_H

/* A vDSO's clock_gettime: clock, time; 0, or an error number with whatever sign. */
typedef int (*read_clock)(int, void *);

/* The vDSO's function that reads clocks; NULL if there is none. */
read_clock vdso_reader(void);

/* The verbs `reader` and `fault`; both get the words behind their name, and return an exit status. */
int reader(int count, char **words);
int fault(int count, char **words);

#endif
