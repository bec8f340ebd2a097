/* SPDX-License-Identifier: Apache-2.0 */
#include "curve.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "beauty.h"
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

/* What the plugin's discriminant sees of an event: the answer as rows again. */
static void features_of(const struct vx_answer *a, float *ret_features)
{
    struct vx_counts counts = {.n_displaced = (uint32_t)a->result.value[3],
                               .n_selected = (uint32_t)a->result.value[9],
                               .n_edges = (uint32_t)(a->result.value[10] - a->result.value[11] -
                                                     a->result.value[12] - a->result.value[13] -
                                                     a->result.value[14]),
                               .ip_significance = a->result.value[8]};
    const uint32_t n_pv = (uint32_t)a->result.value[0];
    uint32_t *rows = calloc((size_t)a->n + 1, VX_OUT_WORDS * sizeof *rows);

    if (!rows)
        return;
    for (uint32_t k = 0; k < a->n; k++)
        for (uint32_t c = 0; c < VX_OUT_WORDS; c++)
            rows[(size_t)k * VX_OUT_WORDS + c] = ((const uint32_t *)a->column[c])[k];
    vx_beauty_features(rows, n_pv, a->n, &counts, ret_features);
    free(rows);
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

int curve_features(const char *path, const struct event *e, const struct vx_answer *a, uint32_t n)
{
    FILE *csv = fopen(path, "w");

    if (!csv)
        return -errno;
    for (uint32_t i = 0; i < n; i++) {
        float f[VX_B_FEATURES] = {0};

        features_of(&a[i], f);
        fprintf(csv, "%d", event_has_b(&e[i]));
        for (uint32_t k = 0; k < VX_B_FEATURES; k++)
            fprintf(csv, ",%.9g", (double)f[k]);
        fputc('\n', csv);
    }
    return fclose(csv) ? -errno : 0;
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
            result_ratio(what, f, n_b ? sqrt(fmax(f * (1 - f), 1.0 / n_b) / n_b) : 0, n_b, "higher",
                         0);
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
