/* SPDX-License-Identifier: Apache-2.0 */
/* Batches that a device gathers itself, against stage_fill: the same bytes and the same faults, for
 * random RoIs of every type of column, some with values that are not allowed, and large ones of
 * columns in which every value is.  Then the same of a block into which the front has copied them
 * as they came. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "exec/pull.h"
#include "exec/raw.h"
#include "exec/sample.h"
#include "rig.h"
#include "seed.h"

#include "samples.collections.h"

#define MAX_LAYER  40u
#define ROIS       24u
#define MOST       700u  /* items of an RoI */
#define LARGE      5000u /* the same, of anything: copies fetch them, but for small batches */
#define LARGE_MOST 20u   /* RoIs of them, for which there is room */
#define MEMORY     ((size_t)1 << 20)
#define PAGE       4096u
#define PART       (MEMORY / 8) /* of the memory, opened by itself */
#define FETCHED    (4 * MEMORY)

static uint64_t state;

/* As they come with RoIs: of three columns, and of the first one of samples. */
static const struct trg_encoding of_spacepoints[3] = {{-3, 9e-5f}, {25, 0.0171f}, {-1000, 0.0313f}};
static const struct trg_encoding of_samples[3] = {{-1, 5e-5f}};

struct batch { /* as a client has it in its memory */
    struct rig *rig;
    uint32_t kind, n;
    struct trg_roi_info info[SAMPLE_CASES + ROIS];
    struct arena_source from[SAMPLE_CASES + ROIS];
    struct stage_source source[SAMPLE_CASES + ROIS];
    struct stage_guard guard[SAMPLE_CASES + ROIS];
    struct trg_encoding sent[SAMPLE_CASES + ROIS][3]; /* what came with encoded ones */
    unsigned char *memory;
    size_t used;
    struct trg_buffer *window;
};

/* ---------------------------------------------------------------- a client's memory */

static void place(struct batch *b, uint32_t i, const struct stage_source *good)
{
    const struct trg_collection *info = kind_info(b->kind);
    struct arena_source *from = &b->from[i];

    *from = (struct arena_source){.at = b->used, .n = good->n, .capacity = good->n + i % 3};
    b->guard[i] = (struct stage_guard){.max_layer = MAX_LAYER};
    b->source[i] = (struct stage_source){.n = good->n, .guard = &b->guard[i]};
    if (encoding_count(info) && i % 2) {
        from->is_encoded = b->source[i].is_encoded = true;
        from->encodings = i * sizeof b->sent[0];
        b->source[i].sent = b->sent[i];
        memcpy(b->sent[i], b->kind == TRG_SPACEPOINTS ? of_spacepoints : of_samples,
               sizeof b->sent[i]);
        b->sent[i][0].step *= 1 + 0.01f * (float)(i % 3); /* each its own */
    }
    for (uint32_t c = 0; c < info->n_columns; c++) {
        const size_t size = encoding_item_bytes(b->kind, from->is_encoded, c);

        b->source[i].column[c] = b->memory + b->used;
        assert_true(b->used + size * from->capacity + 64 <= MEMORY);
        if (good->n)
            memcpy(b->memory + b->used, good->column[c], size * good->n);
        for (uint32_t k = 0; size < trg_column_bytes(&info->column[c]) && k < size * good->n;
             k += 2)
            memcpy(b->memory + b->used + k,
                   &(uint16_t){(uint16_t)(5000 + sample_below(&state, 60000))},
                   2); /* good ones, whatever the encoding */
        b->used += arena_align(size * from->capacity);
    }
}

/* Any bits in one value, which may be allowed all the same. */
static void spoil(struct batch *b, uint32_t i)
{
    const struct trg_collection *info = kind_info(b->kind);
    const uint32_t c = sample_below(&state, info->n_columns);
    const uint32_t bits[] = {0,
                             0x7fc00000u,
                             0x7f800000u,
                             0xff800000u,
                             UINT32_MAX,
                             0x80000000u,
                             (uint32_t)sample_random(&state)};
    const uint32_t value = bits[sample_below(&state, sizeof bits / sizeof *bits)];
    const size_t size =
        encoding_item_bytes(b->kind, b->from[i].is_encoded, c) / info->column[c].length;
    const uint32_t values = b->from[i].n * info->column[c].length;

    if (values)
        memcpy((unsigned char *)(uintptr_t)b->source[i].column[c] +
                   sample_below(&state, values) * size,
               &value, size);
}

/* Opens the memory to the device; or copies it, for OpenCL on cores, which opens none. */
static void open_window(struct batch *b)
{
    struct trg_device *d = b->rig->device->d;
    int r = trg_window_new(d, b->memory, MEMORY, &b->window);

    if (r == -ENOTSUP) {
        b->window = rig_buffer(b->rig, TRG_MEM_DEVICE, MEMORY);
        rig_put(b->rig, b->window, b->memory, MEMORY);
        return;
    }
    assert_int_equal(r, 0);
    for (size_t at = 0; at < MEMORY; at += PART)
        assert_int_equal(trg_window_open(b->window, at, PART), 0);
    assert_int_equal(trg_window_open(b->window, MEMORY, PAGE), -EINVAL);
}

