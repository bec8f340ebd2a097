/* SPDX-License-Identifier: Apache-2.0 */
/* page_plot.c - the last minute as lines. */
#include <math.h>

#include "monitor/page.h"

#define LINES_MAX 3u
#define WIDTH     600.0
#define HEIGHT    130.0
#define LEFT      46.0
#define BOTTOM    16.0
#define TOP       8.0

struct plot {
    const char *title, *unit;
    uint32_t n_lines;
    const char *line[LINES_MAX];
    double value[LINES_MAX][WINDOWS_SECONDS]; /* by age; NAN: not known */
    int digits;
};

enum { /* places in the rates of the node */
#define PLACE(name, column) NODE_##name,
       WINDOWS_NODE(PLACE)
#undef PLACE
};

static double largest(const double *value)
{
    double most = 0;

    for (uint32_t i = 0; i < WINDOWS_SECONDS; i++)
        most = value[i] > most ? value[i] : most;
    return most;
}

/* 1, 2 or 5 times a power of ten, not below `most`. */
static double round_up(double most)
{
    const double power = most > 0 ? pow(10, floor(log10(most))) : 1;

    return most <= power       ? power
           : most <= 2 * power ? 2 * power
           : most <= 5 * power ? 5 * power
                               : 10 * power;
}

static void axis(double top, FILE *out)
{
    for (uint32_t i = 0; i <= 2; i++) {
        const double y = TOP + (HEIGHT - TOP - BOTTOM) * i / 2.0;

        fprintf(out,
                "<line class=axis x1=%g x2=%g y1=%.1f y2=%.1f /><text x=%g y=%.1f "
                "text-anchor=end>%.6g</text>",
                LEFT, WIDTH, y, y, LEFT - 4, y + 3, top * (2 - i) / 2);
    }
    fprintf(out, "<text x=%g y=%g>60 s ago</text><text x=%g y=%g text-anchor=end>now</text>", LEFT,
            HEIGHT - 3, WIDTH, HEIGHT - 3);
}

static void line(const double *value, uint32_t number, double top, FILE *out)
{
    fprintf(out, "<polyline class=s%u points=\"", number);
    for (uint32_t age = WINDOWS_SECONDS; age--;)
        if (!isnan(value[age]))
            fprintf(out, "%.1f,%.1f ", WIDTH - (WIDTH - LEFT) * age / (WINDOWS_SECONDS - 1),
                    HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * value[age] / top);
    fputs("\"/>", out);
}

/* What is seen, in words and numbers: caption, and label for those who do not see it. */
static void describe(const struct plot *p, FILE *out)
{
    fprintf(out, "%s: ", p->title);
    for (uint32_t i = 0; i < p->n_lines; i++)
        fprintf(out, "%s%s %.*f %s, at most %.*f", i ? "; " : "", p->line[i], p->digits,
                isnan(p->value[i][0]) ? 0 : p->value[i][0], p->unit, p->digits,
                largest(p->value[i]));
}

static void draw(const struct plot *p, FILE *out)
{
    double top = 0;

    for (uint32_t i = 0; i < p->n_lines; i++)
        top = fmax(top, largest(p->value[i]));
    top = round_up(top);
    fprintf(out, "<figure><svg viewBox=\"0 0 %g %g\" role=img aria-label=\"", WIDTH, HEIGHT);
    describe(p, out);
    fputs("\">", out);
    axis(top, out);
    for (uint32_t i = 0; i < p->n_lines; i++)
        line(p->value[i], i, top, out);
    fprintf(out, "</svg><figcaption>%s", p->title);
    for (uint32_t i = 0; i < p->n_lines; i++)
        fprintf(out, "<i class=\"key s%u\"></i>%s <b>%.*f</b> %s", i, p->line[i], p->digits,
                isnan(p->value[i][0]) ? 0 : p->value[i][0], p->unit);
    fputs("</figcaption></figure>\n", out);
}

void page_plots(struct windows *w, FILE *out)
{
    struct plot rates = {.title = "RoIs a second",
                         .unit = "/s",
                         .n_lines = 3,
                         .line = {"received", "accepted", "failed"}};
    struct plot latency = {.title = "From receipt to decision",
                           .unit = "ms",
                           .n_lines = 2,
                           .line = {"p50", "p99"},
                           .digits = 2};
    struct plot dead = {.title = "Dead time by cause",
                        .unit = "%",
                        .n_lines = 3,
                        .line = {"pool full", "stream waits", "draining"},
                        .digits = 1};

    for (uint32_t age = 0; age < WINDOWS_SECONDS; age++) {
        struct windows_row r;
        const bool is_there = windows_second(w, age, &r);

        for (uint32_t i = 0; i < 3; i++) {
            const uint32_t rate[] = {NODE_received, NODE_accepted, NODE_failed},
                           cause[] = {NODE_dead_pool_ns, NODE_dead_stream_ns, NODE_dead_drain_ns};

            rates.value[i][age] = is_there ? r.rate[rate[i]] : NAN;
            dead.value[i][age] = is_there ? 100 * r.rate[cause[i]] : NAN;
        }
        latency.value[0][age] = is_there && r.latencies ? r.quantile_ns[0] * 1e-6 : NAN;
        latency.value[1][age] = is_there && r.latencies ? r.quantile_ns[2] * 1e-6 : NAN;
    }
    fputs("<div class=plots>", out);
    draw(&rates, out);
    draw(&latency, out);
    draw(&dead, out);
    fputs("</div>\n", out);
}
