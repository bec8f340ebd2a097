/* SPDX-License-Identifier: Apache-2.0 */
/* clock.h - monotonic time in nanoseconds, the only clock that deadlines use; waiting by looking.
 */
#ifndef TRIGD_CLOCK_H
#define TRIGD_CLOCK_H
#include <stdint.h>
#include <time.h>

#define NS_PER_S  1000000000ull
#define NS_PER_MS 1000000ull
#define NS_PER_US 1000ull

static inline uint64_t clock_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * NS_PER_S + (uint64_t)t.tv_nsec;
}

/* Processor time of the calling thread: what work takes, however busy the machine is. */
static inline uint64_t clock_thread_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (uint64_t)t.tv_sec * NS_PER_S + (uint64_t)t.tv_nsec;
}

/* Between two looks at what another thread will write: leaves the core's units to its sibling. */
static inline void clock_relax(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

/* Between two looks that are costly, or that take something from whoever is waited for: half a
 * microsecond or so. */
static inline void clock_relax_long(void)
{
    for (int i = 0; i < 12; i++)
        clock_relax();
}
#endif
