/* SPDX-License-Identifier: Apache-2.0 */
/* votes.h - the chains of a menu on an event of several RoIs: how many RoIs passed each, which
 * chains the event passes, and whether that can still change.
 *
 * Order: votes_begin with the first RoI; for each RoI votes_come after chains_seed and votes_end
 * when its chains have ended; the event is decided when votes_settle says that nothing can change
 * any more, which the last votes_end makes true.
 */
#ifndef TRIGD_VOTES_H
#define TRIGD_VOTES_H
#include "menu/chains.h"

struct votes {
    uint32_t n_rois;            /* of the event */
    struct plan_bits seeded;    /* chains that its level-1 bits and number of RoIs allow */
    struct plan_bits candidate; /* of those: the prescale takes them */
    struct plan_bits needed;    /* run for combinations, whatever their own prescale */
    struct plan_bits open;      /* candidates that may still change */
    struct plan_bits ran;       /* candidates that ran on an RoI */
    struct plan_bits raw;       /* settled, and passed */
    uint8_t *count;             /* [VOTES_KINDS][chains]; of the caller's memory */
};

enum votes_kind {
    VOTES_ANSWERED, /* RoIs that can change nothing any more */
    VOTES_PASSED,
    VOTES_SHORT, /* passed only because a limit cut their data short */
    VOTES_LACKING,
    VOTES_KINDS
};

static inline size_t votes_bytes(const struct plan *p)
{
    return VOTES_KINDS * (size_t)p->n_chains;
}
/* `count`: votes_bytes of memory, whatever they hold.  n_rois: 2 to 255. */
void votes_begin(struct votes *v, const struct plan *p, const struct prescales *prescales,
                 const struct trg_roi_info *info, uint32_t n_rois, uint8_t *count);
/* An RoI came, and its chains are seeded. */
void votes_come(struct votes *v, const struct plan *p, void *state);
/* Its chains have ended. */
void votes_end(struct votes *v, const struct plan *p, const struct roi_step *steps, void *state);
/* Whether nothing can change any more: then `open` is empty and `raw` complete. */
bool votes_settle(struct votes *v, const struct plan *p);
/* The chains that accept the settled event; returns their streams. */
uint64_t votes_accepted(const struct votes *v, const struct plan *p,
                        struct plan_bits *ret_accepted);
#endif
