/* SPDX-License-Identifier: Apache-2.0 */
/* menu.h - the trigger menu: chains of steps with hypotheses, prescales and streams. */
#ifndef TRIGD_MENU_H
#define TRIGD_MENU_H
#include <stdbool.h>
#include <stdint.h>

#include "conditions/condition_file.h"
#include "menu/combination.h"
#include "plugin/plugin_host.h"
#include "plugin/room.h"
#include "wire.h"

#define MENU_CHAINS_MAX       512
#define MENU_STEPS_MAX        64
#define MENU_STREAMS_MAX      64
#define MENU_GROUP_MAX        8 /* steps that share batches */
#define MENU_CHAIN_STEPS_MAX  8
#define MENU_REGIONS_MAX      16 /* of a chain */
#define MENU_HISTOGRAMS_MAX   1024
#define MENU_BINS_MAX         262144 /* of all histograms together */
#define MENU_MULTIPLICITY_MAX 16     /* RoIs of an event that a chain may ask for */

struct menu_step { /* one plugin, configured; shared by all chains that name it */
    char *name;
    const struct plugin *plugin;      /* owned by the plugin host */
    void *params;                     /* the plugin's config struct, filled and checked */
    struct room room;                 /* of its products, with these parameters */
    int32_t input[TRG_INPUTS_MAX];    /* step whose product is consumed; -1: from the RoI */
    uint32_t product[TRG_INPUTS_MAX]; /* which product of that step */
    uint32_t head;    /* step in whose batches it runs: its own number, but with on_device */
    uint64_t members; /* of a head: bit s for each step s of its batches, itself included */
    uint64_t wanted;  /* bit k: product k is read by a step with batches of its own, or kept */
};

struct menu_cut {   /* a hypothesis: value of a step within [min, max] */
    uint32_t value; /* index into the plugin's values table */
    bool absolute;  /* cut on |value| */
    float min, max; /* -inf and inf where not given */
};

enum menu_priority { /* of a chain; where lanes are short its RoIs go first in their batches */
                     MENU_HIGH,
                     MENU_NORMAL,
                     MENU_LOW,
                     MENU_PRIORITIES
};

enum menu_decision {                /* when the decision on an RoI goes out */
                     MENU_COMPLETE, /* all chains have ended */
                     MENU_STREAMS,  /* a chain accepts, and no other can add a stream */
                     MENU_ACCEPT    /* a chain accepts */
};

enum menu_of { /* what `expected` of a chain bounds */
               MENU_OF_NOTHING,
               MENU_OF_SECOND, /* RoIs accepted a second */
               MENU_OF_RUN     /* the accepted part of the RoIs that it ran on */
};

struct menu_region {           /* of the directions of RoIs: from min on, up to but without max */
    double eta_min, eta_max;   /* -inf and inf where not given */
    double phi_min, phi_width; /* rad; the width is inf where not given */
};

struct menu_expected {
    enum menu_of of;
    double min, max; /* 0 and inf where not given */
};

struct menu_chain {
    char *name;
    uint32_t id;                /* stable number, in the prescale hash and never reused */
    uint32_t l1_mask;           /* seeds: any of these bits; 0 = every RoI */
    uint64_t types;             /* 1 << type: RoIs that it looks at; 0 = all */
    uint32_t n_regions;         /* 0: everywhere */
    struct menu_region *region; /* RoIs in any of them */
    uint32_t n_steps;
    struct {
        uint32_t step;
        uint32_t n_cuts;
        struct menu_cut *cuts;     /* all must hold, else the chain ends here */
    } steps[MENU_CHAIN_STEPS_MAX]; /* in order of running */
    double prescale;               /* accept 1 in this many; 0 = off; >= 1 */
    bool pass_through;             /* run, but accept whatever the hypotheses say */
    bool cuts_truncated;           /* cuts decide on what a limit cut short, too; else it passes */
    uint32_t multiplicity;         /* RoIs of an event that have to pass */
    struct combination *combination; /* of chains above; NULL: it has steps of its own */
    bool skips; /* goes on without a step that no lane serves; else its RoI fails */
    enum menu_priority priority;
    struct menu_expected expected;
    uint64_t streams; /* bit s: output stream s */
};

struct menu_axis { /* of a histogram */
    uint32_t at;   /* number of the value, or of the column */
    uint32_t bins;
    double min, max; /* min <= x < max is in a bin */
};

struct menu_histogram { /* of values of a step, or of columns of what it makes */
    char *name;
    uint32_t step;
    int32_t product;       /* of the step; -1: values */
    struct menu_axis x, y; /* y without bins: there is none */
    int32_t chain;         /* only RoIs that it accepts; -1: all */
    uint32_t n_cuts;
    struct menu_cut *cuts; /* on values of the step: all must hold */
    char *what;            /* members of its JSON object that say all of that */
    uint64_t key;          /* of name and `what`: equal keys can be added */
};

struct plan;

struct menu {
    char *name;
    uint64_t hash; /* of the file's bytes */
    char *text;    /* those */
    uint32_t n_steps, n_chains, n_streams;
    struct menu_step steps[MENU_STEPS_MAX];
    struct menu_chain chains[MENU_CHAINS_MAX];
    struct {
        char *name;
        bool is_debug;
        bool has_payload, has_results; /* in its files */
        uint64_t products;             /* bit s: with what step s makes */
        uint32_t files;                /* 1 + its place in the configuration's `streams`; 0: none */
    } streams[MENU_STREAMS_MAX];       /* "debug" always exists */
    uint32_t debug_stream;             /* its number */
    uint64_t filed;                    /* bit s: stream s has files */
    char *types[ROI_TYPES];            /* names of RoI types; NULL: none */
    enum menu_decision decision;
    uint32_t n_histograms;
    struct menu_histogram *histogram;
    uint32_t n_conditions; /* that plugins of its steps need */
    struct condition_need condition[CONDITIONS_MAX];
    struct condition *base[CONDITIONS_MAX]; /* of the configuration's file; NULL: it has none */
    struct plan *plan;                      /* for the way of an RoI */
};

/* Reads and checks a menu, and loads (through the host) the plugins that it names.  Checks what can
 * be known without a device: unknown keys, plugins, parameters, values, streams, steps that no
 * chain uses, consumed collections that no earlier step makes and RoIs cannot hold, chain ids
 * used twice.  0, or -EINVAL with every problem logged as file, line, what is allowed. */
int menu_load(const char *path, struct plugin_host *host, struct menu **ret_menu);
void menu_free(struct menu *m); /* NULL is fine */

/* The counts of a histogram: of bins, with a second axis also of what is beside them in rows of
 * x.bins + 2, y.bins + 2 of them. */
static inline uint64_t menu_cells(const struct menu_axis *x, const struct menu_axis *y)
{
    return y->bins ? (x->bins + 2ull) * (y->bins + 2ull) : x->bins;
}
/* Whether an RoI of that direction is in a region; phi of -3.1416 to 3.1416. */
bool menu_region_has(const struct menu_region *r, float eta, float phi_rad);
/* The kinds (1 << kind each) that its steps read from RoIs. */
uint32_t menu_reads(const struct menu *m);
#endif
