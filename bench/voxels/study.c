/* SPDX-License-Identifier: Apache-2.0 */
/* The techniques of the thesis, one at a time, on a volume of its size, 128^3: each kernel's answer
 * is compared with the host's before it is timed.  For devices with many work-items; the thesis
 * leaves the transfers out of its times, and so do the figures here that do not say otherwise. */
#include "study.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "phantom.h"
#include "study.program.h"

#define EDGE   128u
#define VOXELS ((size_t)EDGE * EDGE * EDGE)
#define SEED   20100920u
#define ON_CORES \
    2u /* planes that kernels with a group a voxel label where work-items are not cheap */

struct study {
    const struct bench *b;
    const struct place *p;
    struct trg_module *module;
    struct trg_queue *queue;
    struct trg_kernel *gradient, *gradient4, *group_each, *item_each;
    struct trg_buffer *bytes, *floats, *out, *columns, *labels, *pinned, *eight;
    float *expected;            /* gradients, four of each voxel */
    unsigned char *is_labelled; /* by the thesis's rule */
};

/* One launch, again and again. */
struct launch {
    struct trg_queue *queue;
    struct trg_kernel *kernel;
    struct trg_range range;
    struct trg_arg arg[6];
    uint32_t n_args;
};

static int run_launches(void *arg, uint32_t times)
{
    const struct launch *l = arg;
    int r = 0;

    for (uint32_t i = 0; r == 0 && i < times; i++) {
        r = trg_launch(l->queue, l->kernel, l->range, l->arg, l->n_args);
        if (r == 0 && i % 64 == 63)
            r = trg_finish(l->queue);
    }
    return r ? r : trg_finish(l->queue);
}

static int get(struct study *s, struct trg_buffer *from, size_t bytes)
{
    const int r = trg_read(s->queue, s->pinned, 0, from, 0, bytes);

    return r ? r : trg_finish(s->queue);
}

static int put(struct study *s, struct trg_buffer *to, const void *data, size_t bytes)
{
    int r;

    memcpy(trg_buffer_host(s->pinned), data, bytes);
    r = trg_write(s->queue, to, 0, s->pinned, 0, bytes);
    return r ? r : trg_finish(s->queue);
}

/* ---------------------------------------------------------------- gradients */

/* Whether the gradients on the device are the host's; magnitudes may differ in the last place. */
static int check_gradients(struct study *s, bool as_planes, const char *what)
{
    const float *g = trg_buffer_host(s->pinned);
    int r = get(s, s->out, 4 * VOXELS * sizeof *g);

    for (size_t i = 0; r == 0 && i < VOXELS; i++)
        for (uint32_t k = 0; k < 4; k++) {
            const float want = s->expected[4 * i + k],
                        have = g[as_planes ? k * VOXELS + i : 4 * i + k];

            if (fabsf(have - want) > (k == 3 ? 1e-5f * want : 0.0f)) {
                fprintf(stderr, "%s: voxel %zu has gradient[%u] %g, not %g\n", what, i, k,
                        (double)have, (double)want);
                return -EILSEQ;
            }
        }
    return r;
}

static int one_gradient(struct study *s, const char *what, struct study_par par)
{
    const uint32_t groups = (EDGE + par.wide - 1) / par.wide * ((EDGE + par.high - 1) / par.high) *
                            ((EDGE + par.depth - 1) / par.depth);
    struct launch l = {s->queue,
                       s->gradient,
                       {groups, par.wide * par.high},
                       {TRG_BUF(s->bytes), TRG_BUF(s->floats), TRG_BUF(s->out), TRG_VAL(par)},
                       4};
    const struct work work = {run_launches, &l, (double)VOXELS, false};
    char figure[128];
    double per_s;
    int r = run_launches(&l, 1);

    snprintf(figure, sizeof figure, "thesis, gradient: %s", what);
    if (r == 0)
        r = check_gradients(s, par.write == STUDY_PLANES, figure);
    return r ? r : measure(s->b, s->p, figure, &work, 0, &per_s);
}

static const struct study_par standard = {.n = {EDGE, EDGE, EDGE},
                                          .wide = 32,
                                          .high = 8,
                                          .load = STUDY_BYTE,
                                          .read = STUDY_TILED,
                                          .write = STUDY_STAGED,
                                          .depth = 32};

