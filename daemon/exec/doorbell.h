/* SPDX-License-Identifier: Apache-2.0 */
/* doorbell.h - how runners in any process wake the dispatcher: a flag in a shared page, and an
 * eventfd to write when the flag says that it sleeps. */
#ifndef TRIGD_DOORBELL_H
#define TRIGD_DOORBELL_H
#include <stdatomic.h>
#include <stdint.h>

struct doorbell {
    int page_fd, event_fd;
    _Atomic uint32_t *sleeping; /* enum runner_wake; alone in its page */
};

int doorbell_open(struct doorbell *ret_bell);
/* Maps the page of another process; takes both descriptors over. */
int doorbell_map(int page_fd, int event_fd, struct doorbell *ret_bell);
void doorbell_close(struct doorbell *b); /* one that is zero is fine */
#endif
