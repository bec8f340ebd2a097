/* SPDX-License-Identifier: Apache-2.0 */
/* events.h - hits of RoIs with their truth, from the generator or from RoI files. */
#ifndef HOUGH_EVENTS_H
#define HOUGH_EVENTS_H
#include <stdint.h>

#include "trigd/event.h"
#include "vary.h"

#define EVENT_NOISE 0xffffffffu

struct event {
    struct trg_roi_info info;
    uint32_t n; /* hits */
    float *x, *y, *z;
    uint16_t *layer;
    uint32_t *id;
    uint32_t *particle; /* of each hit, or EVENT_NOISE */
    /* Further particles of hit i: shared[shared_begin[i]] up to shared_begin[i + 1]. */
    uint32_t *shared_begin, *shared;
    uint32_t n_particles;
    uint32_t *flags; /* bits 1, 2, 4: from a b, c, s hadron; 8: long */
    int32_t *pdg;    /* 0: not known */
    float *eta, *pt; /* pt in GeV */
};

/* An event with room for hits, particles and further particles of hits, all zero; -ENOMEM. */
int event_new(uint32_t n, uint32_t n_particles, uint32_t n_shared, struct event *ret_event);
void event_free(struct event *e);

/* Two hits of an event without shared ones change places, with what is known of them. */
void event_swap(struct event *e, uint32_t a, uint32_t b);

/* RoI number i of a preset of the generator; -ENOMEM. */
int event_generate(const char *preset, uint64_t seed, uint64_t i, struct event *ret_event);
/* The same in a detector that differs. */
int event_generate_varied(const char *preset, const struct vary *vary, uint64_t seed, uint64_t i,
                          struct event *ret_event);
/* All RoIs with hits of an RoI file, appended to *events.  Negative errno of the system, -EBADMSG
 * for a damaged file. */
int events_read(const char *path, struct event **events, uint32_t *n);
void events_free(struct event *events, uint32_t n);
#endif
