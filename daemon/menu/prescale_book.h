/* SPDX-License-Identifier: Apache-2.0 */
/* prescale_book.h - what the operator changed of the menu's prescales, and from which lumi block
 * on.
 *
 * A change begins with the first lumi block that no shard has seen yet, so that each lumi block has
 * one prescale set.  Changes stay over reloads: they are by name of the chain, and wait where the
 * menu has none of that name.  Any thread.
 */
#ifndef TRIGD_PRESCALE_BOOK_H
#define TRIGD_PRESCALE_BOOK_H
#include "menu/prescales.h"

#define PRESCALE_NAME 64

struct prescale_change {
    char chain[PRESCALE_NAME];
    double value;
};

struct lumi { /* a lumi block of a run; they follow each other in this order */
    uint32_t run, block;
};

static inline bool lumi_is_before(struct lumi a, struct lumi b)
{
    return a.run != b.run ? a.run < b.run : a.block < b.block;
}

struct prescale_book;
int prescale_book_new(struct prescale_book **ret_book);
void prescale_book_free(struct prescale_book *b); /* NULL is fine */

/* Reads a file with prescales.  0 and a list that the caller frees; -EINVAL with every problem
 * logged; -errno. */
int prescale_book_read(const char *path, struct prescale_change **ret_list, uint32_t *ret_n);
/* Takes over prescales of chains: `is_whole` forgets those of chains that are not in the list,
 * whose menu says then.  With `is_now` from the next RoI on, whatever its lumi block, once the
 * shards have forgotten what they know of the book; else from the next lumi block on, which
 * *ret_from tells
 * ({0, 0}: at once, since no RoI came yet).  -ENOMEM; -ENOSPC: too many chains were named. */
int prescale_book_change(struct prescale_book *b, const struct prescale_change *list, uint32_t n,
                         bool is_whole, bool is_now, struct lumi *ret_from);
/* Which version of the changes is in force in a lumi block, which counts as seen from here on. */
uint64_t prescale_book_look(struct prescale_book *b, struct lumi at);
/* The same without the latter. */
uint64_t prescale_book_version(struct prescale_book *b, struct lumi at);
/* The prescales of a menu in a lumi block; returns the version. */
uint64_t prescale_book_fill(struct prescale_book *b, struct lumi at, const struct menu *m,
                            struct prescales *ret_set);
/* The last lumi block that was seen, and from where the last change is in force. */
void prescale_book_state(struct prescale_book *b, struct lumi *ret_newest, struct lumi *ret_from);
#endif
