/* SPDX-License-Identifier: Apache-2.0 */
/* prescales.h - a prescale set: one prescale for each chain of a menu, with a key.
 *
 * Equal sets have equal keys, in every daemon and every run: the key is a hash of the chains' ids
 * and prescales (docs/menus.md).
 */
#ifndef TRIGD_PRESCALES_H
#define TRIGD_PRESCALES_H
#include "menu/plan.h"

struct prescales { /* of one menu, by number of the chain */
    uint64_t key;
    struct plan_bits all;  /* prescale 1 */
    struct plan_bits some; /* above 1; the others are off */
    uint32_t id[MENU_CHAINS_MAX];
    double value[MENU_CHAINS_MAX];
    uint64_t below[MENU_CHAINS_MAX]; /* of `some`: hashes that it takes */
};

/* Whether a number may be a prescale: 0 (off), or finite and at least 1. */
bool prescale_is_allowed(double value);
/* Fills a set with the prescales of the chains of a menu; `value` NULL: those of its file. */
void prescales_init(const struct menu *m, const double *value, struct prescales *ret_set);
/* Which chains of a word (`chains`: 64 * word and following) take this event. */
uint64_t prescales_take(const struct prescales *p, uint32_t word, uint64_t chains,
                        const struct trg_roi_info *info);
/* Whether chain `id` with a prescale selects an event: a pure function of its arguments, the same
 * on every machine (a 64-bit hash below 2^64 / prescale). */
bool prescale_takes(uint32_t id, double prescale, uint32_t run, uint32_t l1id, uint32_t bcid);
#endif
