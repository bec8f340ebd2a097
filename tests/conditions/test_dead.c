/* SPDX-License-Identifier: Apache-2.0 */
/* Dead channels of `clusters` and `pixels`: what is found is, to the bit, what is found when the
 * pixels are taken out of the input here, one by one; and cases with known answers. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "seed.h"
#include "trigd/testing.h"

#define N_ROIS  30u
#define ITEMS   900u
#define ROWS    400u /* of the condition */
#define SENSORS 4u   /* few, so that pixels are hit */
#define COLUMNS 12u
#define PIXEL_Y 16u

enum { HITS, N_ITEMS, BAD, PIXELS, MASKED }; /* values */

struct rectangle {
    unsigned sensor, column, row, n_columns, n_rows;
};

static struct rectangle dead[ROWS];
static uint32_t n_dead;

/* An RoI as it is sent, and as it is without dead channels. */
struct event {
    uint32_t n, masked; /* masked: pixels */
    uint16_t sensor[ITEMS], column[ITEMS], row[ITEMS], charge[ITEMS];
    uint32_t word[ITEMS];
};
static struct event sent[N_ROIS], cleared[N_ROIS];
static struct trg_testing_roi roi[N_ROIS], expected[N_ROIS];

static bool is_dead(uint32_t sensor, uint32_t column, uint32_t row)
{
    for (uint32_t i = 0; i < n_dead; i++)
        if (dead[i].sensor == sensor && column >= dead[i].column &&
            column < dead[i].column + dead[i].n_columns && row >= dead[i].row &&
            row < dead[i].row + dead[i].n_rows)
            return true;
    return false;
}

/* ---------------------------------------------------------------- the two plugins */

/* The dead pixels of a super-pixel. */
static uint32_t dead_bits(uint32_t sensor, uint32_t word)
{
    uint32_t bits = 0;

    for (uint32_t k = 0; k < 8; k++)
        if (is_dead(sensor, 2 * (word >> 14 & 511) + k / 4, 4 * (word >> 8 & 63) + k % 4))
            bits |= 1u << k;
    return word & bits;
}

static bool is_word(uint32_t sensor, uint32_t word)
{
    return sensor < 208 && (word >> 14 & 511) < 384 && !(word >> 23 & 255) && (word & 255);
}

static void clear_words(const struct event *e, struct event *to)
{
    to->n = to->masked = 0;
    for (uint32_t i = 0; i < e->n; i++) {
        const uint32_t gone =
            is_word(e->sensor[i], e->word[i]) ? dead_bits(e->sensor[i], e->word[i]) : 0;

        to->masked += (uint32_t)__builtin_popcount(gone);
        if (gone && gone == (e->word[i] & 255))
            continue;
        to->sensor[to->n] = e->sensor[i];
        to->word[to->n++] = e->word[i] & ~gone;
    }
}

static void draw_words(struct event *e, uint64_t *seed)
{
    e->n = (uint32_t)seed_uniform(seed, 0, ITEMS);
    for (uint32_t i = 0; i < e->n; i++) {
        e->sensor[i] = (uint16_t)seed_uniform(seed, 0, SENSORS);
        e->word[i] = (uint32_t)seed_uniform(seed, 0, 256) |
                     (uint32_t)seed_uniform(seed, 0, PIXEL_Y / 4.0) << 8 |
                     (uint32_t)seed_uniform(seed, 0, COLUMNS / 2.0) << 14 |
                     (seed_uniform(seed, 0, 1) < 0.2 ? 1u << 31 : 0) |
                     (seed_uniform(seed, 0, 1) < 0.05 ? 1u << 25 : 0);
        if (seed_uniform(seed, 0, 1) < 0.05)
            e->sensor[i] = 60000;
    }
}

static void bind_words(struct trg_testing_roi *r, const struct event *e)
{
    r->in[0].n = e->n;
    r->in[0].column[0] = e->sensor;
    r->in[0].column[1] = e->word;
}

