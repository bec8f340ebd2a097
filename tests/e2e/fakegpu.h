/* SPDX-License-Identifier: Apache-2.0 */
/* fakegpu.h - the memory of a fake GPU, in a file of the test's folder that its processes share. */
#ifndef TRIGD_TEST_FAKEGPU_H
#define TRIGD_TEST_FAKEGPU_H
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define FAKEGPU_PROCESSES 64u

struct fakegpu_memory {
    _Atomic uint64_t most; /* bytes; 0: no limit */
    struct {
        _Atomic int64_t pid;    /* 0: free */
        _Atomic uint64_t bytes; /* that it has had: back when it has ended */
    } process[FAKEGPU_PROCESSES];
};

/* Whether the process that has a place is there. */
static inline bool fakegpu_has(const struct fakegpu_memory *m, uint32_t place)
{
    const pid_t pid = (pid_t)m->process[place].pid;

    return pid && kill(pid, 0) == 0;
}

static inline uint64_t fakegpu_used(const struct fakegpu_memory *m)
{
    uint64_t bytes = 0;

    for (uint32_t i = 0; i < FAKEGPU_PROCESSES; i++)
        if (fakegpu_has(m, i))
            bytes += m->process[i].bytes;
    return bytes;
}
#endif
