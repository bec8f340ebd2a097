/* SPDX-License-Identifier: Apache-2.0 */
/* accounts.h - the accounts of one shard by lumi block: RoIs, chains, streams; and the prescales
 * and conditions of each lumi block.
 *
 * An RoI enters the account of its lumi block, menu and prescale set, and leaves it with its
 * decision. Sets of chains are added up as bits and spread out once a turn, so that a large menu
 * costs little. On the I/O thread, except for accounts that were taken away.  docs/menus.md has the
 * file.
 */
#ifndef TRIGD_ACCOUNTS_H
#define TRIGD_ACCOUNTS_H
#include <stdio.h>

#include "exec/engine.h"
#include "farm.pb-c.h"
#include "flow/event_table.h"
#include "menu/chains.h"
#include "menu/change_book.h"

struct accounts;
/* `book` is shared by all shards. */
int accounts_new(struct change_book *book, struct accounts **ret_accounts);
void accounts_free(struct accounts *a); /* NULL is fine */

/* RoIs of the engine may come.  -ENOMEM. */
int accounts_begin(struct accounts *a, struct engine *e);
/* Its first ones do: shows its prescales in its stats. */
void accounts_show(const struct accounts *a, struct engine *e);
/* None came, and none will. */
void accounts_abandon(struct accounts *a, const struct engine *e);
/* Enters an RoI; returns its account.  There is always one: beyond 4,096 lumi blocks that are not
 * written yet, or without memory, one for all the others. */
uint32_t accounts_enter(struct accounts *a, struct engine *e, const struct trg_roi_info *info);
/* Enters an RoI of an event into the account of another one that is still in it. */
uint32_t accounts_join(struct accounts *a, uint32_t account);
const struct prescales *accounts_prescales(const struct accounts *a, uint32_t account);
/* They stay while an RoI is in the account. */
const struct conditions *accounts_conditions(const struct accounts *a, uint32_t account);
/* Counts the chains that its seeds selected. */
void accounts_seeded(struct accounts *a, uint32_t account, void *chains);
/* Counts its decision, or with `is_refused` that it has none, and lets it leave. */
void accounts_decided(struct accounts *a, const struct roi *r, void *chains, bool is_refused);
/* Counts the decision of an event of several RoIs, of which some are still in the account. */
void accounts_event(struct accounts *a, uint32_t account, const struct event_decision *d);
/* Spreads out the counts since the last call, to stats as well.  Once a turn. */
void accounts_flush(struct accounts *a);

/* Forgets which prescales and conditions are in force: what comes next looks them up again.  Shows
 * the prescales of the running engine in its stats. */
void accounts_forget_sets(struct accounts *a, struct engine *running);
/* The engine is going to be closed. */
void accounts_leave(struct accounts *a, const struct engine *e);

/* Takes all accounts away that no RoI is in; NULL: there is none. */
struct account *accounts_take(struct accounts *a);
/* Adds up accounts of several shards and puts them into order. */
struct account *account_merge(struct account *a, struct account *b);
/* The next of a list. */
const struct account *account_next(const struct account *a);
/* Writes them as JSON. */
void account_print(const struct account *list, FILE *out);
/* One account as a message of a node to its supervisor, on the heap; returns its bytes, 0 without
 * memory. */
size_t account_pack(const struct account *a, unsigned char **ret_message);
/* The account of such a message; NULL: there is no memory, or it is none. */
struct account *account_unpack(const Trigd__Farm__V1__Account *m);
void account_free(struct account *list);
#endif
