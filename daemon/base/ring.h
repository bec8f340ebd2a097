/* SPDX-License-Identifier: Apache-2.0 */
/* ring.h - a ring of 32-bit numbers between one producing and one consuming thread.
 *
 * A consumer may have several rings; it sleeps on one word (a futex) that their producers ring. All
 * of it lives in shared memory as well: it holds no pointers.
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
    _Alignas(64) _Atomic uint32_t head; /* next place to write */
    _Atomic uint32_t sleeping;          /* the consumer waits, and wants to be woken */
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

/* Wakes the consumer if it sleeps.  Producer only, after ring_push. */
static inline void ring_wake(struct ring *r, _Atomic uint32_t *bell)
{
    if (!atomic_load_explicit(&r->sleeping, memory_order_seq_cst))
        return;
    atomic_fetch_add_explicit(bell, 1, memory_order_seq_cst);
    syscall(SYS_futex, bell, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

/* Sleeps until something is in one of the n rings, at most `ns`.  Consumer only; may return early.
 */
static inline void ring_wait(struct ring *const *r, uint32_t n, _Atomic uint32_t *bell, uint64_t ns)
{
    const struct timespec limit = {.tv_sec = (time_t)(ns / 1000000000u),
                                   .tv_nsec = (long)(ns % 1000000000u)};
    const uint32_t before = atomic_load_explicit(bell, memory_order_seq_cst);
    bool is_empty = true;

    for (uint32_t i = 0; i < n; i++)
        atomic_store_explicit(&r[i]->sleeping, 1, memory_order_seq_cst);
    for (uint32_t i = 0; i < n; i++)
        is_empty &= atomic_load_explicit(&r[i]->head, memory_order_seq_cst) ==
                    atomic_load_explicit(&r[i]->tail, memory_order_relaxed);
    if (is_empty)
        syscall(SYS_futex, bell, FUTEX_WAIT, before, &limit, NULL, 0);
    for (uint32_t i = 0; i < n; i++)
        atomic_store_explicit(&r[i]->sleeping, 0, memory_order_seq_cst);
}
#endif
