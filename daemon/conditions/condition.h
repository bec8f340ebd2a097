/* SPDX-License-Identifier: Apache-2.0 */
/* condition.h - a condition: a table that a plugin needs beside the data of RoIs, such as the beam
 * line or dead channels, declared as a collection is (docs/conditions.md).
 *
 * It does not change once it was read, and is shared: who keeps a pointer has a use of it, and the
 * last one to release it frees it.  Any thread.
 */
#ifndef TRIGD_CONDITION_H
#define TRIGD_CONDITION_H
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "trigd/plugin.h"

#define CONDITION_NAME 64

struct condition_need { /* what plugins ask for */
    const char *name;
    const struct trg_collection *table; /* its declaration; both of the plugin's descriptor */
    bool is_optional;
};

struct condition {
    _Atomic uint32_t users;
    char name[CONDITION_NAME];
    const struct trg_collection *table; /* borrowed from a plugin, which is never unloaded */
    uint64_t key;                       /* of declaration and rows: equal keys, equal rows */
    uint32_t n;                         /* rows */
    unsigned char *column[TRG_COLUMNS_MAX];
};

/* Room for n rows, all zero.  -ENOMEM. */
int condition_new(const struct condition_need *need, uint32_t n, struct condition **ret_condition);
/* The rows are there: works out the key. */
void condition_seal(struct condition *c);
struct condition *condition_use(struct condition *c); /* NULL is fine */
void condition_release(struct condition *c);          /* NULL is fine */

/* The most bytes of condition_lay_out for so many rows. */
size_t condition_bytes(const struct trg_collection *table, uint32_t n);
/* Lays the rows out as the input of one RoI (exec/stage.h) for plugins, and says where they are. */
size_t condition_lay_out(const struct condition *c, unsigned char *dst, struct trg_span *ret_span);
/* As it stands in a file. */
void condition_print(const struct condition *c, FILE *out);
#endif
