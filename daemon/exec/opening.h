/* SPDX-License-Identifier: Apache-2.0 */
/* opening.h - how far the opening of a menu generation is, and whether it is to end: lanes may take
 * minutes to open, or never do. */
#ifndef TRIGD_OPENING_H
#define TRIGD_OPENING_H
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

#define OPENING_TEXT 200

struct opening {
    int told_fd;   /* readable while SIGTERM or SIGINT waits for the daemon's loop */
    int cancel_fd; /* readable for good when the daemon ends */
    pthread_mutex_t lock;
    char text[OPENING_TEXT];
    char why[OPENING_TEXT]; /* it was refused; "": the log says it */
};

/* SIGTERM and SIGINT are blocked in all threads. */
int opening_init(struct opening *o);
void opening_fini(struct opening *o);
/* Of a reload: it reads the menu, and nothing was refused. */
void opening_begin(struct opening *o);
/* Where it is, in a few words.  Any thread. */
void opening_say(struct opening *o, const char *format, ...) __attribute__((format(printf, 2, 3)));
void opening_text(struct opening *o, char *text, size_t bytes);
/* Why it is refused, in one sentence. */
void opening_refuse(struct opening *o, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void opening_why(struct opening *o, char *text, size_t bytes);
/* Nothing is waited for any more. */
void opening_cancel(struct opening *o);
bool opening_is_cancelled(const struct opening *o);
#endif
