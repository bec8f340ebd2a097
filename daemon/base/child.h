/* SPDX-License-Identifier: Apache-2.0 */
/* child.h - this program, started again as a child process that holds one end of a socketpair.
 *
 * The child inherits nothing else but stderr: its messages and descriptors come over the socket
 * (fdmessage.h), and it ends when it reads the socket's end.
 */
#ifndef TRIGD_CHILD_H
#define TRIGD_CHILD_H
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define CHILD_SOCKET 3 /* the child's end, in the child */

struct child {
    pid_t pid;  /* 0: none */
    int pidfd;  /* readable when it has ended */
    int socket; /* the parent's end */
};

/* Whether this process is such a child, by its socket: nobody gives `trigd MODE` one by hand. */
bool child_is(void);
/* In the child, first of all: it is killed when the thread that started it ends, so that one that
 * is stopped does not outlive its daemon; SIGPIPE is ignored. */
void child_enter(void);

void child_init(struct child *c);
/* Starts the program as `trigd MODE`.  -errno (logged); nothing is left then. */
int child_start(const char *mode, struct child *c);
/* SIGKILL.  None is fine. */
int child_kill(const struct child *c);
/* After its end: its status, as from waitpid; forgets the child. */
int child_reap(struct child *c);
/* Lets it end by itself within that time, else kills it; reaps it.  None is fine. */
void child_end(struct child *c, uint32_t within_ms);
#endif
