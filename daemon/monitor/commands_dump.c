/* SPDX-License-Identifier: Apache-2.0 */
/* commands_dump.c - files of what is in force and of what was measured, as answers. */
#include <stdlib.h>
#include <string.h>

#include "memstream.h"
#include "monitor/commands_inner.h"
#include "monitor/show_rates.h"

/* An empty line ends an answer: every line of a file has a space in front, or a bar when the file
 * ends without a new line.  `text` is freed; NULL: it could not be had. */
static void print_file(struct call *c, char *text)
{
    if (!text) {
        fputs("error: the daemon's loop did not answer\n", c->out);
        return;
    }
    for (const char *line = text; *line;) {
        const size_t n = strcspn(line, "\n");

        fprintf(c->out, "%c%.*s\n", line[n] ? ' ' : '|', (int)n, line);
        line += n + (line[n] == '\n');
    }
    free(text);
}

static void dump(struct call *c, enum control_dump what)
{
    print_file(c, c->v->hooks.dump(c->v->hooks.ctx, what));
}

void command_dump_menu(struct call *c)
{
    dump(c, CONTROL_DUMP_MENU);
}

void command_dump_prescales(struct call *c)
{
    dump(c, CONTROL_DUMP_PRESCALES);
}

void command_dump_conditions(struct call *c)
{
    dump(c, CONTROL_DUMP_CONDITIONS);
}

/* A file that is printed into memory first; nothing was printed: it could not be had. */
static void print_made(struct call *c, void (*make)(const struct control_view *v, FILE *out))
{
    char *text = NULL;
    size_t bytes;
    FILE *out = open_memstream(&text, &bytes);

    if (out)
        make(c->v, out);
    if (out && memstream_close(out, &text) == 0 && !bytes) {
        free(text);
        text = NULL;
    }
    print_file(c, text);
}

static void make_histograms(const struct control_view *v, FILE *out)
{
    struct histogram_list list;

    if (v->hooks.histograms(v->hooks.ctx, &list) == 0) {
        histograms_print(&list, out);
        histograms_drop(&list);
    }
}

void command_dump_histograms(struct call *c)
{
    print_made(c, make_histograms);
}

void command_dump_latency(struct call *c)
{
    print_made(c, show_latency_buckets);
}

void command_dump_slow(struct call *c)
{
    print_made(c, show_slow_trace);
}
