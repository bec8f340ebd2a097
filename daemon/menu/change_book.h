/* SPDX-License-Identifier: Apache-2.0 */
/* change_book.h - the operator's changes of prescales and conditions, each with its first lumi
 * block.
 *
 * A change begins with the first lumi block that no shard has seen yet, or with a later one that is
 * named, so that each lumi block has one set.  Changes stay over reloads: they are by name of the
 * chain or condition, and wait where the menu has none of that name.  Any thread.
 */
#ifndef TRIGD_CHANGE_BOOK_H
#define TRIGD_CHANGE_BOOK_H
#include "menu/conditions.h"
#include "menu/prescales.h"

#define CHANGE_NAME 64
_Static_assert(CHANGE_NAME >= CONDITION_NAME, "names of conditions fit");

enum change_what { CHANGE_PRESCALE, CHANGE_CONDITION };

struct change { /* of one chain or condition */
    char name[CHANGE_NAME];
    enum change_what what;
    double prescale;
    struct condition *condition;
};

struct lumi { /* a lumi block of a run; they follow each other in this order */
    uint32_t run, block;
};

static inline bool lumi_is_before(struct lumi a, struct lumi b)
{
    return a.run != b.run ? a.run < b.run : a.block < b.block;
}

struct change_order { /* several changes that take effect together, all of one kind */
    enum change_what what;
    const struct change *change;
    uint32_t n;
    bool is_whole;           /* those that are not in the list are the files' again */
    bool is_now;             /* from the next RoI on, whatever its lumi block */
    const struct lumi *from; /* from that lumi block on; NULL: from the next one that is not seen */
};

#define CHANGE_STARTS 64u /* changes that lumi blocks of before are still looked up in */

struct change_book;
int change_book_new(struct change_book **ret_book);
void change_book_free(struct change_book *b); /* NULL is fine */

/* Takes over an order, with a use of its conditions.  *ret_from tells from where it holds ({0, 0}:
 * at once, since it is to or no RoI came yet); then once the shards have forgotten what they know
 * of the book.  -ENOMEM; -ENOSPC: too many names; -ERANGE: no lumi block follows; -ESTALE:
 * RoIs of lumi block `from`, or later, came already; -EEXIST: another change waits for a later one,
 * which change_book_state tells. */
int change_book_change(struct change_book *b, const struct change_order *order,
                       struct lumi *ret_from);
/* Which version of the changes is in force in a lumi block, which counts as seen from here on. */
uint64_t change_book_look(struct change_book *b, struct lumi at);
/* The same without the latter. */
uint64_t change_book_version(struct change_book *b, struct lumi at);
/* Prescales and conditions of a menu in a lumi block, either NULL where it is not wanted; returns
 * the version.  The caller drops the conditions. */
uint64_t change_book_fill(struct change_book *b, struct lumi at, const struct menu *m,
                          struct prescales *ret_prescales, struct conditions *ret_conditions);
/* The last lumi block that was seen, and from where the last change is in force. */
void change_book_state(struct change_book *b, struct lumi *ret_newest, struct lumi *ret_from);
/* From where each version is in force that the last lumi block seen, or a later one, has; returns
 * how many. */
uint32_t change_book_starts(struct change_book *b, struct lumi ret_from[CHANGE_STARTS]);
#endif