static void clear_pixels(const struct event *e, struct event *to)
{
    to->n = to->masked = 0;
    for (uint32_t i = 0; i < e->n; i++) {
        if (e->sensor[i] < 1184 && e->charge[i] && is_dead(e->sensor[i], e->column[i], e->row[i])) {
            to->masked++;
            continue;
        }
        to->sensor[to->n] = e->sensor[i];
        to->column[to->n] = e->column[i];
        to->row[to->n] = e->row[i];
        to->charge[to->n++] = e->charge[i];
    }
}

static void draw_pixels(struct event *e, uint64_t *seed)
{
    e->n = (uint32_t)seed_uniform(seed, 0, ITEMS);
    for (uint32_t i = 0; i < e->n; i++) {
        e->sensor[i] = (uint16_t)seed_uniform(seed, 0, SENSORS);
        e->column[i] = (uint16_t)seed_uniform(seed, 0, COLUMNS);
        e->row[i] = (uint16_t)seed_uniform(seed, 0, PIXEL_Y);
        e->charge[i] = (uint16_t)(seed_uniform(seed, 0, 1) < 0.1 ? 0 : seed_uniform(seed, 1, 4096));
        if (seed_uniform(seed, 0, 1) < 0.05)
            e->sensor[i] = 60000;
    }
}

static void bind_pixels(struct trg_testing_roi *r, const struct event *e)
{
    r->in[0].n = e->n;
    r->in[0].column[0] = e->sensor;
    r->in[0].column[1] = e->column;
    r->in[0].column[2] = e->row;
    r->in[0].column[3] = e->charge;
}

struct subject {
    const char *plugin, *condition;
    void (*draw)(struct event *, uint64_t *seed);
    void (*clear)(const struct event *, struct event *ret);
    void (*bind)(struct trg_testing_roi *, const struct event *);
};
static const struct subject subjects[] = {
    {"clusters", "dead_channels", draw_words, clear_words, bind_words},
    {"pixels", "dead_pixels", draw_pixels, clear_pixels, bind_pixels}};

/* ---------------------------------------------------------------- the condition */

static void draw_dead(uint64_t *seed)
{
    n_dead = (uint32_t)seed_uniform(seed, 1, 60);
    for (uint32_t i = 0; i < n_dead; i++) {
        const bool is_wide = seed_uniform(seed, 0, 1) < 0.1;

        dead[i] = (struct rectangle){
            (unsigned)seed_uniform(seed, 0, SENSORS - 1), /* one has none */
            (unsigned)seed_uniform(seed, 0, COLUMNS), (unsigned)seed_uniform(seed, 0, PIXEL_Y),
            (unsigned)seed_uniform(seed, 1, is_wide ? 4097 : 4),
            (unsigned)seed_uniform(seed, 1, is_wide ? 20 : 4)};
    }
    dead[n_dead++] = (struct rectangle){65535, 0, 0, 4096, 4096}; /* a sensor that is not there */
}

static void write_column(FILE *f, const char *name, size_t at)
{
    fprintf(f, "    %s: [", name);
    for (uint32_t i = 0; i < n_dead; i++)
        fprintf(f, "%s%u", i ? ", " : "", *(unsigned *)((char *)&dead[i] + at));
    fputs("]\n", f);
}

static int write_file(const char *path, const char *condition)
{
    FILE *f = fopen(path, "w");

    if (!f)
        return -1;
    fprintf(f, "conditions:\n  %s:\n", condition);
    write_column(f, "sensor", offsetof(struct rectangle, sensor));
    write_column(f, "column", offsetof(struct rectangle, column));
    write_column(f, "row", offsetof(struct rectangle, row));
    write_column(f, "n_columns", offsetof(struct rectangle, n_columns));
    write_column(f, "n_rows", offsetof(struct rectangle, n_rows));
    return fclose(f);
}

/* ---------------------------------------------------------------- comparison */

