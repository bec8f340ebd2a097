/* SPDX-License-Identifier: Apache-2.0 */
/* guest_page.h - the memory that the front shares with the thread of a guest.
 *
 * The front writes how many batches it has given to the device, and what the guest is to do; the
 * thread (guest_run.h), in a worker process, writes where it is.  What it writes are claims: the
 * front puts them into counters and believes nothing else of them.
 */
#ifndef TRIGD_GUEST_PAGE_H
#define TRIGD_GUEST_PAGE_H
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/shards.h"

#define GUEST_LINE 128u /* distance of data written by different threads */
#define GUEST_TEXT 160u
#define GUEST_NAME 64u

enum guest_order { GUEST_RUN, GUEST_PAUSE, GUEST_STOP };

enum guest_state {                /* of the thread */
                   GUEST_OPENING, /* allocates, reads its checkpoint */
                   GUEST_WAITING, /* its device has a batch */
                   GUEST_RUNNING, /* gets slices */
                   GUEST_PAUSED,  /* told to */
                   GUEST_DONE,    /* has nothing more to do; its results are written */
                   GUEST_STOPPED, /* told to; its checkpoint is written */
                   GUEST_FAILED   /* see `error`; the thread has ended, as after the two before */
};

struct guest_page {
    struct guest_busy {
        _Alignas(
            GUEST_LINE) _Atomic uint32_t n; /* batches of the shard, in the lanes of the device */
    } busy[SHARDS_MAX];
    _Alignas(GUEST_LINE) _Atomic uint32_t order; /* enum guest_order */
    _Alignas(GUEST_LINE) _Atomic uint32_t state; /* enum guest_state */
    _Atomic int32_t error;
    _Atomic uint64_t since_ns; /* when the plugin's function that runs was called; 0: none runs */
    _Atomic uint32_t is_slice; /* that is a slice, and not open, save or close */
    _Atomic uint64_t slices, us, unmet_us, yielded, over, saves, bytes;
    _Atomic uint64_t text[GUEST_TEXT / 8]; /* progress */
};

/* A zeroed page in a file of its own.  -errno. */
int guest_page_make(int *ret_fd, struct guest_page **ret_page);
/* The page of a file. */
int guest_page_map(int fd, struct guest_page **ret_page);
void guest_page_unmap(struct guest_page *p); /* NULL is fine */
/* One line of at most GUEST_TEXT - 1 bytes, to the page and from it. */
void guest_page_say(struct guest_page *p, const char *text);
void guest_page_text(const struct guest_page *p, char text[GUEST_TEXT]);

/* Whether no shard has a batch in the lanes of the device. */
static inline bool guest_page_is_free(const struct guest_page *p)
{
    for (uint32_t i = 0; i < SHARDS_MAX; i++)
        if (atomic_load_explicit((_Atomic uint32_t *)&p->busy[i].n, memory_order_relaxed))
            return false;
    return true;
}

struct guest_gate { /* of one shard and one device, on the shard's thread */
    struct guest_busy *busy;
    uint32_t n; /* the front's own count: what stands in the page is for the guest */
};

/* A batch more in the lanes of the device, or one less. */
static inline void guest_gate_add(struct guest_gate *g, int n)
{
    g->n += (uint32_t)n;
    atomic_store_explicit(&g->busy->n, g->n, memory_order_relaxed);
}
#endif
