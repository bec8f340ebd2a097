/* SPDX-License-Identifier: Apache-2.0 */
/* check_inner.h - what the parts of the conformance tester share. */
#ifndef TRIGCTL_CHECK_INNER_H
#define TRIGCTL_CHECK_INNER_H
#include "check.h"
#include "rig.h"

#define CHECK_ROIS_MAX  32u   /* in one batch */
#define CHECK_ITEMS_ROI 1024u /* the largest RoI */
#define CHECK_ITEMS     4096u /* of one input in one batch */
#define CHECK_RANDOM    48u   /* ordinary RoIs of the sample */

struct check {
    const struct check_options *o;
    const struct plugin *plugin;
    void *config;
    struct trg_host host;
    struct condition_list conditions;
    const struct sample *sample;
    struct trg_device *device;
    char where[32]; /* "cpu:0" */
    uint32_t n_checks, n_failed, n_skipped, n_devices;
    bool is_too_large; /* the last configuration needs more memory than the device gives */
};

/* Keeps the last error that was logged for the next line; `ctx` is the options. */
void check_log(void *ctx, enum trg_level level, const char *text);
/* Prints the line of one check; `format` says why it failed. */
void check_line(struct check *c, bool good, const char *what, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
struct rig_setup check_setup(const struct check *c, const void *config, uint32_t slots);

/* Runs the edge cases and some ordinary RoIs with a configuration; false with `why`. */
bool check_config(struct check *c, const void *config, char *why, size_t bytes);
/* Life-cycle, failing allocations, parameters at their limits; watches the device. */
void check_life(struct check *c);
/* Answers: edge cases, repeatability, independence of batch, order and slot.  Outcomes of all RoIs
 * of the sample for comparing devices, in the sample's order, or NULL; free with check_free. */
struct outcome *check_runs(struct check *c);
/* The slowest RoI that a search finds, against the cost that the plugin states. */
void check_worst(struct check *c);
/* Of a guest, instead of the three above. */
void check_guest(struct check *c);
void check_free(struct outcome *outcomes, uint32_t n);

/* The sample from the file of the options.  Negative errno, with `why` where the file is at fault.
 */
int check_file_sample(const struct check *c, struct sample **ret_sample, char *why, size_t bytes);
/* What the case is called that stands at this place of the sample. */
const char *check_case_name(const struct check *c, uint32_t i);

/* A sequence of RoIs of the sample that runs through an algo batch by batch. */
struct run {
    const uint32_t *order;
    uint32_t n;
    uint32_t max_rois;     /* in one batch */
    uint32_t in_flight;    /* batches */
    uint64_t *random;      /* batch sizes 1 .. max_rois at random; NULL: as many as fit */
    unsigned char garbage; /* see outcome_init */
    uint64_t *least_ns; /* [n], with one batch in flight: at the number of a batch's first RoI the
                         * least time that it has taken so far; NULL: not asked */
};
/* Outcome i is that of order[i].  NULL, with `why`, when the plugin failed. */
struct outcome *check_run(struct check *c, struct rig *rig, const struct run *run, char *why,
                          size_t bytes);
#endif
