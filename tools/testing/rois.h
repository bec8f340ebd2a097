/* SPDX-License-Identifier: Apache-2.0 */
/* rois.h - the RoIs of a file as inputs of a plugin. */
#ifndef TRIGD_TESTING_ROIS_H
#define TRIGD_TESTING_ROIS_H
#include "plugin/plugin_host.h"
#include "recode.h"
#include "trigd/testing.h"

struct testing_rois {
    struct trg_testing_roi *rois; /* [n]; columns point into the messages, or `plain` */
    uint32_t n, room;
    void **message; /* [n_messages], unpacked batches */
    uint32_t n_messages;
    struct recode **plain; /* [n_plain], what encoded columns were made to */
    uint32_t n_plain;
};

/* Prints what went wrong; 0 or a negative errno. */
int testing_rois_read(struct testing_rois *all, const struct plugin *p, const char *path);
void testing_rois_fini(struct testing_rois *all);
#endif
