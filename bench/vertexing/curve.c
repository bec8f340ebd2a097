/* SPDX-License-Identifier: Apache-2.0 */
#include "curve.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "beauty.h"
#include "reference_score.h"
#include "result.h"
#include "results.h"

/* What an event is worth to a trigger: it is kept when this is above the cut. */
typedef double judge(const struct vx_answer *a);

/* Largest flight significance of a candidate with `tracks` or more. */
static double flight(const struct vx_answer *a, uint32_t tracks)
{
    double best = 0;

    for (uint32_t i = 0; i < a->n; i++)
        if (vx_type(a, i) == TRG_SECONDARY && vx_tracks(a, i) >= tracks)
            best = fmax(best, (double)vx_floats(a, 14)[i]);
    return best;
}

static double by_flight_2(const struct vx_answer *a)
{
    return flight(a, 2);
}

static double by_flight_3(const struct vx_answer *a)
{
    return flight(a, 3);
}

static double by_impact(const struct vx_answer *a)
{
    return (double)a->result.value[8];
}

static double by_displaced(const struct vx_answer *a)
{
    return (double)a->result.value[3];
}

static double by_score(const struct vx_answer *a)
{
    return (double)a->result.value[15];
}

/* Two chains in turn: events with a candidate by that, the others by their displaced tracks. */
static double by_flight_or_displaced(const struct vx_answer *a)
{
    const double significance = flight(a, 2);

    return significance > 0 ? 1e6 + significance : by_displaced(a);
}

static const struct {
    const char *name;
    judge *value;
} judges[] = {{"largest impact parameter in sigmas", by_impact},
              {"number of displaced tracks", by_displaced},
              {"flight significance, 2 tracks", by_flight_2},
              {"flight significance, 3 tracks", by_flight_3},
              {"flight significance, else displaced tracks", by_flight_or_displaced},
              {"b_score", by_score}};

struct point {
    double value;
    bool is_b;
};

static int falling(const void *a, const void *b)
{
    const double x = ((const struct point *)a)->value, y = ((const struct point *)b)->value;

    return (x < y) - (x > y);
}

/* Efficiency for b events where at most `retention` of the others are kept. */
static double efficiency_at(const struct point *p, uint32_t n, double retention, uint32_t n_b)
{
    uint32_t b = 0, others = 0, best = 0;

    for (uint32_t i = 0; i < n; i++) {
        b += p[i].is_b;
        others += !p[i].is_b;
        if (others > retention * (n - n_b))
            break;
        if (i + 1 == n || p[i + 1].value < p[i].value)
            best = b;
    }
    return n_b ? (double)best / n_b : 0;
}

int curve_features(const char *path, const struct vx_config *c, const struct event *e,
                   const struct vx_answer *a, uint32_t n)
{
    FILE *csv = fopen(path, "w");
    int r = csv ? 0 : -errno;

    for (uint32_t i = 0; r == 0 && i < n; i++) {
        float f[VX_B_FEATURES] = {0};

        r = ref_features(c, &e[i], &a[i], f);
        fprintf(csv, "%d", event_has_b(&e[i]));
        for (uint32_t k = 0; k < VX_B_FEATURES; k++)
            fprintf(csv, ",%.9g", (double)f[k]);
        fputc('\n', csv);
    }
    return csv && fclose(csv) ? -errno : r;
}

static void pair_write(FILE *csv, bool has_b, const double *feature)
{
    fputc(has_b ? '1' : '0', csv);
    for (uint32_t k = 0; k < VX_PAIR_FEATURES; k++)
        fprintf(csv, ",%.9g", feature[k]);
    fputc('\n', csv);
}

int curve_pairs(const char *path, const struct vx_config *c, const struct event *e,
                const struct vx_answer *a, uint32_t n)
{
    FILE *csv = fopen(path, "w");
    int r = csv ? 0 : -errno;

    for (uint32_t i = 0; r == 0 && i < n; i++) {
        struct ref_graph g;

        r = ref_graph_make(c, &e[i], &a[i], &g);
        for (uint32_t k = 0; r == 0 && k < g.n_edges; k++)
            if (g.edge[k].cut == REF_LEFT)
                pair_write(csv, event_has_b(&e[i]), g.edge[k].feature);
        ref_graph_free(&g);
    }
    return csv && fclose(csv) ? -errno : r;
}

static void tell_table(const struct point *p, uint32_t n, uint32_t n_b)
{
    double best = -1;
    uint32_t b = 0, others = 0, a_ = 0, c_ = 0;

    for (uint32_t i = 0; i < n; i++) { /* where efficiency less retention is largest */
        b += p[i].is_b;
        others += !p[i].is_b;
        if ((i + 1 == n || p[i + 1].value < p[i].value) &&
            (double)b / n_b - (double)others / (n - n_b) > best) {
            best = (double)b / n_b - (double)others / (n - n_b);
            a_ = b;
            c_ = others;
        }
    }
    printf("    a (b, kept) %u  b (b, lost) %u  c (others, kept) %u  d (others, rejected) %u\n", a_,
           n_b - a_, c_, n - n_b - c_);
}

int curve_write(const char *path, const char *label, const struct event *e,
                const struct vx_answer *a, uint32_t n)
{
    static const double retention[] = {0.003, 0.01, 0.03, 0.1, 0.3, 0.5, 0.8};
    struct point *p = calloc(n + 1u, sizeof *p);
    FILE *csv = fopen(path, "a");
    uint32_t n_b = 0;

    if (!p || !csv) {
        free(p);
        return csv ? -ENOMEM : -errno;
    }
    for (uint32_t i = 0; i < n; i++)
        n_b += event_has_b(&e[i]);
    for (size_t j = 0; j < sizeof judges / sizeof *judges; j++) {
        uint32_t b = 0;

        for (uint32_t i = 0; i < n; i++)
            p[i] = (struct point){judges[j].value(&a[i]), event_has_b(&e[i])};
        qsort(p, n, sizeof *p, falling);
        printf("  %s, %u b events and %u others\n", judges[j].name, n_b, n - n_b);
        for (size_t k = 0; k < sizeof retention / sizeof *retention; k++) {
            char what[128];
            double f = efficiency_at(p, n, retention[k], n_b);

            snprintf(what, sizeof what, "b efficiency where %g of others pass, %s", retention[k],
                     judges[j].name);
            result_ratio(what, f, result_error(f, n_b), n_b, "higher", 0);
        }
        if (n_b && n_b < n)
            tell_table(p, n, n_b);
        for (uint32_t i = 0; i < n; i++) {
            b += p[i].is_b;
            if (i + 1 == n || p[i + 1].value < p[i].value)
                fprintf(csv, "\"%s\",\"%s\",%.6g,%.6f,%.6f\n", label ? label : "", judges[j].name,
                        p[i].value, (double)b / n_b, (double)(i + 1 - b) / (n - n_b));
        }
    }
    free(p);
    return fclose(csv) ? -errno : 0;
}
