/* SPDX-License-Identifier: Apache-2.0 */
#include "naive.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "chance.h"

#define NONE    0xffffffffu
#define PI      3.14159265358979323846
#define CLASSES 2047.0 /* distances that are told apart when roads want the same hit */

struct road {
    uint32_t n, hit[SERIAL_HITS]; /* from the highest z on */
    double share, tx, ty;
    uint32_t want[2], key; /* key: the class of the distance */
    bool has_ended;
};

struct search {
    const struct hough_config *c;
    const struct event *e;
    bool *used, is_wide;
    struct road *roads;
    uint32_t n_roads, n_pass; /* of all passes; the first of this one */
    int n_stations;
    double *low, *high,
        *count; /* of each station's hits that were free when the pass began: z, number */
};

static int station_of(const struct search *s, uint32_t hit)
{
    return (int)(s->e->layer[hit] / s->c->layers_per_station);
}

static double least(double a, double b)
{
    return a < b ? a : b;
}

/* ---------------------------------------------------------------- roads */

static uint32_t last_of(const struct road *r)
{
    return r->hit[r->n - 1];
}

static double off2(const struct search *s, uint32_t from, double tx, double ty, uint32_t hit)
{
    const struct event *e = s->e;
    const double dz = (double)e->z[hit] - (double)e->z[from];
    const double dx = (double)e->x[hit] - ((double)e->x[from] + tx * dz);
    const double dy = (double)e->y[hit] - ((double)e->y[from] + ty * dz);

    return dx * dx + dy * dy;
}

static bool are_on_one_side(const struct search *s, uint32_t a, uint32_t b)
{
    const struct event *e = s->e;

    return (double)e->x[a] * (double)e->x[b] + (double)e->y[a] * (double)e->y[b] > 0;
}

static bool is_robbed(const struct search *s, const struct road *r)
{
    return r->n == 3 && (s->used[r->hit[0]] || s->used[r->hit[1]] || s->used[r->hit[2]]);
}

static void want(const struct search *s, struct road *r, int station)
{
    const struct event *e = s->e;
    const uint32_t last = last_of(r);
    const double dz = 0.5 * (s->low[station] + s->high[station]) - (double)e->z[last];
    const double tol = least((double)s->c->tolerance_mm + (double)s->c->tolerance_rad * fabs(dz),
                             (double)s->c->tolerance_max_mm);
    double best[2] = {tol * tol, tol * tol}, share;

    r->want[0] = r->want[1] = NONE;
    if (is_robbed(s, r))
        r->has_ended = true;
    if (r->has_ended || station_of(s, last) <= station || r->n == SERIAL_HITS)
        return;
    for (uint32_t h = 0; h < e->n; h++) {
        const double off = off2(s, last, r->tx, r->ty, h);

        if (station_of(s, h) == station && !s->used[h] && off <= best[e->layer[h] & 1] &&
            are_on_one_side(s, last, h)) {
            best[e->layer[h] & 1] = off;
            r->want[e->layer[h] & 1] = h;
        }
    }
    for (int k = 0; k < 2; k++)
        if (r->want[k] != NONE && e->layer[last] - e->layer[r->want[k]] > (int)s->c->max_gap)
            r->want[k] = NONE;
    share = least(best[0], best[1]) / (tol * tol);
    r->key = (uint32_t)(CLASSES * (r->n == 3 ? 0.5 * (share + r->share) : share));
}

static bool wants(const struct road *r, uint32_t hit)
{
    const bool any = r->want[0] != NONE || r->want[1] != NONE;

    return r->want[0] == hit || r->want[1] == hit ||
           (any && r->n == 3 && (r->hit[0] == hit || r->hit[1] == hit || r->hit[2] == hit));
}

/* Whether no other road wants the hit more. */
static bool wins(const struct search *s, const struct road *r, uint32_t hit)
{
    for (uint32_t i = s->n_pass; i < s->n_roads; i++) {
        const struct road *o = &s->roads[i];

        if (!o->has_ended && wants(o, hit) &&
            (o->key < r->key || (o->key == r->key && o->hit[0] < r->hit[0])))
            return false;
    }
    return true;
}

