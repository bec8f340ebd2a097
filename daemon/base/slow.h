/* SPDX-License-Identifier: Apache-2.0 */
/* slow.h - the slowest RoI of each of the last seconds, and where its time went: written by a
 * shard, read by the operator's commands. */
#ifndef TRIGD_SLOW_H
#define TRIGD_SLOW_H
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#define SLOW_ROIS  64u /* seconds that had an RoI */
#define SLOW_SPANS 16u /* batches of one RoI; later ones are left out and counted */
#define SLOW_NAME  64u

struct slow_span { /* a batch that the RoI was in; times of clock_ns() */
    char lane[SLOW_NAME];
    uint32_t rois; /* of the batch */
    int error;     /* negative errno: it failed, and the RoI went on in another */
    uint64_t closed_ns, begun_ns, ended_ns, taken_ns;
};

struct slow_roi {
    uint32_t run, lumi_block, l1id, roi_id;
    char client[SLOW_NAME];
    uint8_t status; /* Trigd__V1__Status */
    bool is_accepted;
    uint64_t received_ns, decided_ns;
    uint32_t n_spans, n_left_out;
    struct slow_span span[SLOW_SPANS];
};

struct slow {
    pthread_mutex_t lock;
    struct slow_roi roi[SLOW_ROIS]; /* number n at n % SLOW_ROIS */
    uint32_t n;                     /* since the start */
};
#endif
