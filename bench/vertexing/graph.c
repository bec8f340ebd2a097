/* SPDX-License-Identifier: Apache-2.0 */
/* Table 11.1 of the thesis over tracks, and graphs of events for drawings. */
#include "graph.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "reference_graph.h"
#include "results.h"

static const char *const after[REF_CUTS + 1] = {"in the graph",           "adjacent to another",
                                                "after the origin cut",   "after the radial cut",
                                                "after the cylinder cut", "after the angle cut"};

struct table { /* tracks: primary or secondary, identified as which */
    uint32_t p_as_p, s_as_p, p_as_s, s_as_s;
};

static void add_event(const struct event *e, const struct ref_graph *g, uint32_t step,
                      struct table *t)
{
    uint32_t next = 0;

    for (uint32_t i = 0; i < e->n; i++) {
        bool is_in = next < g->n && g->track[next] == i, is_s;

        if (is_in && step > 0)
            is_in = ref_graph_has_edge(g, next, (enum ref_cut)(step - 1));
        next += next < g->n && g->track[next] == i;
        if (e->vertex[i] == EVENT_NOBODY)
            continue; /* a ghost */
        is_s = e->vertices[e->vertex[i]].kind != EVENT_PRIMARY;
        *(is_s ? is_in ? &t->s_as_s : &t->s_as_p : is_in ? &t->p_as_s : &t->p_as_p) += 1;
    }
}

int graph_table(const struct vx_config *c, const struct event *e, const struct vx_answer *a,
                uint32_t n)
{
    struct table t[REF_CUTS + 1] = {{0}};

    for (uint32_t i = 0; i < n; i++) {
        struct ref_graph g;
        int r = ref_graph_make(c, &e[i], &a[i], &g);

        if (r < 0)
            return r;
        for (uint32_t step = 0; step <= REF_CUTS; step++)
            add_event(&e[i], &g, step, &t[step]);
        ref_graph_free(&g);
    }
    for (uint32_t step = 0; step <= REF_CUTS; step++) {
        const struct {
            const char *what;
            uint32_t count;
        } cell[] = {{"a: primary as primary", t[step].p_as_p},
                    {"b: secondary as primary", t[step].s_as_p},
                    {"c: primary as secondary", t[step].p_as_s},
                    {"d: secondary as secondary", t[step].s_as_s}};

        for (uint32_t k = 0; k < 4; k++) {
            char what[96];

            snprintf(what, sizeof what, "tracks %s, %s", after[step], cell[k].what);
            result_number(what, cell[k].count, "tracks", n);
        }
    }
    return 0;
}

int graph_write(const char *path, const struct vx_config *c, const struct event *e,
                const struct vx_answer *a)
{
    FILE *f = fopen(path, "w");
    struct ref_graph g;
    int r = f ? ref_graph_make(c, e, a, &g) : -errno;

    if (!f)
        return r;
    for (uint32_t k = 0; r == 0 && k < g.n; k++) {
        const uint32_t of = e->vertex[g.track[k]];

        fprintf(f, "node,%u,%d,%u\n", k, of == EVENT_NOBODY ? -1 : (int)of,
                of == EVENT_NOBODY ? EVENT_OTHER : e->vertices[of].kind);
    }
    for (uint32_t k = 0; r == 0 && k < g.n_edges; k++)
        fprintf(f, "edge,%u,%u,%u\n", g.edge[k].a, g.edge[k].b, (unsigned)g.edge[k].cut);
    if (r == 0)
        ref_graph_free(&g);
    return fclose(f) ? -errno : r;
}