static int keep(struct trg_testing *t)
{
    for (uint32_t r = 0; r < N_ROIS; r++) {
        expected[r].result = roi[r].result;
        for (uint32_t k = 0; k < 2; k++) {
            const struct trg_collection *c = trg_testing_plugin(t)->produces[k];
            struct trg_testing_items *to = &expected[r].out[k];

            to->n = roi[r].out[k].n;
            for (uint32_t i = 0; i < c->n_columns; i++) {
                const size_t bytes = to->n * trg_column_bytes(&c->column[i]);

                free((void *)(uintptr_t)to->column[i]);
                to->column[i] = malloc(bytes + 1);
                if (!to->column[i])
                    return -1;
                memcpy((void *)(uintptr_t)to->column[i], roi[r].out[k].column[i], bytes);
            }
        }
    }
    return 0;
}

static bool is_same_product(const struct trg_collection *c, const struct trg_testing_items *a,
                            const struct trg_testing_items *b)
{
    for (uint32_t i = 0; a->n == b->n && i < c->n_columns; i++)
        if (memcmp(a->column[i], b->column[i], a->n * trg_column_bytes(&c->column[i])) != 0)
            return false;
    return a->n == b->n;
}

static bool is_as_expected(struct trg_testing *t, uint32_t r)
{
    const struct trg_plugin *p = trg_testing_plugin(t);
    const float *is = roi[r].result.value, *was = expected[r].result.value;

    return is[HITS] == was[HITS] && is[BAD] == was[BAD] && is[PIXELS] == was[PIXELS] &&
           is[N_ITEMS] == (float)sent[r].n && is[MASKED] == (float)cleared[r].masked &&
           was[MASKED] == 0 &&
           is_same_product(p->produces[0], &expected[r].out[0], &roi[r].out[0]) &&
           is_same_product(p->produces[1], &expected[r].out[1], &roi[r].out[1]);
}

static int run(struct trg_testing *t, uint32_t d, const char *conditions,
               const struct subject *subject, const struct event *events)
{
    for (uint32_t r = 0; r < N_ROIS; r++) {
        roi[r] = (struct trg_testing_roi){.info = {.run = 1, .l1id = r}};
        subject->bind(&roi[r], &events[r]);
    }
    return trg_testing_conditions(t, conditions) < 0 ? -1
                                                     : trg_testing_run(t, d, NULL, roi, N_ROIS);
}

/* All devices give what the first one gives without the dead pixels. */
static int check_device(struct trg_testing *t, uint32_t d, const char *path,
                        const struct subject *subject)
{
    uint32_t masked = 0, hits = 0;

    if (d == 0 && (run(t, d, NULL, subject, cleared) < 0 || keep(t) < 0))
        return -1;
    if (run(t, d, path, subject, sent) < 0)
        return -1;
    for (uint32_t r = 0; r < N_ROIS; r++) {
        if (!is_as_expected(t, r)) {
            printf("%s on %s: RoI %u is not that without its dead channels\n", subject->plugin,
                   trg_testing_device(t, d), r);
            return -1;
        }
        masked += cleared[r].masked;
        hits += roi[r].out[0].n;
    }
    if (run(t, d, NULL, subject, sent) < 0)
        return -1;
    for (uint32_t r = 0; r < N_ROIS; r++)
        if (roi[r].result.value[MASKED] != 0)
            return -1;
    printf("%s on %s: %u pixels left out, %u hits\n", subject->plugin, trg_testing_device(t, d),
           masked, hits);
    return masked && hits ? 0 : -1;
}

/* ---------------------------------------------------------------- by hand */

