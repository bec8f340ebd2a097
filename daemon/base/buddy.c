/* SPDX-License-Identifier: Apache-2.0 */
#include "base/buddy.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define ORDERS      32u
#define NIL         UINT32_MAX
#define NOT_A_BLOCK 0xffu
#define TAKEN       0x80u

struct buddy {
    uint32_t units;        /* all of them */
    uint32_t top;          /* order of the whole */
    uint64_t used;         /* units handed out */
    uint32_t free[ORDERS]; /* first free block of each order */
    uint32_t *next, *prev; /* by unit, for the first unit of a free block */
    uint8_t *order;        /* by unit: order of the block starting here, | TAKEN; or NOT_A_BLOCK */
};

static void push(struct buddy *b, uint32_t unit, uint32_t order)
{
    b->order[unit] = (uint8_t)order;
    b->prev[unit] = NIL;
    b->next[unit] = b->free[order];
    if (b->next[unit] != NIL)
        b->prev[b->next[unit]] = unit;
    b->free[order] = unit;
}

static void unlink_block(struct buddy *b, uint32_t unit)
{
    uint32_t order = b->order[unit];

    if (b->prev[unit] != NIL)
        b->next[b->prev[unit]] = b->next[unit];
    else
        b->free[order] = b->next[unit];
    if (b->next[unit] != NIL)
        b->prev[b->next[unit]] = b->prev[unit];
    b->order[unit] = NOT_A_BLOCK;
}

int buddy_new(uint64_t bytes, struct buddy **ret_buddy)
{
    struct buddy *b;
    uint64_t units = bytes / BUDDY_UNIT;

    if (!units || units > (1u << (ORDERS - 2)) || (bytes & (bytes - 1)))
        return -EINVAL;
    b = calloc(1, sizeof *b);
    if (!b)
        return -ENOMEM;
    b->units = (uint32_t)units;
    b->top = (uint32_t)__builtin_ctzll(units);
    b->next = malloc(units * sizeof *b->next);
    b->prev = malloc(units * sizeof *b->prev);
    b->order = malloc(units);
    if (!b->next || !b->prev || !b->order) {
        buddy_free(b);
        return -ENOMEM;
    }
    memset(b->order, NOT_A_BLOCK, units);
    for (uint32_t i = 0; i < ORDERS; i++)
        b->free[i] = NIL;
    push(b, 0, b->top);
    *ret_buddy = b;
    return 0;
}

void buddy_free(struct buddy *b)
{
    if (!b)
        return;
    free(b->next);
    free(b->prev);
    free(b->order);
    free(b);
}

uint64_t buddy_take(struct buddy *b, uint64_t bytes)
{
    uint64_t units = (bytes + BUDDY_UNIT - 1) / BUDDY_UNIT;
    uint32_t want, order, unit;

    if (!units || units > b->units)
        return BUDDY_NONE;
    want = units == 1 ? 0 : 64u - (uint32_t)__builtin_clzll(units - 1);
    for (order = want; order <= b->top && b->free[order] == NIL; order++) {
    }
    if (order > b->top)
        return BUDDY_NONE;
    unit = b->free[order];
    unlink_block(b, unit);
    while (order > want) {
        order--;
        push(b, unit + (1u << order), order);
    }
    b->order[unit] = (uint8_t)(want | TAKEN);
    b->used += 1u << want;
    return (uint64_t)unit * BUDDY_UNIT;
}

void buddy_put(struct buddy *b, uint64_t at)
{
    uint32_t unit = (uint32_t)(at / BUDDY_UNIT);
    uint32_t order = b->order[unit] & (uint8_t)~TAKEN;

    b->used -= 1u << order;
    b->order[unit] = NOT_A_BLOCK;
    while (order < b->top) {
        uint32_t other = unit ^ (1u << order);

        if (b->order[other] != order)
            break;
        unlink_block(b, other);
        unit = unit < other ? unit : other;
        order++;
    }
    push(b, unit, order);
}

uint64_t buddy_used(const struct buddy *b)
{
    return b->used * BUDDY_UNIT;
}
