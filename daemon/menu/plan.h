/* SPDX-License-Identifier: Apache-2.0 */
/* plan.h - a menu prepared for many RoIs a second: sets of chains as bits, and the chains' steps
 * and cuts side by side.
 *
 * Made once, from a complete menu.
 */
#ifndef TRIGD_PLAN_H
#define TRIGD_PLAN_H
#include "menu/menu.h"

#define PLAN_WORDS (MENU_CHAINS_MAX / 64)

struct plan_bits { /* a set of chains */
    uint64_t w[PLAN_WORDS];
};

#define PLAN_CUTS 4u /* that are looked at together */
#define PLAN_LEGS 32 /* of a step, in a block */
#define PLAN_LINE 64 /* bytes of a line of the cache */

/* Cuts side by side; absent ones hold for any value. */
struct plan_cuts {
    float min[PLAN_CUTS], max[PLAN_CUTS];
    uint32_t mask[PLAN_CUTS]; /* of the value's bits: without the sign where it is absolute */
    uint8_t value[PLAN_CUTS];
};

enum { PLAN_PASSED = MENU_STEPS_MAX }; /* the step that follows a chain's last one */

struct plan_leg { /* one step of a chain */
    _Alignas(PLAN_LINE) struct plan_cuts cuts;
    uint16_t chain;
    uint16_t next; /* the chain's next leg; one of PLAN_PASSED behind the last */
    uint8_t next_step;
    bool cuts_truncated; /* of the chain */
    uint16_t n_more;     /* further PLAN_CUTS of cuts */
    uint32_t more;       /* the first of those in `more` */
};
_Static_assert(sizeof(struct plan_leg) == PLAN_LINE, "a leg is on one line");

struct plan_combination { /* a chain of chains */
    uint32_t chain;
    bool cuts_truncated;
    const struct combination *of; /* the menu's */
    struct plan_bits operands;    /* chains with steps that it depends on */
};

struct plan_region {
    struct menu_region at;
    struct plan_bits chains; /* that look there */
};

struct plan {
    uint32_t n_chains, n_words; /* words in use */
    struct plan_bits always;    /* chains without seeds */
    struct plan_bits seeded_by[32];
    struct plan_bits looks[ROI_TYPES];
    struct plan_bits everywhere; /* chains without regions */
    uint32_t n_regions;          /* different ones */
    struct plan_region *region;
    uint64_t types;                         /* bit t: a chain looks at RoIs of type t */
    uint32_t reads;                         /* 1 << kind: chains need it of the RoI */
    struct plan_bits needs[KINDS_MAX];      /* by kind */
    struct plan_bits users[MENU_STEPS_MAX]; /* chains of which the step is one */
    struct plan_bits pass_through;
    struct plan_bits stepless; /* combinations have none either and are not among them */
    struct plan_bits skips;
    struct plan_bits priority[MENU_PRIORITIES];
    bool is_ranked; /* chains differ in priority */
    struct {
        uint16_t leg;
        uint8_t step;
    } first[MENU_CHAINS_MAX];                 /* of each chain */
    uint32_t first_block[MENU_STEPS_MAX + 2]; /* of each step, and one of PLAN_PASSED */
    struct plan_leg *leg;                     /* by block */
    struct plan_cuts *more;
    uint64_t steps[MENU_CHAINS_MAX]; /* of each chain */
    uint64_t streams[MENU_CHAINS_MAX];

    /* of events */
    bool is_plain; /* no chain is combined or asks for more than one RoI */
    uint8_t multiplicity[MENU_CHAINS_MAX];
    struct plan_bits enough[MENU_MULTIPLICITY_MAX + 1]; /* chains that so many RoIs can satisfy */
    struct plan_bits combined;
    uint32_t n_combinations;
    struct plan_combination *combination; /* each after those that it is made of */

    /* of steps */
    uint64_t makers;                     /* those that make collections */
    uint64_t feeds[MENU_STEPS_MAX];      /* of a head: steps that make what it consumes */
    uint64_t sources[MENU_STEPS_MAX];    /* itself, and all that what it consumes is made from */
    uint64_t dependents[MENU_STEPS_MAX]; /* steps of which it is a source; not itself */
    uint32_t step_reads[MENU_STEPS_MAX]; /* 1 << kind: it and its sources read it of the RoI */
    uint32_t head[MENU_STEPS_MAX];
    uint8_t priorities[MENU_STEPS_MAX]; /* of a head: 1 << priority for each chain that needs it */
};

/* -ENOMEM. */
int plan_new(const struct menu *m, struct plan **ret_plan);
void plan_free(struct plan *p); /* NULL is fine */

/* The heads to run for the results of these steps. */
uint64_t plan_to_feed(const struct plan *p, uint64_t missing, uint64_t done);
/* The head of the group whose batches `step` runs in; while an input of the head is missing, the
 * heads of those that make it instead. */
static inline uint64_t plan_to_run(const struct plan *p, uint32_t step, uint64_t done)
{
    const uint32_t head = p->head[step];
    const uint64_t missing = p->feeds[head] & ~done;

    return missing ? plan_to_feed(p, missing, done) : 1ull << head;
}
/* Those of the steps whose results mean something for an RoI with these kinds. */
uint64_t plan_whole(const struct plan *p, uint64_t steps, uint32_t kinds);

/* The chains that so many RoIs of an event can satisfy. */
static inline const struct plan_bits *plan_enough(const struct plan *p, uint32_t n_rois)
{
    const uint32_t n = n_rois ? n_rois : 1;

    return &p->enough[n < MENU_MULTIPLICITY_MAX ? n : MENU_MULTIPLICITY_MAX];
}
static inline bool plan_has(const uint64_t *bits, uint32_t chain)
{
    return bits[chain / 64] >> (chain % 64) & 1;
}
static inline void plan_add(uint64_t *bits, uint32_t chain)
{
    bits[chain / 64] |= 1ull << (chain % 64);
}
/* How far a step is behind the first ones of the menu, by the highest priority of the chains that
 * need it; 0 is first.  Of the head of a group. */
uint32_t plan_rank(const struct plan *p, uint32_t head);
#endif
