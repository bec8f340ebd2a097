/* SPDX-License-Identifier: Apache-2.0 */
/* held.h - what the files of a server's streams hold. */
#ifndef TRIGD_TEST_HELD_H
#define TRIGD_TEST_HELD_H
#include "harness.h"

#define HELD_ROIS 4096 /* L1 ids are below */

struct held { /* by the files of one stream */
    uint32_t n_files, n_rois, n_twice;
    uint8_t seen[HELD_ROIS]; /* by L1 id */
    Trigd__V1__RoiBatch *first;
};

/* Reads the files in state/streams whose names fit the pattern, complete ones with their index. */
void held_read(const struct server *s, const char *pattern, struct held *ret_held);
/* The same, and gives each RoI to `each`. */
typedef void held_roi(void *ctx, const Trigd__V1__Roi *roi);
void held_each(const struct server *s, const char *pattern, held_roi *each, void *ctx,
               struct held *ret_held);
void held_free(struct held *h);
/* Removes such files; returns how many. */
uint32_t held_remove(const struct server *s, const char *pattern);
#endif
