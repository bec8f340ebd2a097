/* SPDX-License-Identifier: Apache-2.0 */
#include "exec/pieces.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "log.h"

enum state {
    SHUT,
    ASKED,
    OPEN,
    FULL,   /* there was no room for it */
    REFUSED /* by the driver, while its client stays */
};

int pieces_open(struct trg_buffer *window, const struct pieces_place *place,
                struct pieces_budget *budget, struct pieces *ret_pieces)
{
    struct pieces p = {.window = window, .place = *place, .budget = budget};

    p.each = (uint32_t)((place->bytes + PIECE_BYTES - 1) / PIECE_BYTES);
    p.state = calloc((size_t)place->n * p.each + 1, sizeof *p.state);
    if (!p.state)
        return -ENOMEM;
    *ret_pieces = p;
    return 0;
}

void pieces_close(struct pieces *p)
{
    for (uint32_t i = 0; p->state && i < p->place.n; i++)
        pieces_shut(p, i);
    free(p->state);
    *p = (struct pieces){0};
}

static bool has_room(const struct pieces_budget *b, uint64_t bytes)
{
    return atomic_load_explicit(&b->used, memory_order_relaxed) + bytes <= b->most;
}

static bool ask(struct pieces *p, _Atomic uint8_t *state)
{
    const uint64_t one = 1;
    uint8_t is = atomic_load_explicit(state, memory_order_relaxed);

    if ((is == SHUT || (is == FULL && has_room(p->budget, PIECE_BYTES))) &&
        atomic_compare_exchange_strong(state, &is, ASKED) &&
        write(p->budget->asked_fd, &one, sizeof one) < 0 && errno != EAGAIN)
        log_error("worker", "cannot ask for memory of a client", "error=\"%s\"", strerror(errno));
    return false;
}

bool pieces_are_open(struct pieces *p, uint32_t region, uint64_t at, uint64_t bytes)
{
    const uint64_t begin = at - (p->place.first + region * p->place.distance);
    const uint64_t end = begin + bytes < p->place.bytes ? begin + bytes : p->place.bytes;
    bool all = true;

    if (region >= p->place.n || begin >= p->place.bytes)
        return false;
    for (uint64_t i = begin / PIECE_BYTES; i * PIECE_BYTES < end; i++) {
        _Atomic uint8_t *state = &p->state[(uint64_t)region * p->each + i];

        if (atomic_load_explicit(state, memory_order_acquire) != OPEN)
            all = ask(p, state);
    }
    return all;
}

void pieces_expect(struct pieces *p, uint32_t region, uint32_t piece)
{
    ask(p, &p->state[(uint64_t)region * p->each + piece]);
}

static uint64_t bytes_of(const struct pieces *p, uint32_t piece)
{
    const uint64_t left = p->place.bytes - piece * PIECE_BYTES;

    return left < PIECE_BYTES ? left : PIECE_BYTES;
}

static uint64_t place_of(const struct pieces *p, uint32_t region, uint32_t piece)
{
    return p->place.first + region * p->place.distance + piece * PIECE_BYTES;
}

uint64_t pieces_rest_ns(const struct pieces_budget *b, uint64_t now_ns)
{
    return b->owed_ns > now_ns + b->borrow_ns ? b->owed_ns - b->borrow_ns - now_ns : 0;
}

static int open_timed(struct pieces *p, uint64_t at, uint64_t bytes)
{
    const uint64_t begun = clock_ns();
    const int r = trg_window_open(p->window, at, bytes);
    const uint64_t ended = clock_ns();
    uint64_t *owed = &p->budget->owed_ns;

    *owed = (*owed > ended ? *owed : ended) + PIECE_REST * (ended - begun);
    p->budget->n_opened++;
    p->budget->opening_ns += ended - begun;
    return r;
}

/* Makes the pages that nobody has written yet, which takes several times as long as to pin them:
 * the driver would hold its lock meanwhile, for which lanes wait. */
static void make_pages(const struct pieces *p, uint64_t at, uint64_t bytes)
{
    if (p->place.base)
        (void)madvise(p->place.base + at, bytes, MADV_POPULATE_READ); /* before Linux 5.14 not */
}

/* Opens a piece, if there is room in the budget. */
static enum state open_piece(struct pieces *p, uint32_t region, uint32_t piece)
{
    struct pieces_budget *b = p->budget;
    const uint64_t bytes = bytes_of(p, piece);

    if (!has_room(b, bytes)) {
        if (!b->is_told)
            log_warn("worker", "lanes gather some clients' RoIs: workers.pinned_mbytes is used up",
                     "pinned_mbytes=%" PRIu64, b->most >> 20);
        b->is_told = true;
        return FULL;
    }
    make_pages(p, place_of(p, region, piece), bytes);
    if (open_timed(p, place_of(p, region, piece), bytes) < 0) {
        log_warn("worker", "the device cannot read memory of a client: lanes gather its RoIs",
                 "region=%u", region + 1);
        return REFUSED;
    }
    b->used += bytes;
    return OPEN;
}

bool pieces_step(struct pieces *p)
{
    const uint32_t all = p->place.n * p->each;

    for (uint32_t i = 0; i < all; i++) {
        const uint32_t at = p->next;

        p->next = (p->next + 1) % all;
        if (atomic_load(&p->state[at]) != ASKED)
            continue;
        atomic_store_explicit(&p->state[at], open_piece(p, at / p->each, at % p->each),
                              memory_order_release);
        return true;
    }
    return false;
}

void pieces_log(struct pieces_budget *b)
{
    if (b->n_opened)
        log_debug("worker", "memory of clients is open to the device",
                  "pieces=%" PRIu32 " opening_us=%" PRIu64 " mbytes=%" PRIu64, b->n_opened,
                  (uint64_t)(b->opening_ns / NS_PER_US), b->used >> 20);
    b->n_opened = 0;
    b->opening_ns = 0;
}

void pieces_shut(struct pieces *p, uint32_t region)
{
    for (uint32_t i = 0; i < p->each; i++) {
        if (atomic_exchange(&p->state[region * p->each + i], SHUT) != OPEN)
            continue;
        trg_window_shut(p->window, place_of(p, region, i));
        p->budget->used -= bytes_of(p, i);
    }
}
