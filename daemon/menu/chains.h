/* SPDX-License-Identifier: Apache-2.0 */
/* chains.h - the chains of a menu on one RoI: which are seeded, lack data, run, pass.
 *
 * Order: chains_seed; for steps that returned chains_advance, until no chain runs; for the decision
 * chains_fail_short where that is wanted, and chains_conclude.  The state of all chains is a block
 * of chains_bytes, all zero before chains_seed.
 *
 * An RoI that is an event of its own has combinations of chains decided with it.  With several RoIs
 * in an event the state tells of one of them which chains pass it; votes.h makes the event's.
 */
#ifndef TRIGD_CHAINS_H
#define TRIGD_CHAINS_H
#include "memory/pool.h"
#include "menu/plan.h"
#include "menu/prescales.h"

/* Sets of chains in the state.  seeded = PRESCALED + LACKING + RAN, whichever chain. */
enum chains_set {
    CHAINS_PRESCALED, /* seeded, but the prescale kept them from running */
    CHAINS_LACKING,   /* the RoI lacks a collection that they need */
    CHAINS_RAN,
    CHAINS_RUNNING,  /* of those: they wait for a step */
    CHAINS_RAW,      /* all hypotheses hold; after the end of the RoI, of the prescaled ones too */
    CHAINS_ACCEPTED, /* after chains_conclude: RAN, and RAW or with pass_through */
    CHAINS_SKIPPED,  /* of those that ran: a step was left out */
    CHAINS_SETS
};

static inline uint64_t *chains_of(const struct plan *p, void *state, enum chains_set set)
{
    return (uint64_t *)state + 3 + (size_t)set * p->n_words;
}
/* The steps that were left out: chains_skip. */
static inline uint64_t chains_skipped(const void *state)
{
    return ((const uint64_t *)state)[2];
}

struct chains_event { /* an RoI, as chains see it before its steps */
    const struct trg_roi_info *info;
    uint32_t type, kinds; /* 1 << kind for each collection that it holds */
    uint32_t n_rois;      /* of its event; 0 and 1: it is alone */
};

size_t chains_bytes(const struct plan *p);
/* The chains that a level-1 decision seeds, whatever RoIs they look at. */
void chains_fired(const struct plan *p, uint32_t l1_bits, struct plan_bits *ret_fired);
/* Those of the seeded chains that run for combinations which the prescale takes. */
void chains_needed(const struct plan *p, const struct prescales *prescales,
                   const struct trg_roi_info *info, const struct plan_bits *seeded,
                   struct plan_bits *ret_needed);
/* Of chains that passed: those that did so only because a limit cut their data short. */
void chains_short(const struct plan *p, const struct roi_step *steps, void *state,
                  struct plan_bits *ret_short);
/* Fills the sets of chains that are seeded; none waits for a step yet. */
void chains_select(const struct plan *p, const struct prescales *prescales,
                   const struct chains_event *ev, void *state);
/* The same, and has them wait for their first steps.  Returns these (none: no chain runs). */
uint64_t chains_seed(const struct plan *p, const struct prescales *prescales,
                     const struct chains_event *ev, void *state);
/* Moves chains on over the steps in `done`, of which `fresh` came since the last call.  Returns the
 * steps that chains wait for and that may have become possible: new ones, and those that
 * consume what `fresh` made. */
uint64_t chains_advance(const struct plan *p, const struct roi_step *steps, uint64_t done,
                        uint64_t fresh, void *state);
/* Leaves steps out that do not come, and those that consume what they make, and moves the chains on
 * whose fallback that is.  Returns what chains_advance does; *ret_fails: another chain waits for
 * one of them, and nothing was changed. */
uint64_t chains_skip(const struct plan *p, const struct roi_step *steps, uint64_t done,
                     uint64_t gone, void *state, bool *ret_fails);
/* Whether chains still run. */
bool chains_run(void *state);
/* Whether those that run cannot change what the menu wants its decisions to wait for: a chain that
 * has ended accepts, not by truncation alone, and with MENU_STREAMS those that run have no stream
 * that is not written anyway. */
bool chains_are_settled(const struct plan *p, const struct roi_step *steps,
                        enum menu_decision decision, void *state);
/* The highest priority of the chains that run and have the step. */
enum menu_priority chains_priority(const struct plan *p, uint32_t step, void *state);
/* Whether chains passed only because a limit cut their data short. */
bool chains_passed_short(const struct plan *p, const struct roi_step *steps, void *state);
/* Lets those fail. */
void chains_fail_short(const struct plan *p, const struct roi_step *steps, void *state);
/* The end: fills CHAINS_ACCEPTED, adds to CHAINS_RAW the prescaled chains that would have passed
 * as far as their steps ran for others.  Returns the streams. */
uint64_t chains_conclude(const struct plan *p, const struct roi_step *steps, uint64_t done,
                         void *state);
#endif
