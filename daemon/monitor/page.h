/* SPDX-License-Identifier: Apache-2.0 */
/* page.h - the browser page: the tables of `show`, and plots of the last minute, as HTML.
 *
 * It is complete as it is sent: the script in it (page/page.js) only asks for its sections again.
 */
#ifndef TRIGD_PAGE_H
#define TRIGD_PAGE_H
#include <stdio.h>

#include "monitor/table.h"
#include "monitor/view.h"

/* The whole page, with rates of a window (windows.h); `nonce` allows its script and style. */
void page_print(const struct control_view *v, uint32_t window, const char *nonce, FILE *out);
/* Its sections alone. */
void page_sections(const struct control_view *v, uint32_t window, FILE *out);

/* ---- page_table.c */

/* Text in which nothing is markup. */
void page_text(const char *text, FILE *out);
/* A table with its caption; its first `most` rows. */
void page_table(const struct table *t, const char *caption, uint32_t most, FILE *out);
/* The text of a cell; "": there is none. */
const char *page_cell(const struct table *t, uint32_t row, const char *column);
/* The nodes of a farm, one place each, coloured by what they do. */
void page_heat(const struct table *nodes, FILE *out);

/* ---- page_plot.c */

/* Rates, latencies and dead time of the last minute. */
void page_plots(struct windows *w, FILE *out);
#endif