static int gradient_shapes(struct study *s)
{
    static const uint32_t shapes[][2] = {{32, 8}, {32, 4}, {64, 2}, {16, 16}, {64, 4}, {128, 2}};
    int r = 0;

    for (uint32_t i = 0; r == 0 && i < sizeof shapes / sizeof *shapes; i++) {
        struct study_par par = standard;
        char what[64];

        par.wide = shapes[i][0];
        par.high = shapes[i][1];
        snprintf(what, sizeof what, "bytes, tile, staged writes, groups of %u x %u", par.wide,
                 par.high);
        r = one_gradient(s, what, par);
    }
    return r;
}

static int gradient_words(struct study *s)
{
    struct study_par par = standard;
    struct launch l = {.queue = s->queue, .kernel = s->gradient4, .n_args = 3};
    const struct work work = {run_launches, &l, (double)VOXELS, false};
    double per_s;
    int r;

    l.range = (struct trg_range){EDGE / 4 * EDGE * (EDGE / par.depth) / 256, 256};
    l.arg[0] = TRG_BUF(s->bytes);
    l.arg[1] = TRG_BUF(s->out);
    l.arg[2] = TRG_VAL(par);
    r = run_launches(&l, 1);
    if (r == 0)
        r = check_gradients(s, false, "four bytes as a word");
    return r ? r
             : measure(s->b, s->p, "thesis, gradient: four bytes as a word, registers along z",
                       &work, 0, &per_s);
}

static int gradients(struct study *s)
{
    struct study_par floats = standard, cached = standard, direct = standard, planes = standard;
    struct study_par padded = standard;
    int r = gradient_shapes(s);

    floats.load = STUDY_FLOAT;
    cached.read = STUDY_CACHED;
    direct.write = STUDY_DIRECT;
    planes.write = STUDY_PLANES;
    padded.padding = 1;
    if (r == 0)
        r = one_gradient(s, "floats, tile, staged writes, groups of 32 x 8", floats);
    if (r == 0)
        r = gradient_words(s);
    if (r == 0)
        r = one_gradient(s, "bytes, no tile, staged writes, groups of 32 x 8", cached);
    if (r == 0)
        r = one_gradient(s, "bytes, tile with padding, staged writes, groups of 32 x 8", padded);
    if (r == 0)
        r = one_gradient(s, "bytes, tile, direct writes, groups of 32 x 8", direct);
    if (r == 0)
        r = one_gradient(s, "bytes, tile, writes to four planes, groups of 32 x 8", planes);
    return r;
}

/* ---------------------------------------------------------------- classification */

static int check_labels(struct study *s, size_t n, const char *what)
{
    const int r = get(s, s->labels, n);

    if (r == 0 && memcmp(trg_buffer_host(s->pinned), s->is_labelled, n) != 0) {
        fprintf(stderr, "%s: its labels are not the host's\n", what);
        return -EILSEQ;
    }
    return r;
}

static int one_classifier(struct study *s, const char *what, struct trg_kernel *k, uint32_t planes,
                          struct trg_range range)
{
    struct study_par par = standard;
    struct launch l = {
        s->queue,
        k,
        range,
        {TRG_BUF(s->bytes), TRG_BUF(s->out), TRG_BUF(s->columns), TRG_BUF(s->labels)},
        5};
    const size_t n = (size_t)EDGE * EDGE * planes;
    const struct work work = {run_launches, &l, (double)n, false};
    char figure[128];
    double per_s;
    int r;

    par.depth = planes;
    l.arg[4] = TRG_VAL(par);
    r = run_launches(&l, 1);
    snprintf(figure, sizeof figure, "thesis, classification: %s", what);
    if (r == 0)
        r = check_labels(s, n, figure);
    return r ? r : measure(s->b, s->p, figure, &work, 0, &per_s);
}

static int classifiers(struct study *s)
{
    const bool is_gpu = strstr(s->p->info.name, "NVIDIA") != NULL;
    int r = put(s, s->out, s->expected, 4 * VOXELS * sizeof(float));

    if (r == 0)
        r = one_classifier(s, "a group of 240 a voxel", s->group_each, is_gpu ? EDGE : ON_CORES,
                           (struct trg_range){EDGE * EDGE, STUDY_ITEMS});
    if (r == 0)
        r = one_classifier(s, "a work-item a voxel", s->item_each, EDGE,
                           (struct trg_range){(uint32_t)(VOXELS / 256), 256});
    return r;
}

/* ---------------------------------------------------------------- transfers, finish and events */

