/* SPDX-License-Identifier: Apache-2.0 */
/* commands_dump.c - files of the running menu, as answers. */
#include <stdlib.h>
#include <string.h>

#include "monitor/commands_inner.h"

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

void command_dump_histograms(struct call *c)
{
    struct histogram_list list;
    char *text = NULL;
    size_t bytes;
    FILE *out;

    if (c->v->hooks.histograms(c->v->hooks.ctx, &list) == 0) {
        out = open_memstream(&text, &bytes);
        if (out)
            histograms_print(&list, out);
        if (out && fclose(out) != 0) {
            free(text);
            text = NULL;
        }
        histograms_drop(&list);
    }
    print_file(c, text);
}
