/* SPDX-License-Identifier: Apache-2.0 */
/* tickets.h - long commands: each has a number, and the outcomes of the last ones are kept for
 * their callers.  One thread at a time. */
#ifndef TRIGD_TICKETS_H
#define TRIGD_TICKETS_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TICKETS_KEPT 16u

struct tickets {
    uint64_t asked, ended; /* the last of each; one command is carried out at a time */
    struct {
        int result;
        char text[256];
    } kept[TICKETS_KEPT];
};

/* The next number; the one before has ended. */
uint64_t tickets_next(struct tickets *t);
/* The last one has ended, with one sentence. */
void tickets_end(struct tickets *t, int result, const char *text);
/* Whether a command has ended, and how. */
bool tickets_look(const struct tickets *t, uint64_t number, int *ret_result, char *text,
                  size_t bytes);
#endif