static void close_window(struct batch *b)
{
    if (trg_ops(b->rig->device->d)->window_new)
        for (size_t at = 0; at < MEMORY; at += PART)
            assert_int_equal(trg_window_shut(b->window, at), 0);
    trg_buffer_free(b->window);
    free(b->memory);
}

static void make_batch(struct batch *b, struct rig *rig, uint32_t kind, uint32_t n, uint32_t most)
{
    const struct sample_setup setup = {.kinds = &kind,
                                       .n_inputs = 1,
                                       .n_random = ROIS,
                                       .max_items = most,
                                       .max_layer = MAX_LAYER,
                                       .seed = sample_random(&state)};
    struct sample *s;

    *b = (struct batch){.rig = rig, .kind = kind, .n = n};
    b->memory = aligned_alloc(PAGE, MEMORY);
    assert_non_null(b->memory);
    memset(b->memory, 0xa5, MEMORY);
    assert_int_equal(sample_new(&setup, &s), 0);
    for (uint32_t i = 0; i < n; i++) {
        b->info[i] = s->info[i];
        place(b, i, sample_source(s, 0, i));
        for (uint32_t left = sample_below(&state, 3); left; left--)
            spoil(b, i);
    }
    sample_free(s);
    open_window(b);
}

/* ---------------------------------------------------------------- both ways */

static void same_fault(const struct check_fault *a, const struct check_fault *b)
{
    assert_int_equal(a->code, b->code);
    assert_int_equal(a->hash, b->hash);
    assert_int_equal(a->column, b->column);
    assert_int_equal(a->at, b->at);
    assert_memory_equal(&a->value, &b->value, sizeof a->value);
}

static uint32_t compare(const struct batch *b, const struct trg_span *pulled, const void *host,
                        const unsigned char *device, const unsigned char *staged,
                        const struct trg_span *span)
{
    const struct trg_collection *info = kind_info(b->kind);
    uint32_t faults = 0;

    assert_int_equal(pulled->n_rois, span->n_rois);
    assert_int_equal(pulled->n_items, span->n_items);
    assert_memory_equal(device + pulled->rois, staged + span->rois, b->n * sizeof *b->info);
    assert_memory_equal(device + pulled->offsets, staged + span->offsets, (b->n + 1) * 4);
    for (uint32_t c = 0; c < info->n_columns; c++)
        assert_memory_equal(device + pulled->column[c], staged + span->column[c],
                            span->n_items * trg_column_bytes(&info->column[c]));
    for (uint32_t i = 0; i < b->n; i++) {
        const struct check_fault f = pull_fault(b->kind, pulled, host, i);

        same_fault(&f, &b->guard[i].fault);
        faults += f.code != 0;
    }
    return faults;
}

/* Pulls the batch from where `sources` say that it lies; the same as was staged before. */
static uint32_t pull_batch(const struct batch *b, struct pull *pull, const struct pull_input *in,
                           size_t bytes, const unsigned char *staged, const struct trg_span *span)
{
    unsigned char *device = malloc(bytes);
    struct trg_span pulled;
    uint32_t faults;

    assert_non_null(device);
    assert_int_equal(pull_enqueue(pull, b->rig->queue, in, &pulled), 0);
    assert_int_equal(trg_finish(b->rig->queue), 0);
    rig_get(b->rig, in->dev, device, bytes);
    faults = compare(b, &pulled, trg_buffer_host(in->host), device, staged, span);
    free(device);
    return faults;
}

/* The runner of a host makes the same of a block of raw columns. */
static void stage_raw(const struct batch *b, const unsigned char *block,
                      const struct arena_source *from, size_t bytes, const unsigned char *staged,
                      const struct trg_span *span)
{
    struct stage_source source[SAMPLE_CASES + ROIS];
    struct stage_guard guard[SAMPLE_CASES + ROIS];
    unsigned char *again = aligned_alloc(64, arena_align(bytes));
    struct trg_span other;

    assert_non_null(again);
    for (uint32_t i = 0; i < b->n; i++) {
        const unsigned char *at = block + from[i].at;

        guard[i] = (struct stage_guard){.max_layer = MAX_LAYER};
        source[i] = b->source[i];
        source[i].guard = &guard[i];
        for (uint32_t c = 0; c < kind_info(b->kind)->n_columns; c++) {
            source[i].column[c] = at;
            at +=
                arena_align(from[i].capacity * encoding_item_bytes(b->kind, from[i].is_encoded, c));
        }
        assert_true(at <= block + bytes);
    }
    stage_fill(b->kind, b->n, b->info, source, again, &other);
    assert_memory_equal(&other, span, sizeof other);
    for (uint32_t c = 0; c < kind_info(b->kind)->n_columns; c++)
        assert_memory_equal(again + span->column[c], staged + span->column[c],
                            span->n_items * trg_column_bytes(&kind_info(b->kind)->column[c]));
    for (uint32_t i = 0; i < b->n; i++)
        same_fault(&guard[i].fault, &b->guard[i].fault);
    free(again);
}

