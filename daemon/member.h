/* SPDX-License-Identifier: Apache-2.0 */
/* member.h - the daemon as a node of a farm: a thread enlists it with the supervisors of
 * `supervisor.endpoints`, sends heartbeats, and carries out their orders (proto/farm.proto).
 *
 * RoIs come another way: a supervisor is a client of the daemon. */
#ifndef TRIGD_MEMBER_H
#define TRIGD_MEMBER_H
#include "base/stats.h"
#include "config/config.h"
#include "menu/menu.h"
#include "monitor/view.h"
#include "runs.h"

#define MEMBER_PROTOCOL 1u
#define MEMBER_MESSAGE  (1u << 20)        /* largest message between node and supervisor, bytes */
#define MEMBER_ENDS     "the daemon ends" /* why a node leaves in peace */

struct member;
/* Before the first menu runs.  *ret_member is NULL when no supervisor is configured.  Logs
 * failures. */
int member_open(const struct config *config, struct member **ret_member);
/* A menu runs from here on.  Any thread; NULL is fine. */
void member_set_menu(struct member *m, const struct menu *menu);
/* The daemon accepts RoIs: starts the thread.  NULL is fine. */
int member_start(struct member *m, const struct stats_set *stats, const struct control_hooks *hooks,
                 struct runs *runs);
/* Leaves the farm.  NULL is fine. */
void member_stop(struct member *m);
#endif
