/* SPDX-License-Identifier: Apache-2.0 */
#include "plugin/room.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "refuse.h"

static const struct trg_param *param_of(const struct trg_plugin *d, const char *name)
{
    for (const struct trg_param *p = d->params; p && p->name; p++)
        if (!strcmp(p->name, name))
            return p;
    return NULL;
}

static uint32_t product_of(const struct trg_plugin *d, const char *name)
{
    uint32_t k = 0;

    while (k < TRG_OUTPUTS_MAX && d->produces[k] && strcmp(d->produces[k]->name, name))
        k++;
    return k < TRG_OUTPUTS_MAX && d->produces[k] ? k : TRG_OUTPUTS_MAX;
}

static bool is_given(const struct trg_amount *a)
{
    return a->number || a->plus || a->minus;
}

/* ---------------------------------------------------------------- what the table must be */

static int check_amount(const struct trg_plugin *d, const struct trg_room *row,
                        const struct trg_amount *a, char *why, size_t bytes)
{
    const char *const names[] = {a->plus, a->minus};

    for (size_t i = 0; i < 2; i++) {
        const struct trg_param *p = names[i] ? param_of(d, names[i]) : NULL;

        if (names[i] && (!p || p->type != TRG_PARAM_U32))
            return refuse(why, bytes,
                          "room for %s names '%s'; parameters of the type U32 are allowed",
                          row->product, names[i]);
    }
    return 0;
}

static int check_input(const struct trg_plugin *d, const struct trg_room *row, uint32_t k,
                       bool *is_bounded, char *why, size_t bytes)
{
    const struct trg_amount *divisor = &row->in[k].divisor;
    const char *when = row->in[k].when;
    const struct trg_param *p = when ? param_of(d, when) : NULL;

    if (!is_given(&row->in[k].factor) && !is_given(&row->in[k].constant))
        return 0;
    if (!d->consumes[k])
        return refuse(why, bytes, "room for %s depends on input %u, which there is not",
                      row->product, k);
    if (when && (!p || (p->type != TRG_PARAM_BOOL && p->type != TRG_PARAM_CHOICE)))
        return refuse(why, bytes,
                      "room for %s depends on '%s'; parameters of the types BOOL and CHOICE are "
                      "allowed",
                      row->product, when);
    if (check_amount(d, row, &row->in[k].factor, why, bytes) < 0 ||
        check_amount(d, row, divisor, why, bytes) < 0 ||
        check_amount(d, row, &row->in[k].constant, why, bytes) < 0)
        return -EINVAL;
    *is_bounded |= !when && !divisor->plus && !divisor->minus;
    return 0;
}

int room_check(const struct trg_plugin *d, char *why, size_t why_bytes)
{
    uint32_t n = 0;

    for (const struct trg_room *row = d->room; row && row->product; row++) {
        bool is_bounded = is_given(&row->cap);

        if (product_of(d, row->product) == TRG_OUTPUTS_MAX)
            return refuse(why, why_bytes, "there is room for %s, which it does not produce",
                          row->product);
        if (check_amount(d, row, &row->cap, why, why_bytes) < 0)
            return -EINVAL;
        for (uint32_t k = 0; k < TRG_INPUTS_MAX; k++)
            if (check_input(d, row, k, &is_bounded, why, why_bytes) < 0)
                return -EINVAL;
        if (!is_bounded)
            return refuse(why, why_bytes,
                          "room for %s has no bound: a cap is needed, or an input without `when` "
                          "and with a plain divisor",
                          row->product);
        if (++n > ROOM_ROWS_MAX - TRG_OUTPUTS_MAX)
            return refuse(why, why_bytes, "its table of room has more than %u rows",
                          ROOM_ROWS_MAX - TRG_OUTPUTS_MAX);
    }
    return 0;
}

/* ---------------------------------------------------------------- with parameters */

static uint32_t value_of(const struct trg_plugin *d, const void *config, const char *name)
{
    uint32_t value;

    memcpy(&value, (const char *)config + param_of(d, name)->offset, sizeof value);
    return value;
}

static uint64_t amount(const struct trg_plugin *d, const void *config, const struct trg_amount *a)
{
    const uint64_t sum = (uint64_t)a->number + (a->plus ? value_of(d, config, a->plus) : 0);
    const uint64_t less = a->minus ? value_of(d, config, a->minus) : 0;

    return sum > less ? sum - less : 0;
}

static void init_row(const struct trg_plugin *d, const void *config, const struct trg_room *from,
                     struct room_row *row)
{
    *row = (struct room_row){.product = product_of(d, from->product), .cap = UINT32_MAX};
    if (is_given(&from->cap))
        row->cap = amount(d, config, &from->cap);
    for (uint32_t k = 0; k < TRG_INPUTS_MAX; k++) {
        if ((!is_given(&from->in[k].factor) && !is_given(&from->in[k].constant)) ||
            (from->in[k].when && !value_of(d, config, from->in[k].when)))
            continue;
        row->in[k] = (struct room_input){
            .factor = amount(d, config, &from->in[k].factor),
            .divisor = is_given(&from->in[k].divisor) ? amount(d, config, &from->in[k].divisor) : 1,
            .constant = amount(d, config, &from->in[k].constant)};
    }
}

void room_init(const struct trg_plugin *d, const void *config, struct room *ret_room)
{
    bool has_rows[TRG_OUTPUTS_MAX] = {false};

    ret_room->n_rows = 0;
    for (const struct trg_room *from = d->room; from && from->product; from++) {
        init_row(d, config, from, &ret_room->row[ret_room->n_rows]);
        has_rows[ret_room->row[ret_room->n_rows++].product] = true;
    }
    for (uint32_t k = 0; k < TRG_OUTPUTS_MAX; k++)
        if (d->produces[k] && !has_rows[k])
            ret_room->row[ret_room->n_rows++] =
                (struct room_row){.product = k, .cap = d->produces[k]->room};
}

void room_items(const struct room *room, const uint32_t *n_in, uint32_t *n_out)
{
    for (uint32_t k = 0; k < TRG_OUTPUTS_MAX; k++)
        n_out[k] = 0;
    for (uint32_t i = 0; i < room->n_rows; i++) {
        const struct room_row *row = &room->row[i];
        uint64_t most = row->cap, sum;

        for (uint32_t k = 0; k < TRG_INPUTS_MAX; k++) {
            const struct room_input *in = &row->in[k];
            uint64_t bound;

            if (!in->divisor)
                continue;
            bound = in->constant + in->factor * n_in[k] / in->divisor;
            most = bound < most ? bound : most;
        }
        sum = n_out[row->product] + most;
        n_out[row->product] = sum < UINT32_MAX ? (uint32_t)sum : UINT32_MAX;
    }
}
