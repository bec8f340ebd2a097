/* SPDX-License-Identifier: Apache-2.0 */
/* guests.h - the guests of the configuration in the front: their places, the operator's orders,
 * their states.
 *
 * A guest is the daemon's, its worker a menu generation's: a new generation gets it from the old
 * one by way of a checkpoint.  On a CPU it has a worker of its own; on a GPU it shares that of the
 * lanes, because contexts of several processes would be time-sliced.  A thread of the front checks
 * all guests every few milliseconds.  A guest whose code ran when its worker ended stays disabled
 * until the operator starts it again.
 */
#ifndef TRIGD_GUESTS_H
#define TRIGD_GUESTS_H
#include "base/stats.h"
#include "config/config.h"
#include "exec/guest_page.h"
#include "plugin/plugin_host.h"

#define GUESTS_MAX STATS_GUESTS_MAX

struct guests;
struct generation;

/* Checks the guests of the configuration: plugins, parameters.  Logs every problem.  0 or
 * -EINVAL. */
int guests_check(const struct config *c, struct plugin_host *plugins);
/* Makes them and their folders; they start with the first generation.  *ret_guests is NULL where
 * the configuration has none.  What is passed outlives them. */
int guests_open(const struct config *c, struct plugin_host *plugins, struct stats *stats,
                struct guests **ret_guests);
/* Has their checkpoints written, as far as that takes no longer than some seconds, and ends them.
 * Before the generation is closed.  NULL is fine, here and below. */
void guests_close(struct guests *g);
/* What counts the batches of a shard on a device; NULL: there is no guest. */
struct guest_gate *guests_gate(struct guests *g, const char *backend, uint32_t index,
                               uint32_t shard);
/* The guests go to the workers of this generation, before the old one is closed.  Waits for their
 * checkpoints.  One caller at a time. */
void guests_move(struct guests *g, struct generation *to);

/* What the operator wants of a guest; waits for it a little, and says in one sentence how it
 * stands. -ENOENT: there is no such guest.  Any thread. */
int guests_order(struct guests *g, const char *name, enum guest_order order, char *text,
                 size_t bytes);

struct guest_info {
    char name[GUEST_NAME], plugin[GUEST_NAME], device[32], when[16];
    char state[16]; /* "running", "waiting", "paused", "stopped", "done", "disabled", ... */
    char progress[GUEST_TEXT], why[GUEST_TEXT];
    const struct stats_guest *stats;
};
/* The i-th one; false past the last.  Any thread. */
bool guests_look(struct guests *g, uint32_t i, struct guest_info *ret_info);
#endif