static void take(struct search *s, struct road *r, const bool *won)
{
    const struct event *e = s->e;
    const uint32_t before = last_of(r);
    const bool swap = won[0] && won[1] && e->z[r->want[0]] < e->z[r->want[1]];
    uint32_t last;

    for (int k = 0; r->n == 3 && k < 3; k++)
        s->used[r->hit[k]] = true;
    for (int k = 0; k < 2; k++)
        if (won[k ^ swap] && r->n < SERIAL_HITS) {
            r->hit[r->n++] = r->want[k ^ swap];
            s->used[last_of(r)] = true;
        }
    last = last_of(r);
    r->tx =
        ((double)e->x[before] - (double)e->x[last]) / ((double)e->z[before] - (double)e->z[last]);
    r->ty =
        ((double)e->y[before] - (double)e->y[last]) / ((double)e->z[before] - (double)e->z[last]);
}

/* All roads look at the station, then those that win take. */
static int follow(struct search *s, int station)
{
    bool(*won)[2] = calloc(s->n_roads + 1u, sizeof *won);

    if (!won)
        return -ENOMEM;
    for (uint32_t i = s->n_pass; i < s->n_roads; i++)
        want(s, &s->roads[i], station);
    for (uint32_t i = s->n_pass; i < s->n_roads; i++) {
        const struct road *r = &s->roads[i];
        bool has_three = !r->has_ended;

        for (int k = 0; has_three && r->n == 3 && k < 3; k++)
            has_three = wins(s, r, r->hit[k]);
        for (int k = 0; k < 2; k++)
            won[i][k] = has_three && r->want[k] != NONE && wins(s, r, r->want[k]);
    }
    for (uint32_t i = s->n_pass; i < s->n_roads; i++) {
        struct road *r = &s->roads[i];
        const int lowest = station * (int)s->c->layers_per_station;

        if (won[i][0] || won[i][1])
            take(s, r, won[i]);
        if (s->e->layer[last_of(r)] - lowest >= (int)s->c->max_gap)
            r->has_ended = true;
    }
    free(won);
    return 0;
}

/* ---------------------------------------------------------------- first hits */

static bool may_pair(const struct search *s, uint32_t a, uint32_t b, double window)
{
    const struct event *e = s->e;
    const struct hough_config *c = s->c;
    const double dx = (double)e->x[a] - (double)e->x[b], dy = (double)e->y[a] - (double)e->y[b];
    const double dz = (double)e->z[a] - (double)e->z[b];
    const double x = (double)e->x[b], y = (double)e->y[b], d2 = dx * dx + dy * dy;
    const double turn = atan2((double)e->y[a], (double)e->x[a]) - atan2(y, x);
    const double ip = s->is_wide ? (double)c->ip_max_wide_mm : (double)c->ip_max_mm;
    const double far = s->is_wide ? (double)c->z_beam_max_wide_mm : (double)c->z_beam_max_mm;

    return dz > 0 && e->layer[a] != e->layer[b] && fabs(dx) <= (double)c->slope_max * dz &&
           fabs(dy) <= (double)c->slope_max * dz && cos(turn) > 0 &&
           fabs(tan(turn)) * hypot((double)e->x[a], (double)e->y[a]) <= window &&
           fabs(x * dy - y * dx) <= ip * sqrt(d2) &&
           fabs(((double)e->z[b] - (double)c->z_centre_mm) * d2 - (x * dx + y * dy) * dz) <=
               far * d2;
}

struct triplet {
    double share;
    uint32_t second, third;
};

static void try_third(const struct search *s, uint32_t a, uint32_t b, int station,
                      struct triplet *best)
{
    const struct event *e = s->e;
    const double dz = (double)e->z[a] - (double)e->z[b];
    const double tx = ((double)e->x[a] - (double)e->x[b]) / dz;
    const double ty = ((double)e->y[a] - (double)e->y[b]) / dz;

    for (uint32_t h = 0; h < e->n; h++) {
        const double d = (double)e->z[b] - (double)e->z[h];
        const double tol = least((double)s->c->third_mm + (double)s->c->third_rad * d,
                                 (double)s->c->tolerance_max_mm);
        const double share = off2(s, b, tx, ty, h) / (tol * tol);

        if (station_of(s, h) == station && !s->used[h] && d > 0 && e->layer[h] != e->layer[b] &&
            are_on_one_side(s, b, h) &&
            (share < best->share || (best->third == NONE && share <= best->share)))
            *best = (struct triplet){share, b, h};
    }
}

