/* SPDX-License-Identifier: Apache-2.0 */
/* trigd/common/group.h on every device: for group sizes from 1 to the largest and sizes around
 * them, against loops that say what each function does. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "devices.h"
#include "group.h"
#include "group.program.h"
#include "seed.h"

#define GROUPS 3u
#define ROOM   5000u /* words of a group's part */
#define WORDS  (GROUPS * ROOM)
#define ARRAYS 4u

static const uint32_t sizes[] = {0, 1, 2, 15, 31, 64, 65, 127, 1000, 1024, 1025, 4999};
static const uint32_t group_sizes[] = {1, 3, 33, 64, 250, 1024};
#define N_SIZES       (sizeof sizes / sizeof *sizes)
#define N_GROUP_SIZES (sizeof group_sizes / sizeof *group_sizes)

struct bench { /* one device, four arrays there and here */
    struct device *device;
    struct trg_queue *queue;
    struct trg_module *module;
    struct trg_buffer *dev[ARRAYS], *pinned;
    uint32_t in[ARRAYS][WORDS], out[ARRAYS][WORDS];
};

static struct bench *begin(uint32_t i)
{
    struct bench *b = calloc(1, sizeof *b);

    assert_non_null(b);
    b->device = devices_get(i);
    assert_int_equal(trg_queue_new(b->device->d, &b->queue), 0);
    assert_int_equal(trg_module_new(b->device->d, &group_program, NULL, &b->module), 0);
    for (uint32_t k = 0; k < ARRAYS; k++)
        assert_int_equal(trg_buffer_new(b->device->d, TRG_MEM_DEVICE, sizeof b->in[k], &b->dev[k]),
                         0);
    assert_int_equal(trg_buffer_new(b->device->d, TRG_MEM_PINNED, sizeof b->in[0], &b->pinned), 0);
    return b;
}

static void end(struct bench *b)
{
    trg_queue_free(b->queue);
    for (uint32_t k = 0; k < ARRAYS; k++)
        trg_buffer_free(b->dev[k]);
    trg_buffer_free(b->pinned);
    trg_module_free(b->module);
    free(b);
}

/* Random words; of few different values when `few`. */
static void randomize(struct bench *b, uint64_t *seed, uint32_t few)
{
    for (uint32_t k = 0; k < ARRAYS; k++)
        for (uint32_t i = 0; i < WORDS; i++)
            b->in[k][i] = few ? devices_random(seed) % few : devices_random(seed);
}

/* Runs a kernel on the arrays `in`, as many as it takes; their new contents are in `out`. */
static void run(struct bench *b, const char *name, uint32_t n_arrays, uint32_t group_size,
                struct group_par par)
{
    struct trg_arg args[ARRAYS + 1];
    struct trg_kernel *k = NULL;

    assert_int_equal(trg_kernel_get(b->module, name, &k), 0);
    for (uint32_t i = 0; i < n_arrays; i++) {
        memcpy(trg_buffer_host(b->pinned), b->in[i], sizeof b->in[i]);
        assert_int_equal(trg_write(b->queue, b->dev[i], 0, b->pinned, 0, sizeof b->in[i]), 0);
        assert_int_equal(trg_finish(b->queue), 0);
        args[i] = TRG_BUF(b->dev[i]);
    }
    args[n_arrays] = TRG_VAL(par);
    assert_int_equal(
        trg_launch(b->queue, k, (struct trg_range){GROUPS, group_size}, args, n_arrays + 1), 0);
    for (uint32_t i = 0; i < n_arrays; i++) {
        assert_int_equal(trg_read(b->queue, b->pinned, 0, b->dev[i], 0, sizeof b->out[i]), 0);
        assert_int_equal(trg_finish(b->queue), 0);
        memcpy(b->out[i], trg_buffer_host(b->pinned), sizeof b->out[i]);
    }
}

typedef void check_fn(struct bench *b, uint32_t group_size, struct group_par par);

/* Calls `check` on all devices, for all group sizes and sizes. */
static void everywhere(check_fn *check, uint32_t few)
{
    uint64_t seed = fresh_seed();

    for (uint32_t d = 0; d < devices_count(); d++) {
        struct bench *b = begin(d);

        for (uint32_t g = 0; g < N_GROUP_SIZES; g++) {
            if (group_sizes[g] > b->device->info.group_max && !b->device->info.is_host)
                continue;
            randomize(b, &seed, few);
            for (uint32_t s = 0; s < N_SIZES; s++)
                check(b, group_sizes[g],
                      (struct group_par){.n = sizes[s], .room = ROOM, .shift = 4 * (s % 8)});
        }
        end(b);
    }
}

