/* SPDX-License-Identifier: Apache-2.0 */
/* fake.h - a daemon of a thread that answers at once, and wrongly when told to. */
#ifndef TRIGD_TEST_FAKE_H
#define TRIGD_TEST_FAKE_H
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum fake_fault {
    FAKE_GOOD,
    FAKE_DROP,        /* every `every`th RoI gets no decision */
    FAKE_TWICE,       /* ... is decided twice */
    FAKE_BUSY,        /* ... is answered Busy the first time */
    FAKE_BUSY_ALL,    /* every RoI is answered Busy, always */
    FAKE_REFUSE,      /* ... is answered with an Error */
    FAKE_UNASKED,     /* ... is followed by a decision for a token that nobody sent */
    FAKE_FORGET,      /* ... its client is not known any more: Busy NO_HELLO until it says Hello */
    FAKE_RUBBISH,     /* ... is answered with bytes that are no message */
    FAKE_NO_ENTRY,    /* Hello is answered with an Error */
    FAKE_SLOW_CREDIT, /* Welcome grants nothing; a Credit follows the first heartbeat */
    FAKE_FIRST_ONLY   /* only the first client is granted anything */
};

struct fake {
    enum fake_fault fault;
    uint32_t every, credits, heartbeat_ms;
    uint32_t pause_every, pause_ms; /* stands still for so long after so many RoIs; 0: never */
    char endpoint[128];
    /* what it saw */
    _Atomic uint64_t rois, faults, heartbeats, hellos, byes; /* RoIs as often as they came */
    _Atomic uint64_t distinct;  /* the same without those sent again, of one client */
    _Atomic uint64_t most_open; /* RoIs in one message at most */
    void *inside;               /* the thread's */
};

/* Binds ipc:// in `folder` and serves until fake_stop. */
void fake_start(struct fake *f, const char *folder);
void fake_stop(struct fake *f);
#endif