static void begin_road(struct search *s, uint32_t first, int station)
{
    static const int ways[][2] = {{1, 2}, {0, 1}, {1, 1}, {1, 3}, {2, 3}};
    const struct event *e = s->e;
    const double r_first = hypot((double)e->x[first], (double)e->y[first]);
    struct triplet t = {1, NONE, NONE};
    struct road *r = &s->roads[s->n_roads];
    double dz;

    for (int w = 0; w < (s->is_wide ? 5 : 1); w++) {
        const int second = station - ways[w][0];
        const double window =
            least(w || !s->is_wide ? (double)s->c->ip_max_mm : (double)s->c->window_wide_mm,
                  second >= 0 ? (double)s->c->crowd * PI * r_first / s->count[second] : 1e9);

        if ((w == 1 || w == 3) && t.third != NONE)
            break;
        for (uint32_t h = 0; station >= ways[w][1] && h < e->n; h++)
            if (station_of(s, h) == second && !s->used[h] && may_pair(s, first, h, window))
                try_third(s, first, h, station - ways[w][1], &t);
    }
    if (t.third == NONE)
        return;
    dz = (double)e->z[t.second] - (double)e->z[t.third];
    *r = (struct road){.n = 3,
                       .hit = {first, t.second, t.third},
                       .share = t.share,
                       .tx = ((double)e->x[t.second] - (double)e->x[t.third]) / dz,
                       .ty = ((double)e->y[t.second] - (double)e->y[t.third]) / dz};
    s->n_roads++;
}

/* ---------------------------------------------------------------- tracks */

static bool is_rare_step(const struct search *s, int step)
{
    const int layers = (int)s->c->layers_per_station;

    return step >= 2 * layers || step % layers != 0;
}

static double chi2_of(const struct search *s, const struct road *r)
{
    const struct event *e = s->e;
    const uint32_t a = r->hit[2], b = r->hit[1], c = r->hit[0];
    const double length = (double)e->z[c] - (double)e->z[a];
    const double part = ((double)e->z[b] - (double)e->z[a]) / length;
    const double tx = ((double)e->x[c] - (double)e->x[a]) / length;
    const double ty = ((double)e->y[c] - (double)e->y[a]) / length;
    const double arm = ((double)e->z[b] - (double)e->z[a]) * (1 - part);
    const double turn2 = pow((double)s->c->scatter_rad, 2) +
                         pow((double)s->c->scatter_slope_rad, 2) * (tx * tx + ty * ty);

    const double ip = fabs(((double)e->x[a] - (double)s->c->beam_x_mm) * ty -
                           ((double)e->y[a] - (double)s->c->beam_y_mm) * tx) /
                      hypot(tx, ty);
    const bool is_rare =
        is_rare_step(s, e->layer[c] - e->layer[b]) || is_rare_step(s, e->layer[b] - e->layer[a]);

    return off2(s, a, tx, ty, b) * (1 + ip / (double)s->c->ip3_mm) *
           (is_rare ? (double)s->c->rare3 : 1) /
           (pow((double)s->c->sigma_mm, 2) * (1 + part * part + (1 - part) * (1 - part)) +
            arm * arm * turn2);
}

static bool is_by_chance(const struct search *s, const struct road *r)
{
    uint32_t along[4]; /* z */

    for (uint32_t k = 0; r->n <= 4 && k < r->n; k++)
        along[k] = r->hit[r->n - 1 - k];
    return is_chance(s->c, s->e, along, r->n);
}

static bool is_straight(const struct search *s, const struct road *r)
{
    const uint16_t *layer = s->e->layer;

    return r->n == 3 && !is_robbed(s, r) &&
           layer[r->hit[0]] - layer[r->hit[1]] <= (int)s->c->max_gap3 &&
           layer[r->hit[1]] - layer[r->hit[2]] <= (int)s->c->max_gap3 &&
           chi2_of(s, r) <= (double)s->c->chi2_3_max && !is_by_chance(s, r);
}

