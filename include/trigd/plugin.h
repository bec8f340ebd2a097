/* SPDX-License-Identifier: Apache-2.0 */
/* trigd/plugin.h - the contract between an algorithm plugin and the daemon.
 *
 * A plugin exports one const `struct trg_plugin` under the name trg_plugin and nothing else.
 *
 * Order:   check; create; for each batch submit, (the daemon waits for the queue), collect;
 *          destroy.  Up to `slots` batches are in flight at a time, each in its own slot; they
 *          are collected in the order in which they were submitted.
 * Threads: one algo is called from one thread at a time; different algos run concurrently.
 *          No mutable globals.
 * Memory:  the data of a batch belongs to the daemon and is valid from submit until
 *          collect returns.  A plugin allocates device and pinned memory in create, sized
 *          by the limits it is given, a set for each slot, and never in submit or collect.
 * Errors:  0 or a negative errno.  The function that detects an error logs its cause.  A failed
 *          submit or collect fails the whole batch and leaves the algo usable; -ENODEV closes
 *          the lane, and all lanes of its device when the queue fails as well.
 */
#ifndef TRG_PLUGIN_H
#define TRG_PLUGIN_H
#include <stddef.h>
#include <stdint.h>

#include "trigd/device.h"
#include "trigd/event.h"

