/* SPDX-License-Identifier: Apache-2.0 */
#include "score.h"

#include <math.h>
#include <stdbool.h>

#include "vertexing.h"

const uint32_t score_bin_low[SCORE_BINS + 1] = {4, 6, 10, 15, 20, 30, 40, 50, 70, 100, UINT32_MAX};

double score_ratio(uint32_t part, uint32_t all, double *ret_error)
{
    double p = all ? (double)part / all : 0;

    if (ret_error)
        *ret_error = all ? sqrt(fmax(p * (1 - p), 1.0 / all) / all) : 0;
    return p;
}

/* The nearest collision that is not taken and goes with vertex i; EVENT_NOBODY: there is none. */
static uint32_t partner(const struct event *e, const struct vx_answer *a, uint32_t i,
                        const bool *taken, double *ret_distance)
{
    double limit = fmax(5 * sqrt((double)vx_floats(a, 6)[i]), 0.5);
    uint32_t best = EVENT_NOBODY;

    for (uint32_t k = 0; k < e->n_vertices; k++) {
        const struct event_vertex *v = &e->vertices[k];
        double d = fabs(v->z - (double)vx_floats(a, 2)[i]);

        if (v->kind == EVENT_PRIMARY && v->n_tracks >= 2 && !taken[k] && d < limit) {
            limit = d;
            best = k;
        }
    }
    *ret_distance = limit;
    return best;
}

/* Pairs vertices and collisions, nearest first. */
static void match(const struct event *e, const struct vx_answer *a, uint32_t *vertex_of,
                  uint32_t *collision_of)
{
    bool taken[EVENT_VERTICES] = {false};

    for (uint32_t k = 0; k < e->n_vertices; k++)
        vertex_of[k] = EVENT_NOBODY;
    for (uint32_t i = 0; i < a->n; i++)
        collision_of[i] = EVENT_NOBODY;
    for (;;) {
        double least = INFINITY, d;
        uint32_t vertex = EVENT_NOBODY, collision = EVENT_NOBODY;

        for (uint32_t i = 0; i < a->n; i++) {
            uint32_t k;

            if (vx_type(a, i) != TRG_PRIMARY || collision_of[i] != EVENT_NOBODY)
                continue;
            k = partner(e, a, i, taken, &d);
            if (k != EVENT_NOBODY && d < least) {
                least = d;
                vertex = i;
                collision = k;
            }
        }
        if (vertex == EVENT_NOBODY)
            return;
        taken[collision] = true;
        vertex_of[collision] = vertex;
        collision_of[vertex] = collision;
    }
}

static bool is_isolated(const struct event *e, uint32_t k)
{
    for (uint32_t j = 0; j < e->n_vertices; j++)
        if (j != k && e->vertices[j].kind == EVENT_PRIMARY && e->vertices[j].n_tracks >= 4 &&
            fabs(e->vertices[j].z - e->vertices[k].z) <= 10)
            return false;
    return true;
}

static void add_residual(struct score *s, const struct event_vertex *v, const struct vx_answer *a,
                         uint32_t i)
{
    const double truth[3] = {v->x, v->y, v->z};
    struct score_bin *bin;
    uint32_t b = 0;

    while (v->n_tracks >= score_bin_low[b + 1])
        b++;
    bin = &s->bin[b];
    for (uint32_t c = 0; c < 3; c++)
        if (fabs(truth[c] - (double)vx_floats(a, c)[i]) >
            10 * sqrt((double)vx_floats(a, 4 + c)[i])) {
            bin->left_out++;
            return;
        }
    bin->n++;
    for (uint32_t c = 0; c < 3; c++) {
        double d = truth[c] - (double)vx_floats(a, c)[i];

        bin->sum2[c] += d * d;
        bin->pull2[c] += d * d / (double)vx_floats(a, 4 + c)[i];
    }
}

static bool has_candidate(const struct event_vertex *v, const struct vx_answer *a)
{
    for (uint32_t i = 0; i < a->n; i++) {
        double dx = v->x - (double)vx_floats(a, 0)[i], dy = v->y - (double)vx_floats(a, 1)[i];
        double dz = v->z - (double)vx_floats(a, 2)[i];
        double sx = 25 * (double)vx_floats(a, 4)[i], sy = 25 * (double)vx_floats(a, 5)[i];

        if (vx_type(a, i) == TRG_SECONDARY && dx * dx < sx && dy * dy < sy &&
            dz * dz < fmax(25 * (double)vx_floats(a, 6)[i], 0.25))
            return true;
    }
    return false;
}

void score_add(struct score *s, const struct event *e, const struct vx_answer *a)
{
    uint32_t vertex_of[EVENT_VERTICES], collision_of[VX_PV_MAX + VX_SV_MAX];

    match(e, a, vertex_of, collision_of);
    s->events++;
    for (uint32_t k = 0; k < e->n_vertices; k++) {
        const struct event_vertex *v = &e->vertices[k];
        bool found = vertex_of[k] != EVENT_NOBODY, alone, near;

        if (v->kind == EVENT_BEAUTY && v->n_tracks >= 2) {
            s->b_decays++;
            s->b_found += has_candidate(v, a);
        }
        if (v->kind != EVENT_PRIMARY || v->n_tracks < 2)
            continue;
        near = found && fabs(v->z - (double)vx_floats(a, 2)[vertex_of[k]]) < 1;
        s->pairs++;
        s->near += near;
        if (v->n_tracks < 4)
            continue;
        s->near4 += near;
        alone = is_isolated(e, k);
        s->all++;
        s->all_found += found;
        *(alone ? &s->isolated : &s->close) += 1;
        *(alone ? &s->isolated_found : &s->close_found) += found;
        if (found)
            add_residual(s, v, a, vertex_of[k]);
    }
    for (uint32_t i = 0; e->n_vertices && i < a->n; i++)
        if (vx_type(a, i) == TRG_PRIMARY) {
            s->reconstructed++;
            s->false_ones += collision_of[i] == EVENT_NOBODY;
        }
}
