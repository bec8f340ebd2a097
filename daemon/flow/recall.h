/* SPDX-License-Identifier: Apache-2.0 */
/* recall.h - decisions for resent RoIs: the last ones of a shard, and the RoIs in
 * flight, by (client key, run, l1id, RoI).
 *
 * A client that lost its connection, or its daemon, resends unanswered RoIs.  With a key
 * in its Hello such an RoI is not decided twice: it is answered from here.  RoIs older than the
 * last `clients.remember` ones of such clients are decided anew.  On the I/O thread of one shard.
 */
#ifndef TRIGD_RECALL_H
#define TRIGD_RECALL_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trigd.pb-c.h"

#define RECALL_NONE UINT32_MAX

struct recall_key {
    uint64_t client; /* of the Hello, not 0 */
    uint32_t run, l1id, roi_id;
};

struct recall_asker { /* to be answered as well when a pending RoI is decided */
    uint32_t client, epoch;
    uint64_t token;
};

struct recall;
/* Remembers `most` RoIs, in memory that is taken with their number. */
int recall_new(uint32_t most, struct recall **ret_recall);
void recall_free(struct recall *r); /* NULL is fine */

/* Enters an RoI that was taken into the pool.  RECALL_NONE when too many are pending: it is not
 * remembered. */
uint32_t recall_enter(struct recall *r, const struct recall_key *key, uint32_t roi);
/* The entry of an RoI that is pending or was decided; RECALL_NONE: none. */
uint32_t recall_find(const struct recall *r, const struct recall_key *key);
/* The pool's number of a pending RoI; RECALL_NONE: it was decided. */
uint32_t recall_pending(const struct recall *r, uint32_t entry);
/* Sends a pending RoI's decision to another client as well; the last one counts. */
void recall_wait(struct recall *r, uint32_t entry, const struct recall_asker *asker);
/* Keeps the decision of a pending RoI.  Returns whether another client waits for it. */
bool recall_keep(struct recall *r, uint32_t entry, const Trigd__V1__Decision *decision,
                 struct recall_asker *ret_asker);
/* Forgets a pending RoI that gets no decision.  Returns as recall_keep. */
bool recall_drop(struct recall *r, uint32_t entry, struct recall_asker *ret_asker);
/* A kept decision, which the caller frees; NULL: no memory. */
Trigd__V1__Decision *recall_decision(const struct recall *r, uint32_t entry);
#endif
