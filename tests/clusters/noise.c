/* SPDX-License-Identifier: Apache-2.0 */
#include "noise.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "seed.h"

#define SENSORS 208u
#define COLUMNS 768u
#define ROWS    256u

void noise_sensors(struct noise *n, uint32_t step, double rate)
{
    n->n = 0;
    n->rate = rate;
    for (uint32_t s = step / 2; s < SENSORS; s += step)
        n->part[n->n++] = (struct noise_part){s, 0, 0, COLUMNS, ROWS};
}

void noise_pixels(struct noise *n, uint32_t each, uint64_t seed)
{
    n->n = 0;
    n->rate = 1;
    for (uint32_t i = 0; i < each * SENSORS && i < NOISE_MOST; i++)
        n->part[n->n++] = (struct noise_part){i / each, (unsigned)seed_uniform(&seed, 0, COLUMNS),
                                              (unsigned)seed_uniform(&seed, 0, ROWS), 1, 1};
}

static int add_pixel(struct banks *b, uint32_t sensor, uint32_t column, uint32_t row)
{
    return banks_add(b, sensor, BANK_WORD(column / 2, row / 4, 1u << (column % 2 * 4 + row % 4)));
}

int noise_add(const struct noise *n, const struct banks *from, uint64_t seed, struct banks *ret)
{
    int r = 0;

    *ret = (struct banks){.n = 0};
    for (uint32_t i = 0; r == 0 && i < from->n; i++)
        r = banks_add(ret, from->sensor[i], from->word[i]);
    for (uint32_t i = 0; i < n->n; i++) {
        const struct noise_part *p = &n->part[i];

        for (uint32_t k = 0; r == 0 && k < p->n_columns * p->n_rows; k++)
            if (seed_uniform(&seed, 0, 1) < n->rate)
                r = add_pixel(ret, p->sensor, p->column + k / p->n_rows, p->row + k % p->n_rows);
    }
    return r;
}

static bool has(const struct noise *n, uint32_t sensor, uint32_t column, uint32_t row)
{
    for (uint32_t i = 0; i < n->n; i++) {
        const struct noise_part *p = &n->part[i];

        if (p->sensor == sensor && column - p->column < p->n_columns && row - p->row < p->n_rows)
            return true;
    }
    return false;
}

int noise_remove(const struct noise *n, const struct banks *from, struct banks *ret)
{
    int r = 0;

    *ret = (struct banks){.n = 0};
    for (uint32_t i = 0; r == 0 && i < from->n; i++) {
        uint32_t word = from->word[i];

        for (uint32_t k = 0; k < 8; k++)
            if (word >> k & 1 && has(n, from->sensor[i], 2 * (word >> 14 & 511) + k / 4,
                                     4 * (word >> 8 & 63) + k % 4))
                word &= ~(1u << k);
        if (word & 255)
            r = banks_add(ret, from->sensor[i], word);
    }
    return r;
}

static void write_column(FILE *f, const struct noise *n, const char *name, size_t at)
{
    fprintf(f, "    %s: [", name);
    for (uint32_t i = 0; i < n->n; i++)
        fprintf(f, "%s%u", i ? ", " : "", *(const unsigned *)((const char *)&n->part[i] + at));
    fputs("]\n", f);
}

static int write_file(const struct noise *n, int fd)
{
    FILE *f = fdopen(fd, "w");

    if (!f)
        return -errno;
    fputs("conditions:\n  dead_channels:\n", f);
    write_column(f, n, "sensor", offsetof(struct noise_part, sensor));
    write_column(f, n, "column", offsetof(struct noise_part, column));
    write_column(f, n, "row", offsetof(struct noise_part, row));
    write_column(f, n, "n_columns", offsetof(struct noise_part, n_columns));
    write_column(f, n, "n_rows", offsetof(struct noise_part, n_rows));
    return fclose(f) < 0 ? -errno : 0;
}

int noise_conditions(const struct noise *n, const struct algo_host *clusters,
                     struct condition_list *ret_list)
{
    struct condition_need needs[NEEDS_MAX];
    char path[] = "/tmp/trigd-noise-XXXXXX";
    const int fd = mkstemp(path);
    int r = fd < 0 ? -errno : write_file(n, fd);

    if (r == 0)
        r = conditions_read(path, needs, conditions_needed(clusters->plugins, needs, NEEDS_MAX),
                            ret_list);
    unlink(path);
    return r;
}
