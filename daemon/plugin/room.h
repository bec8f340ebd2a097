/* SPDX-License-Identifier: Apache-2.0 */
/* room.h - the most items that a plugin can make of an RoI, from the table in its descriptor and
 * its parameters: no code of the plugin runs for it. */
#ifndef TRIGD_ROOM_H
#define TRIGD_ROOM_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trigd/plugin.h"

#define ROOM_ROWS_MAX 8u

struct room { /* the table with the values of parameters */
    uint32_t n_rows;
    struct room_row {
        uint32_t product;
        uint64_t cap; /* UINT32_MAX: none */
        struct room_input {
            uint64_t factor, divisor, constant; /* a divisor of 0: it does not count */
        } in[TRG_INPUTS_MAX];
    } row[ROOM_ROWS_MAX];
};

/* Whether the table is one that room_init may read.  -EINVAL with one sentence in `why`. */
int room_check(const struct trg_plugin *d, char *why, size_t why_bytes);
/* `config` is the plugin's, filled. */
void room_init(const struct trg_plugin *d, const void *config, struct room *ret_room);
/* n_out[k]: the most items of product k of an RoI with n_in[k] items of input k. */
void room_items(const struct room *room, const uint32_t *n_in, uint32_t *n_out);
#endif
