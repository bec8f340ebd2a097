/* SPDX-License-Identifier: Apache-2.0 */
#ifndef VX_BENCH_GRAPH_H
#define VX_BENCH_GRAPH_H
#include "driver.h"

/* Table 11.1 of the thesis after each cut: a, primary tracks identified as primary; b, secondary as
 * primary; c, primary as secondary; d, secondary as secondary.  Ghosts are left out.  The beam line
 * is that of the config. */
int graph_table(const struct vx_config *c, const struct event *e, const struct vx_answer *a,
                uint32_t n);
/* Nodes, with the vertex of the truth and its kind, and edges, with the cut that takes them away,
 * of one event: lines for plot-graph. */
int graph_write(const char *path, const struct vx_config *c, const struct event *e,
                const struct vx_answer *a);
#endif
