/* SPDX-License-Identifier: Apache-2.0 */
/* ring.h - a ring of 32-bit numbers between one producing and one consuming thread, with a
 * doorbell.
 *
 * Lives in shared memory as well: it holds no pointers, and its doorbell is a futex.
 */
#ifndef TRIGD_RING_H
#define TRIGD_RING_H
#include <limits.h>
#include <linux/futex.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define RING_CAPACITY 64u /* a power of two; more than any lane has batches in flight */

struct ring {
    _Alignas(64) _Atomic uint32_t head; /* next place to write; the futex */
    _Atomic uint32_t sleeping;          /* the consumer waits on `head` */
    _Alignas(64) _Atomic uint32_t tail; /* next place to read */
    _Alignas(64) uint32_t entry[RING_CAPACITY];
};

/* Adds a number; false when the ring is full.  Producer only.  The caller rings afterwards. */
static inline bool ring_push(struct ring *r, uint32_t v)
{
    uint32_t head = atomic_load_explicit(&r->head, memory_order_relaxed);

    if (head - atomic_load_explicit(&r->tail, memory_order_acquire) == RING_CAPACITY)
        return false;
    r->entry[head % RING_CAPACITY] = v;
    atomic_store_explicit(&r->head, head + 1, memory_order_seq_cst);
    return true;
}

/* Takes the oldest number; false when the ring is empty.  Consumer only. */
static inline bool ring_pop(struct ring *r, uint32_t *ret_v)
{
    uint32_t tail = atomic_load_explicit(&r->tail, memory_order_relaxed);

    if (tail == atomic_load_explicit(&r->head, memory_order_acquire))
        return false;
    *ret_v = r->entry[tail % RING_CAPACITY];
    atomic_store_explicit(&r->tail, tail + 1, memory_order_release);
    return true;
}

static inline bool ring_is_empty(struct ring *r)
{
    return atomic_load_explicit(&r->tail, memory_order_relaxed) ==
           atomic_load_explicit(&r->head, memory_order_acquire);
}

/* Wakes the consumer if it sleeps.  Producer only. */
static inline void ring_wake(struct ring *r)
{
    if (atomic_load_explicit(&r->sleeping, memory_order_seq_cst))
        syscall(SYS_futex, &r->head, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

/* Sleeps until something is in the ring, at most `ns`.  Consumer only; may return early. */
static inline void ring_wait(struct ring *r, uint64_t ns)
{
    struct timespec limit = {.tv_sec = (time_t)(ns / 1000000000u),
                             .tv_nsec = (long)(ns % 1000000000u)};
    uint32_t head;

    atomic_store_explicit(&r->sleeping, 1, memory_order_seq_cst);
    head = atomic_load_explicit(&r->head, memory_order_seq_cst);
    if (head == atomic_load_explicit(&r->tail, memory_order_relaxed))
        syscall(SYS_futex, &r->head, FUTEX_WAIT, head, &limit, NULL, 0);
    atomic_store_explicit(&r->sleeping, 0, memory_order_seq_cst);
}
#endif
