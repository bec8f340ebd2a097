/* SPDX-License-Identifier: Apache-2.0 */
/* Pixels with charge as a table, one event a file, RUN_EVENT-pixels.csv: module, column, row,
 * charge in counts; one line each, in any order.  Other columns are left out. */
#include <errno.h>

#include "gen_store.h"
#include "import_csv.h"

#define CHARGE_MAX 4095
#define PIXELS_MAX 4000000

enum { MODULE, COLUMN, ROW, CHARGE, COLUMNS };

static int read_pixel(void *arg, const struct csv *c, const uint32_t *column)
{
    struct import *im = arg;
    uint64_t v[COLUMNS];
    struct store_pixel p;
    int r = 0;

    for (int i = 0; r == 0 && i < COLUMNS; i++)
        r = csv_unsigned(c, column[i], i == CHARGE ? CHARGE_MAX : UINT16_MAX, &v[i]);
    if (r < 0)
        return r;
    if (im->g.n == PIXELS_MAX)
        return csv_fail(c, "an event may have %d pixels", PIXELS_MAX);
    p = (struct store_pixel){(uint32_t)v[MODULE], (uint32_t)v[COLUMN], (uint32_t)v[ROW],
                             (uint32_t)v[CHARGE]};
    return store_pixel(&im->g, &p, GENERATOR_NOISE) < 0 ? csv_no_memory(c) : 0;
}

int import_pixels(struct import *im, const char *path)
{
    static const char *const names[] = {"module", "column", "row", "charge", NULL};
    int r;

    if (!generator_pixels_kind())
        return import_fail(im, -ENOMEM, "%s: no memory", path);
    import_begin(im, generator_pixels_kind(), import_run(path), import_number(path));
    r = csv_rows(im, path, names, read_pixel, im);
    return r < 0 ? r : import_emit(im);
}