struct transfer {
    struct study *s;
    size_t bytes;
};

static int run_transfers(void *arg, uint32_t times)
{
    const struct transfer *t = arg;
    int r = 0;

    for (uint32_t i = 0; r == 0 && i < times; i++)
        r = trg_write(t->s->queue, t->s->eight, 0, t->s->pinned, 0, t->bytes);
    return r ? r : trg_finish(t->s->queue);
}

static int transfers(struct study *s)
{
    struct transfer byte = {s, VOXELS}, floats = {s, 32 * VOXELS};
    const struct work one = {run_transfers, &byte, (double)VOXELS, false};
    const struct work many = {run_transfers, &floats, (double)VOXELS, false};
    double per_s;
    int r = measure(s->b, s->p, "thesis, transfers: a byte a voxel", &one, 0, &per_s);

    return r ? r : measure(s->b, s->p, "thesis, transfers: 8 floats a voxel", &many, 0, &per_s);
}

struct waiting {
    struct launch launch;
    struct trg_event *event; /* NULL: finish */
};

static int run_waits(void *arg, uint32_t times)
{
    const struct waiting *w = arg;
    const struct launch *l = &w->launch;
    int r = 0;

    for (uint32_t i = 0; r == 0 && i < times; i++) {
        r = trg_launch(l->queue, l->kernel, l->range, l->arg, l->n_args);
        if (r == 0)
            r = w->event ? trg_event_record(l->queue, w->event) : trg_finish(l->queue);
        if (r == 0 && w->event)
            r = trg_event_wait(w->event);
    }
    return r;
}

static int waits(struct study *s)
{
    const uint32_t groups = EDGE / 32 * (EDGE / 8) * (EDGE / standard.depth);
    struct waiting w = {
        {s->queue,
         s->gradient,
         {groups, 256},
         {TRG_BUF(s->bytes), TRG_BUF(s->floats), TRG_BUF(s->out), TRG_VAL(standard)},
         4},
        NULL};
    const struct work work = {run_waits, &w, (double)VOXELS, false};
    double per_s;
    int r = measure(s->b, s->p, "thesis, waiting after each launch: finish", &work, 0, &per_s);

    if (r == 0)
        r = trg_event_new(s->p->device, &w.event);
    if (r == 0)
        r = measure(s->b, s->p, "thesis, waiting after each launch: event", &work, 0, &per_s);
    trg_event_free(w.event);
    return r;
}

/* ---------------------------------------------------------------- the host's answers */

static float value(const unsigned char *v, int x, int y, int z)
{
    const int most = (int)EDGE - 1;

    x = x < 0 ? 0 : x > most ? most : x;
    y = y < 0 ? 0 : y > most ? most : y;
    z = z < 0 ? 0 : z > most ? most : z;
    return v[((size_t)z * EDGE + (size_t)y) * EDGE + (size_t)x];
}

static void expect_gradients(const unsigned char *v, float *g)
{
    for (int z = 0; z < (int)EDGE; z++)
        for (int y = 0; y < (int)EDGE; y++)
            for (int x = 0; x < (int)EDGE; x++, g += 4) {
                g[0] = (value(v, x - 1, y, z) - value(v, x + 1, y, z)) / 2;
                g[1] = (value(v, x, y - 1, z) - value(v, x, y + 1, z)) / 2;
                g[2] = (value(v, x, y, z - 1) - value(v, x, y, z + 1)) / 2;
                g[3] = sqrtf(g[0] * g[0] + g[1] * g[1] + g[2] * g[2]);
            }
}

/* 30 stumps a feature; alphas are small integers, so that no order of summation matters, and
 * thresholds lie between the values of features. */
static void make_columns(float *columns)
{
    for (uint32_t i = 0; i < STUDY_COLUMNS; i++) {
        const uint32_t k = i % 8, m = i / 8;

        columns[i] = (float)(1 + (i * 7 + m) % 13);
        columns[STUDY_COLUMNS + i] = k < 4    ? (float)(4 * m + k) + 0.25f
                                     : k == 7 ? 3.3f * (float)m + 0.17f
                                              : (float)m - 14.75f;
        columns[2 * STUDY_COLUMNS + i] = (i * 5 + m) % 3 ? 1.0f : -1.0f;
    }
}

