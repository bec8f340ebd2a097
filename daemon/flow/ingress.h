/* SPDX-License-Identifier: Apache-2.0 */
/* ingress.h - messages in: decoded, checked, answered, their RoIs put into the pool. */
#ifndef TRIGD_INGRESS_H
#define TRIGD_INGRESS_H
#include "base/stats.h"
#include "config/config.h"
#include "flow/dispatch.h"
#include "memory/pool.h"
#include "transport/clients.h"

struct ingress;
/* `recall` may be NULL; `out` answers the RoIs in it. */
int ingress_open(const struct config *config, struct pool *pool, struct clients *clients,
                 struct stats *stats, struct dispatch *next, struct egress *out,
                 struct recall *recall, struct ingress **ret_ingress);
void ingress_close(struct ingress *in); /* NULL is fine */

/* Takes at most `most` messages and about 2 MiB from the ROUTER, and some RoIs of each co-located
 * client; returns how many there were. */
uint32_t ingress_turn(struct ingress *in, uint32_t most);
/* While draining, every RoI is answered Busy; `for_stream`: because a stream waits for its disk. */
void ingress_set_draining(struct ingress *in, bool draining, bool for_stream);
/* Books the time since the last call as dead or live. */
void ingress_tick(struct ingress *in, uint64_t now_ns);
#endif
