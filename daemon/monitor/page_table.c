/* SPDX-License-Identifier: Apache-2.0 */
/* page_table.c - a table of `show` as HTML. */
#include <stdlib.h>
#include <string.h>

#include "monitor/page.h"

void page_text(const char *text, FILE *out)
{
    for (; *text; text++) {
        if (*text == '&')
            fputs("&amp;", out);
        else if (*text == '<')
            fputs("&lt;", out);
        else if (*text == '>')
            fputs("&gt;", out);
        else if (*text == '"')
            fputs("&quot;", out);
        else
            putc(*text, out);
    }
}

static uint32_t find_column(const struct table *t, const char *name)
{
    uint32_t c = 0;

    while (c < t->n_columns && strcmp(t->column[c], name) != 0)
        c++;
    return c;
}

/* Slots as marks beside the number of batches in flight, for the eye only. */
static void slot_marks(const char *in_flight, const char *slots, FILE *out)
{
    const unsigned long taken = strtoul(in_flight, NULL, 10), all = strtoul(slots, NULL, 10);

    fputs("<span class=slots aria-hidden=true>", out);
    for (unsigned long i = 0; i < all && i < 8; i++)
        fputs(i < taken ? "&#9679;" : "&#9675;", out);
    fputs("</span>", out);
}

static void print_cell(const struct table *t, uint32_t row, uint32_t c, FILE *out)
{
    const char *text = t->cell[row * t->n_columns + c];
    const uint32_t slots = find_column(t, "slots");

    if (!c)
        fputs("<th scope=row>", out);
    else if (!strcmp(t->column[c], "against") && text[0])
        fprintf(out, "<td class=%s>", text); /* low, ok, high */
    else
        fputs(t->is_number[c] ? "<td class=n>" : "<td>", out);
    page_text(text, out);
    if (slots < t->n_columns && !strcmp(t->column[c], "in_flight"))
        slot_marks(text, t->cell[row * t->n_columns + slots], out);
    fputs(c ? "</td>" : "</th>", out);
}

void page_table(const struct table *t, const char *caption, uint32_t most, FILE *out)
{
    const uint32_t all = t->n_columns ? t->n_cells / t->n_columns : 0,
                   rows = all < most ? all : most;

    if (t->failed)
        return;
    fputs("<div class=wide tabindex=0 role=region aria-label=\"", out);
    page_text(caption, out);
    fputs("\"><table><caption>", out);
    page_text(caption, out);
    fputs("</caption><thead><tr>", out);
    for (uint32_t c = 0; c < t->n_columns; c++) {
        fprintf(out, "<th scope=col%s>", c && t->is_number[c] ? " class=n" : "");
        page_text(t->column[c], out);
        fputs("</th>", out);
    }
    fputs("</tr></thead><tbody>", out);
    for (uint32_t row = 0; row < rows; row++) {
        fputs("\n<tr>", out);
        for (uint32_t c = 0; c < t->n_columns; c++)
            print_cell(t, row, c, out);
        fputs("</tr>", out);
    }
    fputs("</tbody></table></div>\n", out);
}

const char *page_cell(const struct table *t, uint32_t row, const char *column)
{
    const uint32_t c = find_column(t, column);

    return c < t->n_columns && (row + 1) * t->n_columns <= t->n_cells
               ? t->cell[row * t->n_columns + c]
               : "";
}

void page_heat(const struct table *nodes, FILE *out)
{
    fputs("<ol class=heat aria-label=\"Nodes: RoIs in flight of credits\">", out);
    for (uint32_t row = 0; row < (nodes->n_columns ? nodes->n_cells / nodes->n_columns : 0);
         row++) {
        const char *state = page_cell(nodes, row, "state");
        const unsigned long in_flight = strtoul(page_cell(nodes, row, "in_flight"), NULL, 10),
                            credits = strtoul(page_cell(nodes, row, "credits"), NULL, 10);

        fprintf(out, "<li class=%s>",
                strcmp(state, "serving") != 0 ? "down"
                : in_flight >= credits        ? "busy"
                                              : "free");
        page_text(page_cell(nodes, row, "node"), out);
        fprintf(out, "<br>%s, %lu of %lu<br><meter max=%lu value=%lu></meter></li>", state,
                in_flight, credits, credits ? credits : 1, in_flight);
    }
    fputs("</ol>\n", out);
}
