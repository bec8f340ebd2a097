/* SPDX-License-Identifier: Apache-2.0 */
/* ending.h - the end of a thread, which another waits for with a limit, because a disk may not
 * answer it.  (The thread sanitizer does not know pthread_clockjoin_np.) */
#ifndef TRIGD_ENDING_H
#define TRIGD_ENDING_H
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

struct ending {
    pthread_mutex_t lock;
    pthread_cond_t bell;
    bool is_over;
};

void ending_init(struct ending *e);
void ending_fini(struct ending *e); /* its thread was joined, or never was */
/* The last that the thread does. */
void ending_say(struct ending *e);
/* Joins it when it ends within that time; false: it still runs. */
bool ending_join(struct ending *e, pthread_t thread, uint32_t ms);
#endif
