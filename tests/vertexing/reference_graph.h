/* SPDX-License-Identifier: Apache-2.0 */
/* reference_graph.h - the graph of an event and its cuts again, in double precision and one pair at
 * a time: for tests, for table 11.1 of the thesis, and for drawings. */
#ifndef VX_REFERENCE_GRAPH_H
#define VX_REFERENCE_GRAPH_H
#include <stdbool.h>

#include "driver.h"
#include "reference.h"
#include "vertexing.h"

enum ref_cut { REF_LEFT, REF_ORIGIN, REF_RADIAL, REF_CYLINDER, REF_ANGLE, REF_CUTS };

struct ref_edge {
    uint32_t a, b; /* places in `track` */
    enum ref_cut cut;
    double feature[VX_PAIR_FEATURES]; /* of those that are left */
};

struct ref_graph {
    uint32_t n, n_edges, room;
    uint32_t *track; /* of the event, in its order */
    struct ref_line *line;
    uint32_t *pv;     /* that it misses least, of the answer */
    bool *has_origin; /* it misses that by less than origin_sigmas */
    struct ref_edge *edge;
};

/* The graph of an event whose primary vertices are those of the answer; the beam line is that of
 * the config.  -ENOMEM. */
int ref_graph_make(const struct vx_config *c, const struct event *e, const struct vx_answer *a,
                   struct ref_graph *ret);
void ref_graph_free(struct ref_graph *g);
/* Whether a track still has an edge after `cuts` of the cuts, 0 to 4. */
bool ref_graph_has_edge(const struct ref_graph *g, uint32_t k, enum ref_cut cuts);
#endif
