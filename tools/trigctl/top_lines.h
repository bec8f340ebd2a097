/* SPDX-License-Identifier: Apache-2.0 */
/* top_lines.h - what `trigctl top` shows, as lines: from the answers of a daemon or supervisor. */
#ifndef TRIGCTL_TOP_LINES_H
#define TRIGCTL_TOP_LINES_H
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#define TOP_LINES   2048u /* more are left out, and a line says so */
#define TOP_BYTES   256u
#define TOP_HISTORY 60u

enum top_look { TOP_PLAIN, TOP_TITLE, TOP_GOOD, TOP_BAD };

struct top_line {
    enum top_look look;
    char text[TOP_BYTES];
};

struct top_view {
    const char *window; /* "1s", "10s", "60s" */
    const char *filter; /* entries whose name has it; "": all */
    bool by_rate;       /* sorted by rate, else by name */
};

struct top {
    struct top_line line[TOP_LINES];
    uint32_t n;
    double received[TOP_HISTORY]; /* a second, newest last */
    uint32_t n_received;
};

/* Asks for everything once and makes the lines.  0, or a negative errno of talk(); -EBADMSG: the
 * answer is none that this trigctl understands. */
int top_ask(struct top *t, const char *socket, const struct top_view *view, int timeout_s);
#endif