static uint32_t n_raw; /* batches that were tried so */

/* The front copies the columns into the block of the batch, and there they are taken from. */
static void from_its_block(const struct batch *b, struct pull *pull, struct pull_input in,
                           size_t bytes, const unsigned char *staged, const struct trg_span *span,
                           uint32_t faults)
{
    struct arena_source from[SAMPLE_CASES + ROIS];

    if (!raw_is_worth(b->kind, b->n, b->source, bytes))
        return;
    n_raw++;
    memcpy(from, b->from, b->n * sizeof *from);
    raw_fill(b->kind, b->n, b->source, trg_buffer_host(in.host), from);
    stage_raw(b, trg_buffer_host(in.host), from, bytes, staged, span);
    if (!trg_ops(b->rig->device->d)->window_new)
        return; /* a window is a buffer of the device */
    in.sources = from;
    in.window = in.host;
    in.open = (struct fetch_window){.distance = bytes, .whole = bytes, .bytes = bytes};
    assert_int_equal(pull_batch(b, pull, &in, bytes, staged, span), faults);
}

static uint32_t both_ways(struct rig *rig, struct pull *pull, uint32_t kind, uint32_t n,
                          uint32_t most)
{
    static struct batch b;
    const size_t bytes = stage_bytes(kind, n, n * most) + pull_bytes(kind, n);
    unsigned char *staged = aligned_alloc(64, arena_align(bytes));
    struct trg_buffer *dev = rig_buffer(rig, TRG_MEM_DEVICE, bytes);
    struct trg_buffer *host = rig_buffer(rig, TRG_MEM_PINNED, bytes);
    struct trg_buffer *fetched = rig_buffer(rig, TRG_MEM_DEVICE, FETCHED);
    struct trg_span span;
    uint32_t faults;

    assert_non_null(staged);
    make_batch(&b, rig, kind, n, most);
    stage_fill(kind, n, b.info, b.source, staged, &span);
    const struct pull_input in = {.kind = kind,
                                  .max_layer = MAX_LAYER,
                                  .n_rois = n,
                                  .rois = b.info,
                                  .sources = b.from,
                                  .pool = (const unsigned char *)b.sent,
                                  .window = b.window,
                                  .open = {.distance = MEMORY, .whole = MEMORY, .bytes = PART},
                                  .host = host,
                                  .dev = dev,
                                  .fetched = fetched,
                                  .fetched_bytes = FETCHED};
    faults = pull_batch(&b, pull, &in, bytes, staged, &span);
    from_its_block(&b, pull, in, bytes, staged, &span, faults);
    close_window(&b);
    trg_buffer_free(host);
    trg_buffer_free(dev);
    trg_buffer_free(fetched);
    free(staged);
    return faults;
}

static void check_sizes(struct rig *rig, struct pull *pull, uint32_t samples, uint32_t anything)
{
    static const uint32_t sizes[] = {1, 3, 20, SAMPLE_CASES + ROIS};
    uint32_t faults = 0;

    for (uint32_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        faults += both_ways(rig, pull, TRG_SPACEPOINTS, sizes[i], MOST);
        faults += both_ways(rig, pull, TRG_HITS, sizes[i], MOST);
        faults += both_ways(rig, pull, samples, sizes[i], MOST);
        if (sizes[i] <= LARGE_MOST)
            assert_int_equal(both_ways(rig, pull, anything, sizes[i], LARGE), 0);
    }
    assert_in_range(faults, 5, 200);
}

static void check(struct rig *rig)
{
    struct pull pull;
    char why[256];
    uint32_t samples, anything;

    if (!trg_ops(rig->device->d)->window_new && rig->device->info.pci[0])
        skip(); /* OpenCL on a card, whose kernels read no memory of the host */
    assert_int_equal(kind_add(&trg_samples, &samples, why, sizeof why), 0);
    assert_int_equal(kind_add(&trg_anything, &anything, why, sizeof why), 0);
    assert_int_equal(pull_open(rig->device->d, SAMPLE_CASES + ROIS, &pull), 0);
    check_sizes(rig, &pull, samples, anything);
    pull.work_items = 64; /* two groups at most, which take one RoI after the other */
    check_sizes(rig, &pull, samples, anything);
    pull.fetch.least = 1024; /* a copy engine fetches all but the smallest */
    pull.fetch.batch = 0;
    check_sizes(rig, &pull, samples, anything);
    assert_true(n_raw >= 4);
    pull_close(&pull);
}

static void a_device_gathers_as_the_host_does(void **unused)
{
    (void)unused;
    state = fresh_seed();
    rig_each(check);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_device_gathers_as_the_host_does),
    };

    return devices_main(argc, argv, tests, sizeof tests / sizeof *tests);
}
