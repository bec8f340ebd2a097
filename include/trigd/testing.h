/* SPDX-License-Identifier: Apache-2.0 */
/* trigd/testing.h - runs a plugin on the devices of this machine without a daemon, as a lane does:
 * for the tests of plugins.  Link trigd::testing, or declare the test with trg_add_plugin_test.
 *
 *     static int is_right(const struct trg_testing_roi *rois, uint32_t n)
 *     {
 *         ... compares each result with an independent one ...
 *     }
 *
 *     int main(int argc, char **argv)
 *     {
 *         return trg_testing_main(argc, argv, NULL, is_right);
 *     }
 *
 * Threads: a struct trg_testing belongs to one thread.
 * Errors:  0 or a negative errno; the cause has been printed to stderr.
 */
#ifndef TRG_TESTING_H
#define TRG_TESTING_H
#include "trigd/plugin.h"

#ifdef __cplusplus
extern "C" {
#endif

#define TRG_TESTING_ABI    1u /* of the library's name; grows when a meaning or a layout changes */
#define TRG_TESTING_EXPORT __attribute__((visibility("default"))) extern

struct trg_testing;

struct trg_testing_items { /* a collection of one RoI */
    uint32_t n;
    const void *column[TRG_COLUMNS_MAX]; /* of its declaration, [n] items each */
};

struct trg_testing_roi {
    struct trg_roi_info info;
    struct trg_testing_items in[TRG_INPUTS_MAX];   /* in the order of `consumes` */
    struct trg_testing_items out[TRG_OUTPUTS_MAX]; /* of trg_testing_run, until the next one */
    struct trg_result result;                      /* of trg_testing_run */
};

/* Loads a plugin from its file, and the backends of the trigd that this library belongs to. */
TRG_TESTING_EXPORT int trg_testing_open(const char *file, struct trg_testing **ret_testing);
TRG_TESTING_EXPORT void trg_testing_close(struct trg_testing *t); /* NULL is allowed */

TRG_TESTING_EXPORT const struct trg_plugin *trg_testing_plugin(const struct trg_testing *t);

/* Devices of the backends that the plugin names, with their names: "opencl:0". */
TRG_TESTING_EXPORT uint32_t trg_testing_devices(const struct trg_testing *t);
TRG_TESTING_EXPORT const char *trg_testing_device(const struct trg_testing *t, uint32_t device);

/* Random RoIs with values that the declarations of the inputs allow, with the edge cases
 * first: no item, one item, items of one layer, identical items, `most` items.  The seed is fresh,
 * or the one in TRIGD_SEED, and printed.  They live until the next call or trg_testing_close. */
TRG_TESTING_EXPORT int trg_testing_random(struct trg_testing *t, uint32_t n, uint32_t most,
                                          struct trg_testing_roi **ret_rois, uint32_t *ret_n);

/* RoIs of a file that hold the plugin's inputs as Columns: of `trigctl make-rois`, for example.
 * They live until the next call or trg_testing_close. */
TRG_TESTING_EXPORT int trg_testing_read(struct trg_testing *t, const char *path,
                                        struct trg_testing_roi **ret_rois, uint32_t *ret_n);

/* Reads a file of conditions (docs/conditions.md) for the runs that follow; NULL: none are given.
 */
TRG_TESTING_EXPORT int trg_testing_conditions(struct trg_testing *t, const char *path);

/* Runs RoIs through the plugin on a device, in batches of up to 40 with two in flight, and fills
 * `result` and `out`.  `settings` are "parameter", "value", ..., NULL, or NULL; "preset" is one,
 * too. */
TRG_TESTING_EXPORT int trg_testing_run(struct trg_testing *t, uint32_t device,
                                       const char *const *settings, struct trg_testing_roi *rois,
                                       uint32_t n);

/* 1: the answers of a device are right; 0: they are not, and a line on stdout says how. */
typedef int trg_testing_check(const struct trg_testing_roi *rois, uint32_t n);
/* Runs the RoIs on each device and has the answers checked.  -EBADMSG: they are wrong on one. */
TRG_TESTING_EXPORT int trg_testing_each(struct trg_testing *t, const char *const *settings,
                                        struct trg_testing_roi *rois, uint32_t n,
                                        trg_testing_check *is_right);
/* A whole test of the plugin in the file argv[1]: 200 random RoIs of up to 500 items on each
 * device.  The exit code of main. */
TRG_TESTING_EXPORT int trg_testing_main(int argc, char **argv, const char *const *settings,
                                        trg_testing_check *is_right);

#ifdef __cplusplus
}
#endif
#endif