#ifdef __cplusplus
extern "C" {
#endif

#define TRG_PLUGIN_ABI    2u /* grows when a meaning or a layout changes, not on append */
#define TRG_PLUGIN_SYMBOL "trg_plugin"

#define TRG_INPUTS_MAX     4  /* collections that one plugin consumes */
#define TRG_OUTPUTS_MAX    2  /* collections that one plugin produces */
#define TRG_VALUES_MAX     16 /* named numbers that one plugin reports for an RoI */
#define TRG_SLOTS_MAX      8  /* batches that one algo may have in flight */
#define TRG_CONDITIONS_MAX 4  /* conditions that one plugin needs */

struct trg_algo; /* the plugin's own state for one lane; defined by the plugin */

/* ---- parameters: one table for config checking, `trigctl show plugin` and the docs ---- */

enum trg_param_type {
    TRG_PARAM_BOOL,  /* uint32_t, 0 or 1 */
    TRG_PARAM_U32,   /* uint32_t */
    TRG_PARAM_F32,   /* float */
    TRG_PARAM_CHOICE /* uint32_t, index into the words of `choices` */
};

struct trg_param { /* one configuration key; the table ends with a NULL name */
    const char *name;
    enum trg_param_type type;
    size_t offset;       /* into the plugin's config struct; all members are 4 bytes */
    const char *dflt;    /* the default, written as a user would write it */
    double min, max;     /* U32 and F32: allowed range, both ends included */
    const char *unit;    /* "mm", "rad", ... or "" */
    const char *choices; /* CHOICE: the allowed words, "pure|atlas"; else NULL */
    const char *help;    /* one line */
};

/* A named set of defaults, chosen in config by the key `preset`; applied before the keys that
 * the config gives itself.  The table ends with a NULL name. */
struct trg_preset {
    const char *name;
    const char *help;
    const char *const *settings; /* "key", "value", "key", "value", ..., NULL */
};

/* One number that the plugin reports for each RoI; hypotheses cut on it by name. */
struct trg_value { /* the table ends with a NULL name */
    const char *name;
    const char *unit;
    const char *help;
};

/* ---- one batch ---- */

/* Where the items of a batch's collection lie: byte offsets from the start of its buffer (or
 * host copy).  Items of RoI r are offsets[r] <= i < offsets[r + 1], in every column.  Plain
 * 4-byte members: passed by value to kernels (kernel.h repeats it for the device). */
struct trg_span {
    uint32_t n_rois;
    uint32_t n_items; /* offsets[n_rois]; where `host` is NULL, not less than that */
    uint32_t rois;    /* struct trg_roi_info[n_rois] */
    uint32_t offsets; /* uint32_t[n_rois + 1] */
    uint32_t column[TRG_COLUMNS_MAX];
};

struct trg_input { /* one consumed collection of all RoIs of a batch */
    const struct trg_collection *collection;
    struct trg_span span;
    const unsigned char *host; /* pinned copy, laid out as `span` says; NULL: on the device only;
                                * without values in its columns: TRG_PLUGIN_DEVICE_COLUMNS */
    struct trg_buffer *dev;    /* its copy on the device, already enqueued on the queue */
};

/* An input has no host copy when an earlier step of the same batch made it and it stays on the
 * device: see device_output and TRG_PLUGIN_DEVICE_INPUT. */

enum trg_status { /* of one RoI, from the plugin's side */
                  TRG_OK = 0,
                  TRG_TRUNCATED =
                      1, /* a configured limit stopped the algorithm: see wanted and kept */
                  TRG_FAILED =
                      2 /* this RoI could not be processed; the others of the batch could */
};

struct trg_result {              /* of one RoI; zeroed by the daemon before collect */
    uint32_t status;             /* enum trg_status */
    uint32_t wanted;             /* TRUNCATED: items present */
    uint32_t kept;               /* TRUNCATED: items used, in the order that the README states */
    float value[TRG_VALUES_MAX]; /* in the order of the plugin's `values` table */
};

struct trg_output {    /* where collect writes the produced collection of one RoI */
    uint32_t capacity; /* room in items, as `room` says for this RoI; 0, without columns, where no
                        * step on the host reads the product */
    uint32_t n;        /* set by collect */
    void *column[TRG_COLUMNS_MAX];
};

struct trg_batch {
    uint32_t slot;   /* 0 .. limits.slots - 1 */
    uint32_t n_rois; /* 1 .. limits.max_rois */
    const struct trg_roi_info *rois;
    struct trg_input in[TRG_INPUTS_MAX];         /* in the order of `consumes` */
    struct trg_result *results;                  /* [n_rois]; collect fills them */
    struct trg_output *outputs[TRG_OUTPUTS_MAX]; /* [n_rois] in the order of `produces` */

    /* In force for all RoIs of the batch, in the order of `conditions`: the rows are items of the
     * one RoI of a span.  collection NULL: not given.  Equal keys, equal rows; 0: not given. */
    struct trg_input condition[TRG_CONDITIONS_MAX];
    uint64_t condition_key[TRG_CONDITIONS_MAX];
};

/* Upper bounds on every batch of this algo. */
struct trg_limits {
    uint32_t size;          /* sizeof(struct trg_limits) of the daemon */
    uint32_t slots;         /* batches in flight, 1 .. TRG_SLOTS_MAX */
    uint32_t max_rois;      /* RoIs in one batch */
    uint32_t max_items;     /* items of one input, over the whole batch */
    uint32_t max_items_roi; /* items of one input in one RoI */
};

/* ---- room for products: data, so that the daemon runs no plugin code for an RoI ---- */

/* number + the value of a parameter - that of another, at least 0. */
struct trg_amount {
    uint32_t number;
    const char *plus, *minus; /* names of U32 parameters; NULL: none */
};

/* The most items of a product in one RoI: the least of `cap` and, for each input k with n_in items,
 * constant + factor * n_in / divisor (rounded down).  Rows of one product are added.  Ignored are
 * a cap of {0}, and an input with factor and constant {0}, with a `when` of 0, or with a divisor
 * that comes to 0; a divisor of {0} is 1.  Each row has a cap, or an input without `when` and
 * with a plain divisor.  The table ends with a NULL product; a product without rows has the room of
 * its declaration. */
struct trg_room {
    const char *product; /* name of the collection */
    struct trg_amount cap;
    struct {
        struct trg_amount factor, divisor, constant;
        const char *when; /* a BOOL or CHOICE parameter; NULL: always */
    } in[TRG_INPUTS_MAX]; /* in the order of `consumes` */
};

/* The longest that a batch may take on one core or a whole GPU; all 0: not stated.
 * `trigctl check-plugin` measures it. */
struct trg_cost {
    uint32_t batch_us, roi_us, item_ns; /* a batch; and each RoI; and each item of its inputs */
};

/* Keyed data with an interval of validity that the plugin needs: beam line, dead channels, a model.
 * A table, declared as a collection is (with `room` rows at most; no f16).  The table of conditions
 * ends with a NULL name. */
struct trg_condition {
    const char *name; /* as files spell it */
    const char *help; /* one line */
    const struct trg_collection *table;
    uint32_t flags; /* of enum trg_condition_flag */
};

enum trg_condition_flag {
    TRG_CONDITION_OPTIONAL = 1 /* the plugin does without; else menus with it need a file */
};

/* ---- guests: slices of work on devices that no batch needs, instead of RoIs ---- */

/* A guest has TRG_PLUGIN_GUEST, a table `guest`, and none of the functions for batches.
 *
 * Order:   open; for each slice submit, (the daemon waits for the queue), collect; between slices
 *          save; close.  One slice is in flight at a time.
 * Threads: one thread, which runs only on cores that are otherwise idle (CPU).
 * Memory:  device and pinned memory comes from `device` in open and counts against the budget
 *          until close; allocations beyond it fail with -ENOMEM.
 * Errors:  as above; a function that fails disables the guest until the operator starts it.
 */
struct trg_guest_setup {
    uint32_t size;      /* sizeof(struct trg_guest_setup) of the daemon */
    const char *folder; /* of this guest alone, for input, results and checkpoints */
    uint64_t memory_bytes;
};

enum trg_guest_state { TRG_GUEST_MORE = 0, TRG_GUEST_DONE = 1 }; /* answers of open and collect */

struct trg_guest {
    uint32_t size; /* sizeof(struct trg_guest): set by the plugin */

    /* Begins, or goes on where the checkpoint in the folder left off.  May wait for the queue,
     * which outlives the algo.  Logs the cause of a failure. */
    int (*open)(const struct trg_host *host, const void *config, struct trg_device *device,
                struct trg_queue *queue, const struct trg_guest_setup *setup,
                struct trg_algo **ret_algo);
    /* Enqueues work that takes about `us` microseconds, by what earlier slices took, and returns
     * without waiting.  On a GPU no group of a kernel runs longer than 10 us, so that kernels of
     * batches find room. */
    int (*submit)(struct trg_algo *algo, struct trg_queue *queue, double us);
    /* After the queue has passed the slice, which took `us`: on a CPU of the core's time. */
    int (*collect)(struct trg_algo *algo, double us);
    /* Writes a checkpoint, complete or not at all.  May wait for the queue. */
    int (*save)(struct trg_algo *algo, struct trg_queue *queue);
    /* Where it is, in one line without its end. */
    void (*progress)(const struct trg_algo *algo, char *text, size_t bytes);
    void (*close)(struct trg_algo *algo); /* NULL is allowed */
};

/* ---- the descriptor ---- */

/* Fill with TRG_PLUGIN_INIT first, then by name.  Append only: the daemon copies `size` bytes
 * into a zeroed struct, so a member that an older plugin predates is NULL. */
struct trg_plugin {
    uint32_t abi;
    uint32_t size;
    const char *name;
    const char *version;  /* "1.0.0" */
    const char *summary;  /* one line */
    const char *backends; /* where it runs: "cpu opencl cuda" or part of it */

    /* Declarations, from headers that were made for them; unused places are NULL. */
    const struct trg_collection *consumes[TRG_INPUTS_MAX];
    const struct trg_collection *produces[TRG_OUTPUTS_MAX];
    const struct trg_room *room; /* of the products; NULL: as declared */

    const struct trg_param *params;   /* NULL: none */
    const struct trg_preset *presets; /* NULL: none */
    const struct trg_value *values;   /* NULL: none */
    size_t config_size;               /* bytes of the config struct; 0 with no params */

    const struct trg_condition *conditions; /* NULL: none */
    struct trg_cost cost;
    uint32_t flags; /* of enum trg_plugin_flag */

    /* Optional: checks parameters against each other, each of which is in its range.  On
     * -EINVAL writes one sentence for the user into `why`. */
    int (*check)(const void *config, char *why, size_t why_bytes);

    /* Allocates everything the algo needs.  The daemon has checked `config`, which outlives the
     * algo, as host and device do.  On failure everything is undone. */
    int (*create)(const struct trg_host *host, const void *config, struct trg_device *device,
                  const struct trg_limits *limits, struct trg_algo **ret_algo);
    void (*destroy)(struct trg_algo *algo); /* NULL is allowed; no batch is in flight */

    /* Enqueues kernels and the copies of their output on `queue`, and returns without waiting.
     * The copy of the input is already enqueued. */
    int (*submit)(struct trg_algo *algo, const struct trg_batch *batch, struct trg_queue *queue);

    /* Turns the output of a finished batch into results. */
    int (*collect)(struct trg_algo *algo, struct trg_batch *batch);

    /* Optional: the place of product k of the batch in `slot` on the device, for a later step on
     * the same queue.  A block laid out as a staged input (struct trg_roi_info, offsets, columns)
     * with the columns at fixed places: the span is the same for every batch, except n_rois,
     * which the caller sets.  host is NULL, n_items the upper bound.  Called once for each slot,
     * after create. */
    int (*device_output)(struct trg_algo *algo, uint32_t slot, uint32_t k, struct trg_input *ret);

    const struct trg_guest *guest; /* of a guest */
};

enum trg_plugin_flag {
    TRG_PLUGIN_DEVICE_INPUT = 1, /* submit accepts inputs without a host copy: counts come from
                                  * the offsets on the device, n_items is an upper bound */
    TRG_PLUGIN_GUEST = 2,        /* gets slices of work instead of RoIs: `guest` */
    TRG_PLUGIN_DEVICE_COLUMNS =
        4 /* on a GPU, submit and collect read RoIs and offsets of a host copy and none of its
           * columns: the device may read these itself where they are */
};
#define TRG_PLUGIN_INIT   .abi = TRG_PLUGIN_ABI, .size = sizeof(struct trg_plugin)
#define TRG_PLUGIN_EXPORT __attribute__((visibility("default"))) extern

/* Logs one line through the host, without formatting. */
static inline void trg_log(const struct trg_host *host, enum trg_level level, const char *text)
{
    host->log(host->ctx, level, text);
}

#ifdef __cplusplus
}
#endif
#endif
