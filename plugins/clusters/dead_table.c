/* SPDX-License-Identifier: Apache-2.0 */
#include "dead_table.h"

#include <stdlib.h>
#include <string.h>

#include "dead_table.collections.h"

static int compare(const void *a, const void *b)
{
    const struct dead_row *p = a, *q = b;

    if (p->sensor != q->sensor)
        return p->sensor < q->sensor ? -1 : 1;
    return (p->dead.first_column > q->dead.first_column) -
           (p->dead.first_column < q->dead.first_column);
}

static uint32_t read_rows(const struct trg_input *table, uint32_t n_sensors, struct dead_row *rows)
{
    const uint16_t *sensor = TRG_DEAD_CHANNELS_SENSOR(table->host, table->span);
    const uint16_t *column = TRG_DEAD_CHANNELS_COLUMN(table->host, table->span);
    const uint16_t *row = TRG_DEAD_CHANNELS_ROW(table->host, table->span);
    const uint16_t *n_columns = TRG_DEAD_CHANNELS_N_COLUMNS(table->host, table->span);
    const uint16_t *n_rows = TRG_DEAD_CHANNELS_N_ROWS(table->host, table->span);
    uint32_t n = 0;

    for (uint32_t i = 0; i < table->span.n_items; i++)
        if (sensor[i] < n_sensors)
            rows[n++] = (struct dead_row){
                sensor[i],
                {column[i], column[i] + n_columns[i] - 1u, row[i], row[i] + n_rows[i] - 1u, 0}};
    return n;
}

/* Notes the columns of a rectangle. */
static void mark(const struct cl_dead *d, uint32_t n_columns, uint32_t *map)
{
    for (uint32_t c = d->first_column; c <= d->last_column && c < n_columns; c++)
        map[CL_MAP_WORD(c)] |= 1u << CL_MAP_BIT(c);
}

void dead_fill(const struct trg_input *table, const struct cl_par *par, struct dead_row *rows,
               uint32_t *first, uint32_t *map, struct cl_dead *dead)
{
    const uint32_t words = CL_MAP_WORDS(par->n_columns), n = read_rows(table, par->n_sensors, rows);
    uint32_t at = 0;

    memset(map, 0, (size_t)par->n_sensors * words * sizeof *map);
    qsort(rows, n, sizeof *rows, compare);
    for (uint32_t s = 0; s < par->n_sensors; s++) {
        uint32_t reach = 0;

        first[s] = at;
        for (; at < n && rows[at].sensor == s; at++) {
            reach = rows[at].dead.last_column > reach ? rows[at].dead.last_column : reach;
            dead[at] = rows[at].dead;
            dead[at].reach = reach;
            mark(&dead[at], par->n_columns, map + (size_t)s * words);
        }
    }
    first[par->n_sensors] = at;
}
