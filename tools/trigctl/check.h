/* SPDX-License-Identifier: Apache-2.0 */
/* check.h - whether a plugin keeps the contract of trigd/plugin.h, on every device of this machine.
 */
#ifndef TRIGCTL_CHECK_H
#define TRIGCTL_CHECK_H
#include <stdbool.h>
#include <stdint.h>

#define CHECK_LIST_MAX 64

struct check_options {
    const char *file;
    const char *backend[CHECK_LIST_MAX]; /* n_backends 0: all that the plugin names */
    uint32_t n_backends;
    const char *param[CHECK_LIST_MAX]; /* "key=value" */
    uint32_t n_params;
    const char *preset;            /* NULL: none */
    const char *conditions;        /* file of conditions; NULL: none are given */
    const char *rois_file;         /* RoIs to check with; NULL: random ones */
    const char *folder;            /* of the backends; NULL: where they are built or installed */
    double tolerance;              /* between backends */
    bool worst;                    /* look for slow RoIs instead: */
    uint32_t worst_items, worst_s; /* of this many items; this long on each device */
    uint64_t seed;
    bool has_seed, verbose;
    bool races;    /* also look for data races: races.h */
    bool race_run; /* inside of oclgrind: a few RoIs on its device, and nothing else */
};

/* Prints one line for each check; 0 when all passed, 1 when one failed, 2 for wrong options. */
int check_plugin(const struct check_options *o);
#endif