static void expect_labels(const unsigned char *v, const float *g, const float *c,
                          unsigned char *labels)
{
    for (size_t i = 0; i < VOXELS; i++) {
        const size_t y = i / EDGE % EDGE, z = i / EDGE / EDGE;
        const float voxel[8] = {(float)(i % EDGE), (float)y,     (float)z,     v[i],
                                g[4 * i],          g[4 * i + 1], g[4 * i + 2], g[4 * i + 3]};
        float sum = 0;

        for (uint32_t k = 0; k < STUDY_COLUMNS; k++) {
            const float p = c[2 * STUDY_COLUMNS + k];

            sum += p * voxel[k % 8] < p * c[STUDY_COLUMNS + k] ? c[k] : -c[k];
        }
        labels[i] = sum > 0;
    }
}

/* ---------------------------------------------------------------- all */

static int open_buffers(struct study *s)
{
    const struct {
        struct trg_buffer **buffer;
        enum trg_mem mem;
        size_t bytes;
    } list[] = {{&s->bytes, TRG_MEM_DEVICE, VOXELS + 64},
                {&s->floats, TRG_MEM_DEVICE, 4 * VOXELS},
                {&s->out, TRG_MEM_DEVICE, 16 * VOXELS},
                {&s->columns, TRG_MEM_DEVICE, sizeof(float) * 3 * STUDY_COLUMNS},
                {&s->labels, TRG_MEM_DEVICE, VOXELS},
                {&s->eight, TRG_MEM_DEVICE, 32 * VOXELS},
                {&s->pinned, TRG_MEM_PINNED, 32 * VOXELS}};
    int r = 0;

    for (uint32_t i = 0; r == 0 && i < sizeof list / sizeof *list; i++)
        r = trg_buffer_new(s->p->device, list[i].mem, list[i].bytes, list[i].buffer);
    return r;
}

static int open_kernels(struct study *s)
{
    int r = trg_module_new(s->p->device, &study_program, NULL, &s->module);

    if (r == 0)
        r = trg_kernel_get(s->module, "study_gradient", &s->gradient);
    if (r == 0)
        r = trg_kernel_get(s->module, "study_gradient4", &s->gradient4);
    if (r == 0)
        r = trg_kernel_get(s->module, "study_group_each", &s->group_each);
    if (r == 0)
        r = trg_kernel_get(s->module, "study_item_each", &s->item_each);
    return r ? r : trg_queue_new(s->p->device, &s->queue);
}

static int fill(struct study *s)
{
    static const uint32_t n[] = {EDGE, EDGE, EDGE};
    unsigned char *v = malloc(VOXELS);
    float *floats = malloc(VOXELS * sizeof *floats), columns[3 * STUDY_COLUMNS];
    int r = v && floats && s->expected && s->is_labelled ? 0 : -ENOMEM;

    if (r == 0) {
        phantom_head(n, SEED, v);
        for (size_t i = 0; i < VOXELS; i++)
            floats[i] = v[i];
        make_columns(columns);
        expect_gradients(v, s->expected);
        expect_labels(v, s->expected, columns, s->is_labelled);
        r = put(s, s->bytes, v, VOXELS);
    }
    if (r == 0)
        r = put(s, s->floats, floats, VOXELS * sizeof *floats);
    if (r == 0)
        r = put(s, s->columns, columns, sizeof columns);
    free(v);
    free(floats);
    return r;
}

static void close_study(struct study *s)
{
    trg_queue_free(s->queue);
    trg_buffer_free(s->bytes);
    trg_buffer_free(s->floats);
    trg_buffer_free(s->out);
    trg_buffer_free(s->columns);
    trg_buffer_free(s->labels);
    trg_buffer_free(s->eight);
    trg_buffer_free(s->pinned);
    trg_module_free(s->module);
    free(s->expected);
    free(s->is_labelled);
}

int bench_study(const struct bench *b, const struct place *p)
{
    struct study s = {.b = b,
                      .p = p,
                      .expected = malloc(4 * VOXELS * sizeof(float)),
                      .is_labelled = malloc(VOXELS)};
    int r = p->info.is_host ? -ENOTSUP : open_kernels(&s);

    if (r == 0)
        r = open_buffers(&s);
    if (r == 0)
        r = fill(&s);
    if (r == 0)
        r = gradients(&s);
    if (r == 0)
        r = classifiers(&s);
    if (r == 0)
        r = transfers(&s);
    if (r == 0)
        r = waits(&s);
    close_study(&s);
    return r == -ENOTSUP ? 0 : r;
}
