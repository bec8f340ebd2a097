/* SPDX-License-Identifier: Apache-2.0 */
/* below.h - faults below trigd: calls of libc, libzmq and OpenCL that fail on command.
 *
 * The library is preloaded. Each interposed call asks below_fails() first. A *site* is a call with
 * the frames above it: the kind of process, the function, and up to BELOW_FRAMES return addresses
 * as offsets in their objects, so a site is the same in every run. Sites and how often each was
 * called are counted in a file that all processes of a daemon map ($BELOW_FILE); the same file says
 * which call of which site fails, once. */
#ifndef TRIGD_TEST_BELOW_H
#define TRIGD_TEST_BELOW_H
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define BELOW_FRAMES  8
#define BELOW_SITES   16384u
#define BELOW_TRAIL   424
#define BELOW_VERSION 1u

struct below_site { /* 512 bytes */
    _Atomic uint64_t hash;
    _Atomic uint32_t calls;
    uint32_t is_ours; /* called by trigd or its modules, not by a library that they use */
    char process[16]; /* front, worker, inspector */
    char call[32];
    char owner[24]; /* the object that called */
    char trail[BELOW_TRAIL];
};

struct below_file {
    uint32_t version;
    uint32_t at;     /* the call of the site that fails, from 1; 0: none */
    uint64_t target; /* the site */
    _Atomic uint32_t fired;
    uint32_t fired_pid;
    unsigned char rest[512 - 24];
    struct below_site site[BELOW_SITES];
};

/* Whether this call is to fail; sets errno to `error` then. */
__attribute__((visibility("default"))) bool below_fails(const char *call, int error);
/* The next definition of a function. */
void *below_next(const char *name);

/* NAME calls what would have been called, as `real`. */
#define BELOW_REAL(name)           \
    static __typeof__(&name) real; \
    if (!real)                     \
    real = (__typeof__(&name))below_next(#name)

/* A function that returns `failed` with `error` in errno. */
#define BELOW(type, name, error, failed, params, args)      \
    __attribute__((visibility("default"))) type name params \
    {                                                       \
        BELOW_REAL(name);                                   \
        if (below_fails(#name, error))                      \
            return failed;                                  \
        return real args;                                   \
    }
#endif