/* One RoI with one word, and the sizes of its clusters in order. */
static const struct hand {
    const char *what;
    struct rectangle dead[3];
    uint32_t words[2];
    uint32_t n, size[3], masked;
} hands[] = {
    {"the pixel in the middle of three divides them",
     {{0, 10, 21, 1, 1}},
     {5u << 14 | 5u << 8 | 7},
     2,
     {1, 1},
     1},
    {"a rectangle across two super-pixels",
     {{0, 10, 22, 1, 3}},
     {5u << 14 | 5u << 8 | 15, 5u << 14 | 6u << 8 | 15},
     2,
     {2, 3},
     3},
    {"rectangles that overlap",
     {{0, 0, 0, 11, 256}, {0, 10, 20, 1, 2}},
     {5u << 14 | 5u << 8 | 0x33},
     1,
     {2},
     2},
    {"a dead sensor",
     {{0, 0, 0, 768, 256}},
     {5u << 14 | 5u << 8 | 255, 383u << 14 | 63u << 8 | 255},
     0,
     {0},
     16},
    {"the last pixel", {{0, 767, 255, 1, 1}}, {383u << 14 | 63u << 8 | 0xc0}, 1, {1}, 1},
    {"another sensor is dead", {{1, 0, 0, 768, 256}}, {5u << 14 | 5u << 8 | 7}, 1, {3}, 0},
};

static int check_hand(struct trg_testing *t, uint32_t d, const char *path, const struct hand *h)
{
    static const uint16_t sensor[2] = {0, 0};
    struct trg_testing_roi r = {.info = {.run = 1}};
    bool is_right;

    for (n_dead = 0; n_dead < 3 && h->dead[n_dead].n_rows; n_dead++)
        dead[n_dead] = h->dead[n_dead];
    r.in[0].n = h->words[1] ? 2 : 1;
    r.in[0].column[0] = sensor;
    r.in[0].column[1] = h->words;
    if (write_file(path, "dead_channels") < 0 || trg_testing_conditions(t, path) < 0 ||
        trg_testing_run(t, d, NULL, &r, 1) < 0)
        return -1;
    is_right = r.out[0].n == h->n && r.result.value[BAD] == 0 &&
               r.result.value[MASKED] == (float)h->masked;
    for (uint32_t i = 0; is_right && i < h->n; i++)
        is_right = ((const uint16_t *)r.out[1].column[0])[i] == h->size[i];
    if (!is_right)
        printf("%s: %s: %u hits, %g bad, %g left out\n", trg_testing_device(t, d), h->what,
               r.out[0].n, (double)r.result.value[BAD], (double)r.result.value[MASKED]);
    return is_right ? 0 : -1;
}

static int check_subject(const struct subject *subject, const char *path, uint64_t seed)
{
    struct trg_testing *t = NULL;
    char plugin[1024];
    int failed;

    snprintf(plugin, sizeof plugin, "%s/plugins/%s.so", getenv("TRIGD_BUILD"), subject->plugin);
    draw_dead(&seed);
    for (uint32_t r = 0; r < N_ROIS; r++) {
        subject->draw(&sent[r], &seed);
        subject->clear(&sent[r], &cleared[r]);
    }
    failed = write_file(path, subject->condition) < 0 || trg_testing_open(plugin, &t) < 0;
    for (uint32_t d = 0; !failed && d < trg_testing_devices(t); d++)
        failed = check_device(t, d, path, subject) < 0;
    for (uint32_t d = 0; !failed && subject == subjects && d < trg_testing_devices(t); d++)
        for (size_t i = 0; !failed && i < sizeof hands / sizeof *hands; i++)
            failed = check_hand(t, d, path, &hands[i]) < 0;
    trg_testing_close(t);
    return failed;
}

int main(void)
{
    char path[] = "/tmp/trigd-dead-XXXXXX";
    const int fd = mkstemp(path);
    const uint64_t seed = fresh_seed();
    int failed = fd < 0;

    for (size_t i = 0; !failed && i < sizeof subjects / sizeof *subjects; i++)
        failed = check_subject(&subjects[i], path, seed);
    for (uint32_t r = 0; r < N_ROIS; r++)
        for (uint32_t k = 0; k < 2; k++)
            for (uint32_t i = 0; i < TRG_COLUMNS_MAX; i++)
                free((void *)(uintptr_t)expected[r].out[k].column[i]);
    close(fd);
    unlink(path);
    return failed;
}
