/* SPDX-License-Identifier: Apache-2.0 */
#include "timeline.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#define WIDTH  1100.0 /* of the picture, in its units */
#define LEFT   110.0
#define TOP    46.0
#define ROW    26.0
#define TICKS  10.0
#define LEGEND 6u

static const char *const colour[] = {"#4878d0", "#ee854a", "#d5bb67",
                                     "#82c6e2", "#6acc64", "#bbbbbb"};
static const char *const kind_name[] = {"copy in", "kernel", "fill", "copy", "copy out", "host"};

static double first_us(const struct timeline *t)
{
    double first = INFINITY;

    for (uint32_t i = 0; i < t->n; i++)
        first = fmin(first, t->spans[i].from_us);
    return t->n ? first : 0;
}

static double last_us(const struct timeline *t)
{
    double last = 0;

    for (uint32_t i = 0; i < t->n; i++)
        last = fmax(last, t->spans[i].to_us);
    return last;
}

/* Rows: the host's share and the queues of each lane. */
static uint32_t row_of(const struct timeline *t, const struct trace_span *s)
{
    if (s->kind == TRACE_HOST)
        return s->row * (t->queues_a_lane + 1u);
    return s->row / t->queues_a_lane * (t->queues_a_lane + 1u) + 1u + s->row % t->queues_a_lane;
}

static uint32_t count_rows(const struct timeline *t)
{
    uint32_t rows = 0;

    for (uint32_t i = 0; i < t->n; i++)
        if (row_of(t, &t->spans[i]) + 1u > rows)
            rows = row_of(t, &t->spans[i]) + 1u;
    return rows;
}

/* A round number of microseconds that gives about TICKS ticks. */
static double tick_us(double length)
{
    double step = pow(10, floor(log10(length / TICKS)));

    return length / step > 5 * TICKS ? 5 * step : length / step > 2 * TICKS ? 2 * step : step;
}

static void draw_axis(FILE *out, double length, uint32_t rows)
{
    double step = tick_us(length), scale = (WIDTH - LEFT - 10) / length;

    for (double x = 0; x <= length; x += step)
        fprintf(out,
                "<path d=\"M%.1f %.1fV%.1f\" stroke=\"#ddd\"/><text x=\"%.1f\" y=\"%.1f\" "
                "text-anchor=\"middle\">%g</text>\n",
                LEFT + x * scale, TOP, TOP + rows * ROW, LEFT + x * scale, TOP + rows * ROW + 14,
                x);
    fprintf(out, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\">microseconds</text>\n",
            LEFT + 0.5 * length * scale, TOP + rows * ROW + 30);
}

static void draw_legend(FILE *out)
{
    for (uint32_t i = 0; i < LEGEND; i++)
        fprintf(out,
                "<rect x=\"%.1f\" y=\"26\" width=\"12\" height=\"10\" fill=\"%s\"/><text "
                "x=\"%.1f\" y=\"35\">%s</text>\n",
                LEFT + 90.0 * i, colour[i], LEFT + 90.0 * i + 16, kind_name[i]);
}

static void draw_rows(const struct timeline *t, FILE *out, uint32_t rows)
{
    for (uint32_t r = 0; r < rows; r++) {
        uint32_t lane = r / (t->queues_a_lane + 1u), slot = r % (t->queues_a_lane + 1u);

        fprintf(out, "<text x=\"4\" y=\"%.1f\">lane %u, ", TOP + r * ROW + 17, lane);
        if (slot)
            fprintf(out, "slot %u</text>\n", slot - 1u);
        else
            fprintf(out, "host</text>\n");
    }
}

int timeline_svg(const struct timeline *t, FILE *out)
{
    double first = first_us(t), length = fmax(last_us(t) - first, 1);
    double scale = (WIDTH - LEFT - 10) / length;
    uint32_t rows = count_rows(t);

    fprintf(out,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%.0f\" "
            "font-family=\"sans-serif\" font-size=\"11\">\n"
            "<rect width=\"100%%\" height=\"100%%\" fill=\"white\"/>\n"
            "<text x=\"4\" y=\"16\" font-size=\"13\">%s</text>\n",
            WIDTH, TOP + rows * ROW + 40, t->title);
    draw_legend(out);
    draw_axis(out, length, rows);
    draw_rows(t, out, rows);
    for (uint32_t i = 0; i < t->n; i++) {
        const struct trace_span *s = &t->spans[i];

        fprintf(out,
                "<rect x=\"%.2f\" y=\"%.1f\" width=\"%.2f\" height=\"%.1f\" fill=\"%s\" "
                "stroke=\"white\" stroke-width=\"0.3\"><title>%s, %.1f us",
                LEFT + (s->from_us - first) * scale, TOP + row_of(t, s) * ROW + 3,
                fmax((s->to_us - s->from_us) * scale, 0.4), ROW - 6, colour[s->kind], s->name,
                s->to_us - s->from_us);
        if (s->bytes)
            fprintf(out, ", %llu bytes", (unsigned long long)s->bytes);
        fputs("</title></rect>\n", out);
    }
    fputs("</svg>\n", out);
    return ferror(out) ? -EIO : 0;
}

int timeline_json(const struct timeline *t, FILE *out)
{
    fputs("{\"traceEvents\":[", out);
    for (uint32_t i = 0; i < t->n; i++) {
        const struct trace_span *s = &t->spans[i];

        fprintf(out,
                "%s\n{\"name\":\"%s\",\"cat\":\"%s\",\"ph\":\"X\",\"pid\":%u,\"tid\":%u,"
                "\"ts\":%.3f,\"dur\":%.3f,\"args\":{\"bytes\":%llu}}",
                i ? "," : "", s->name, kind_name[s->kind], row_of(t, s) / (t->queues_a_lane + 1u),
                row_of(t, s) % (t->queues_a_lane + 1u), s->from_us, s->to_us - s->from_us,
                (unsigned long long)s->bytes);
    }
    fprintf(out, "\n],\"displayTimeUnit\":\"ns\",\"otherData\":{\"title\":\"%s\"}}\n", t->title);
    return ferror(out) ? -EIO : 0;
}
