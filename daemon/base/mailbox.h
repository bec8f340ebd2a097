/* SPDX-License-Identifier: Apache-2.0 */
/* mailbox.h - other threads ask the I/O thread to do something between two turns of its loop. */
#ifndef TRIGD_MAILBOX_H
#define TRIGD_MAILBOX_H
#include <stdbool.h>
#include <stdint.h>

struct mailbox;
/* `wake_fd` is an eventfd that wakes the loop. */
int mailbox_new(int wake_fd, struct mailbox **ret_mailbox);
void mailbox_free(struct mailbox *m); /* NULL is fine */

/* Has the I/O thread call fn(arg) and returns its result; -ETIMEDOUT when it did not
 * begin within `timeout_ms` or the mailbox is closed, and then fn is never called.  Any thread but
 * the I/O thread. */
int mailbox_call(struct mailbox *m, int (*fn)(void *arg), void *arg, uint32_t timeout_ms);
/* Runs the requests. The I/O thread. */
void mailbox_run(struct mailbox *m);
bool mailbox_is_empty(struct mailbox *m);
/* The I/O thread runs no more requests: those that wait, and all later ones, end at once.  Any
 * thread. */
void mailbox_close(struct mailbox *m);
#endif