static void check_scan(struct bench *b, uint32_t group_size, struct group_par par)
{
    run(b, "group_scan_values", 3, group_size, par);
    for (uint32_t g = 0; g < GROUPS; g++) {
        uint32_t sum = 0;

        for (uint32_t i = 0; i < par.n; i++) {
            assert_int_equal(b->out[1][g * ROOM + i], sum);
            sum += b->in[0][g * ROOM + i];
        }
        assert_int_equal(b->out[2][g], sum);
        assert_int_equal(b->out[1][g * ROOM + par.n], b->in[1][g * ROOM + par.n]);
    }
    run(b, "group_scan_array", 2, group_size, par);
    for (uint32_t g = 0; g < GROUPS; g++) {
        uint32_t sum = 0;

        for (uint32_t i = 0; i < par.n; i++) {
            assert_int_equal(b->out[0][g * ROOM + i], sum);
            sum += b->in[0][g * ROOM + i];
        }
        assert_int_equal(b->out[1][g], sum);
        assert_int_equal(b->out[0][g * ROOM + par.n], b->in[0][g * ROOM + par.n]);
    }
}

static void scan(void **state)
{
    (void)state;
    everywhere(check_scan, 0);
}

static void check_reduce(struct bench *b, uint32_t group_size, struct group_par par)
{
    run(b, "group_reduce", 2, group_size, par);
    for (uint32_t g = 0; g < GROUPS; g++) {
        uint32_t sum = 0, least = UINT32_MAX, most = 0, bits = 0;

        for (uint32_t i = 0; i < par.n; i++) {
            const uint32_t v = b->in[0][g * ROOM + i];

            sum += v;
            least = v < least ? v : least;
            most = v > most ? v : most;
            bits |= v;
        }
        assert_int_equal(b->out[1][4 * g], sum);
        assert_int_equal(b->out[1][4 * g + 1], least);
        assert_int_equal(b->out[1][4 * g + 2], most);
        assert_int_equal(b->out[1][4 * g + 3], bits);
    }
}

static void reduce(void **state)
{
    (void)state;
    everywhere(check_reduce, 0);
}

static void check_compact(struct bench *b, uint32_t group_size, struct group_par par)
{
    run(b, "group_compact", 4, group_size, par);
    for (uint32_t g = 0; g < GROUPS; g++) {
        uint32_t n = 0;

        for (uint32_t i = 0; i < par.n; i++)
            if (b->in[0][g * ROOM + i] & 1u)
                assert_int_equal(b->out[2][g * ROOM + n++], i);
        assert_int_equal(b->out[3][g], n);
        assert_int_equal(b->out[2][g * ROOM + n], b->in[2][g * ROOM + n]); /* no more than n */
    }
}

static void compact(void **state)
{
    (void)state;
    everywhere(check_compact, 0);
}

static void check_pass(struct bench *b, uint32_t group_size, struct group_par par)
{
    run(b, "group_pass", 4, group_size, par);
    for (uint32_t g = 0; g < GROUPS; g++) {
        const uint32_t at = g * ROOM;
        uint32_t place = 0;

        for (uint32_t digit = 0; digit < 16; digit++)
            for (uint32_t i = 0; i < par.n; i++) {
                if ((b->in[0][at + i] >> par.shift & 15u) != digit)
                    continue;
                assert_int_equal(b->out[2][at + place], b->in[0][at + i]);
                assert_int_equal(b->out[3][at + place], b->in[1][at + i]);
                place++;
            }
        assert_int_equal(place, par.n);
        assert_int_equal(b->out[2][at + par.n], b->in[2][at + par.n]);
    }
}

static void radix_pass(void **state)
{
    (void)state;
    everywhere(check_pass, 0);
}

/* Ascending keys; equal keys in their order, which the values tell; nothing lost. */
static void check_sort(struct bench *b, uint32_t group_size, struct group_par par)
{
    for (uint32_t i = 0; i < WORDS; i++)
        b->in[1][i] = i % ROOM;
    run(b, "group_sort", 4, group_size, par);
    for (uint32_t g = 0; g < GROUPS; g++) {
        const uint32_t *key = b->out[0] + g * ROOM, *value = b->out[1] + g * ROOM;

        for (uint32_t i = 0; i < par.n; i++) {
            assert_true(value[i] < par.n);
            assert_int_equal(key[i], b->in[0][g * ROOM + value[i]]);
            if (i > 0)
                assert_true(key[i - 1] < key[i] ||
                            (key[i - 1] == key[i] && value[i - 1] < value[i]));
        }
        assert_int_equal(key[par.n], b->in[0][g * ROOM + par.n]);
    }
}

static void sort(void **state)
{
    (void)state;
    everywhere(check_sort, 0);
    everywhere(check_sort, 7); /* one pass: the copy back */
    everywhere(check_sort, 1); /* all the same: no pass */
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(scan), cmocka_unit_test(reduce),
                                       cmocka_unit_test(compact), cmocka_unit_test(radix_pass),
                                       cmocka_unit_test(sort)};

    return devices_main(argc, argv, tests, sizeof tests / sizeof *tests);
}