/* Of roads of three hits that share some, the straightest counts; four that are one by chance are
 * set free. */
static void accept_threes(struct search *s)
{
    for (uint32_t i = s->n_pass; i < s->n_roads; i++) {
        struct road *r = &s->roads[i];

        r->want[0] = r->want[1] = is_straight(s, r) ? r->hit[0] : NONE;
        r->has_ended = r->n == 3 && r->want[0] == NONE;
        r->key = r->n == 3 ? (uint32_t)(chi2_of(s, r) / (double)s->c->chi2_3_max * CLASSES) : 0;
    }
    for (uint32_t i = s->n_pass; i < s->n_roads; i++) {
        struct road *r = &s->roads[i];

        if (r->n == 3 && !r->has_ended)
            r->share = wins(s, r, r->hit[0]) && wins(s, r, r->hit[1]) && wins(s, r, r->hit[2]);
    }
    for (uint32_t i = s->n_pass; i < s->n_roads; i++) {
        struct road *r = &s->roads[i];

        r->has_ended = r->n == 3 ? r->has_ended || r->share < 0.5 : r->n == 4 && is_by_chance(s, r);
        for (uint32_t k = 0; (!r->has_ended || r->n == 4) && k < r->n; k++)
            s->used[r->hit[k]] = !r->has_ended;
    }
}

static int pass(struct search *s)
{
    int r = 0;

    for (int k = 0; k < s->n_stations; k++) {
        s->low[k] = 1e9;
        s->high[k] = -1e9;
        s->count[k] = 0;
    }
    for (uint32_t h = 0; h < s->e->n; h++)
        if (!s->used[h]) {
            const int k = station_of(s, h);

            s->low[k] = least(s->low[k], (double)s->e->z[h]);
            s->high[k] = -least(-s->high[k], -(double)s->e->z[h]);
            s->count[k]++;
        }
    s->n_pass = s->n_roads;
    for (int station = s->n_stations - 1; r == 0 && station >= (s->is_wide ? -1 : 0); station--) {
        if (station >= 0)
            r = follow(s, station);
        for (uint32_t h = 0; r == 0 && h < s->e->n; h++)
            if (station_of(s, h) == station + 2 && !s->used[h])
                begin_road(s, h, station + 2);
    }
    accept_threes(s);
    return r;
}

static int keep(const struct search *s, struct serial_tracks *t)
{
    t->list = calloc(s->n_roads + 1u, sizeof *t->list);
    t->room = s->n_roads + 1u;
    if (!t->list)
        return -ENOMEM;
    for (uint32_t i = 0; i < s->n_roads; i++) {
        const struct road *r = &s->roads[i];

        if (r->has_ended)
            continue;
        t->list[t->n].n = r->n;
        for (uint32_t k = 0; k < r->n; k++)
            t->list[t->n].hit[k] = r->hit[r->n - 1 - k];
        t->n++;
    }
    return 0;
}

int naive_find(const struct hough_config *c, const struct event *e,
               struct serial_tracks *ret_tracks)
{
    struct search s = {.c = c, .e = e};
    int r = -ENOMEM;

    memset(ret_tracks, 0, sizeof *ret_tracks);
    for (uint32_t h = 0; h < e->n; h++)
        if (station_of(&s, h) >= s.n_stations)
            s.n_stations = station_of(&s, h) + 1;
    s.used = calloc(e->n + 1u, sizeof *s.used);
    s.roads = calloc(2u * e->n + 1u, sizeof *s.roads);
    s.low = calloc((size_t)s.n_stations + 1, sizeof *s.low);
    s.count = calloc((size_t)s.n_stations + 1, sizeof *s.count);
    s.high = calloc((size_t)s.n_stations + 1, sizeof *s.high);
    if (s.used && s.roads && s.low && s.high && s.count)
        r = pass(&s);
    s.is_wide = true;
    if (r == 0 && c->passes > 1)
        r = pass(&s);
    if (r == 0)
        r = keep(&s, ret_tracks);
    free(s.used);
    free(s.roads);
    free(s.low);
    free(s.count);
    free(s.high);
    return r;
}
