/* SPDX-License-Identifier: Apache-2.0 */
/* The plugin on every device: bricks of random volumes and models have the labels, counts, boxes
 * and components of the slow and obvious way; bricks that cannot be are refused one by one. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "phantom.h"
#include "reference.h"
#include "seed.h"
#include "trigd/testing.h"

#define EDGE   16u
#define N_MAX  40u
#define BRICKS 27u
#define LOW    (-300)
#define WIDTH  512u /* two raw values for each of 8 bits */

enum {
    FRACTION,
    LABELLED,
    LARGEST,
    COMPONENTS,
    LOWEST,
    HIGHEST = LOWEST + 3,
    VOXELS = HIGHEST + 3
};

struct row { /* of bricks, one column each */
    uint16_t n[3], origin[3], volume[3];
    uint8_t type;
    int32_t low;
    uint32_t width;
};

struct brick {
    struct row row[2];
    uint8_t bytes[2 * (EDGE + 2) * (EDGE + 2) * (EDGE + 2)];
};

struct job {
    uint32_t n[3], type;
    struct vox_model model;
    uint8_t values[N_MAX * N_MAX * N_MAX], labels[N_MAX * N_MAX * N_MAX];
    struct brick brick[BRICKS];
    struct trg_testing_roi roi[BRICKS];
    uint32_t n_bricks;
    uint64_t seed;
};

#define WANT(x)                                             \
    do {                                                    \
        if (!(x)) {                                         \
            printf("line %d: %s is false\n", __LINE__, #x); \
            return -1;                                      \
        }                                                   \
    } while (0)

/* ---------------------------------------------------------------- bricks */

/* What is sent for a value of 8 bits: any that the window makes this of it. */
static uint32_t raw_of(struct job *j, uint8_t value)
{
    if (!j->type)
        return value;
    return (uint32_t)((j->type == 2 ? LOW : 7) + 2 * value + (int)seed_uniform(&j->seed, 0, 2));
}

static uint32_t fill(struct job *j, const struct row *r, uint8_t *out)
{
    uint32_t from[3], end[3], bytes = 0;

    for (uint32_t a = 0; a < 3; a++) {
        from[a] = r->origin[a] ? r->origin[a] - 1u : 0;
        end[a] = (uint32_t)r->origin[a] + r->n[a];
        end[a] += end[a] < j->n[a];
    }
    for (uint32_t z = from[2]; z < end[2]; z++)
        for (uint32_t y = from[1]; y < end[1]; y++)
            for (uint32_t x = from[0]; x < end[0]; x++) {
                const uint32_t raw = raw_of(j, j->values[(z * j->n[1] + y) * j->n[0] + x]);

                out[bytes++] = (uint8_t)raw;
                if (j->type)
                    out[bytes++] = (uint8_t)(raw >> 8);
            }
    return bytes;
}

static void attach(struct trg_testing_roi *roi, struct brick *b, uint32_t rows, uint32_t bytes)
{
    const void *const column[] = {b->row->n,     b->row->origin, b->row->volume,
                                  &b->row->type, &b->row->low,   &b->row->width};

    memset(roi, 0, sizeof *roi);
    roi->in[0].n = rows;
    memcpy(roi->in[0].column, column, sizeof column);
    roi->in[1].n = bytes;
    roi->in[1].column[0] = b->bytes;
}

static void cut(struct job *j)
{
    uint32_t parts[3];

    for (uint32_t a = 0; a < 3; a++)
        parts[a] = (j->n[a] + EDGE - 1) / EDGE;
    j->n_bricks = parts[0] * parts[1] * parts[2];
    for (uint32_t i = 0; i < j->n_bricks; i++) {
        const uint32_t at[3] = {i % parts[0], i / parts[0] % parts[1], i / parts[0] / parts[1]};
        struct row *r = j->brick[i].row;

        *r = (struct row){.type = (uint8_t)j->type, .low = j->type == 2 ? LOW : 7, .width = WIDTH};
        for (uint32_t a = 0; a < 3; a++) {
            r->origin[a] = (uint16_t)(at[a] * EDGE);
            r->n[a] = (uint16_t)(j->n[a] - r->origin[a] < EDGE ? j->n[a] - r->origin[a] : EDGE);
            r->volume[a] = (uint16_t)j->n[a];
        }
        attach(&j->roi[i], &j->brick[i], 1, fill(j, r, j->brick[i].bytes));
    }
}

/* ---------------------------------------------------------------- models */

static void write_column(FILE *f, const char *name, const struct vox_model *m, int column)
{
    fprintf(f, "    %s: [", name);
    for (uint32_t i = 0; i <= m->n_stumps; i++) {
        /* before the model's, a stump of another one */
        const struct vox_stump s = i ? m->stumps[i - 1] : (struct vox_stump){VOX_V, 9, 5, -5};
        const int32_t of[] = {i ? 3 : 0, (int32_t)s.feature, s.at_most, s.left, s.right};

        fprintf(f, "%s%d", i ? ", " : "", of[column]);
    }
    fputs("]\n", f);
}

/* A file of conditions in which the model has number 3. */
static int give_model(struct trg_testing *t, const struct vox_model *m)
{
    static const char *const names[] = {"model", "feature", "at_most", "left", "right"};
    char path[64];
    FILE *f;
    int r;

    snprintf(path, sizeof path, "/tmp/trigd-voxels-%d.yaml", (int)getpid());
    f = fopen(path, "w");
    if (!f)
        return -1;
    fputs("conditions:\n  voxel_models:\n", f);
    for (int c = 0; c < 5; c++)
        write_column(f, names[c], m, c);
    r = fclose(f) == 0 ? trg_testing_conditions(t, path) : -1;
    unlink(path);
    return r;
}

/* ---------------------------------------------------------------- checks */

/* The labels of a brick as the slow way has them. */
static void expect(const struct job *j, const struct row *r, uint8_t *labels)
{
    for (uint32_t z = 0; z < r->n[2]; z++)
        for (uint32_t y = 0; y < r->n[1]; y++)
            for (uint32_t x = 0; x < r->n[0]; x++)
                *labels++ = j->labels[((r->origin[2] + z) * j->n[1] + r->origin[1] + y) * j->n[0] +
                                      r->origin[0] + x];
}

static int check_values(const struct row *r, const uint8_t *labels, const float *value)
{
    const uint32_t n[3] = {r->n[0], r->n[1], r->n[2]};
    const uint32_t origin[3] = {r->origin[0], r->origin[1], r->origin[2]};
    const float voxels = (float)(n[0] * n[1] * n[2]);
    struct reference_sums s;

    WANT(reference_sums(labels, n, origin, &s) == 0);
    WANT(value[VOXELS] == voxels);
    WANT(value[LABELLED] == (float)s.count && value[FRACTION] == (float)s.count / voxels);
    WANT(value[LARGEST] == (float)s.largest && value[COMPONENTS] == (float)s.components);
    for (uint32_t a = 0; a < 3; a++) {
        WANT(value[LOWEST + a] == (s.count ? (float)s.low[a] : -1));
        WANT(value[HIGHEST + a] == (s.count ? (float)s.high[a] : -1));
    }
    return 0;
}

static int check_brick(const struct job *j, uint32_t i)
{
    static uint8_t labels[EDGE * EDGE * EDGE];
    const struct trg_testing_roi *roi = &j->roi[i];
    const struct row *r = j->brick[i].row;
    const uint8_t *bits = roi->out[0].column[0];
    const uint32_t row = (r->n[0] + 7u) / 8u;

    WANT(roi->result.status == TRG_OK);
    expect(j, r, labels);
    WANT(roi->out[0].n == row * r->n[1] * r->n[2] && roi->out[1].n == 1);
    for (uint32_t line = 0; line < (uint32_t)r->n[1] * r->n[2]; line++)
        for (uint32_t x = 0; x < 8 * row; x++) {
            const uint32_t want = x < r->n[0] ? labels[line * r->n[0] + x] : 0;

            WANT(((uint32_t)bits[line * row + x / 8] >> x % 8 & 1u) == want);
        }
    WANT(memcmp(roi->out[1].column[0], r->n, sizeof r->n) == 0);
    WANT(memcmp(roi->out[1].column[1], r->origin, sizeof r->origin) == 0);
    WANT(memcmp(roi->out[1].column[2], r->volume, sizeof r->volume) == 0);
    return check_values(r, labels, roi->result.value);
}

static const char *const settings[] = {"model", "3", "max_edge", "16", NULL};

static int check_all(struct trg_testing *t, uint32_t d, struct job *j)
{
    WANT(trg_testing_run(t, d, settings, j->roi, j->n_bricks) == 0);
    for (uint32_t i = 0; i < j->n_bricks; i++)
        if (check_brick(j, i) < 0) {
            printf("brick %u of %u x %u x %u, type %u\n", i, j->n[0], j->n[1], j->n[2], j->type);
            return -1;
        }
    return 0;
}

/* Each brick is wrong in a way of its own, but for the first and the last; an RoI may be empty. */
static int check_wrong(struct trg_testing *t, uint32_t d, struct job *j)
{
    static struct brick large;
    struct trg_testing_roi *roi = j->roi;

    WANT(j->n_bricks == BRICKS && !j->type);
    j->brick[1].row[1] = j->brick[1].row[0];
    roi[1].in[0].n = 2; /* columns of the second row are what follows: it is not looked at */
    roi[2].in[0].n = 0;
    roi[3].in[1].n = 16 * 16 * 16; /* without halo */
    j->brick[4].row->origin[0] = (uint16_t)(j->n[0] - 3);
    large.row[0] = (struct row){.n = {17, 1, 1}, .volume = {17, 1, 1}, .width = 256};
    attach(&roi[5], &large, 1, 17);
    roi[6].in[1].n--;
    attach(&roi[7], &large, 0, 0);
    WANT(trg_testing_run(t, d, settings, roi, BRICKS) == 0);
    for (uint32_t i = 1; i < 7; i++)
        WANT(roi[i].result.status == TRG_FAILED && !roi[i].out[0].n && !roi[i].out[1].n);
    WANT(roi[7].result.status == TRG_OK && roi[7].result.value[LABELLED] == 0 &&
         roi[7].result.value[LOWEST] == -1 && !roi[7].out[1].n);
    return check_brick(j, 0) || check_brick(j, 8) || check_brick(j, BRICKS - 1) ? -1 : 0;
}

/* ---------------------------------------------------------------- all */

static int make(struct job *j, struct trg_testing *t, uint32_t type)
{
    static const uint32_t origin[3] = {0, 0, 0};

    j->type = type;
    for (uint32_t a = 0; a < 3; a++) /* three bricks along each axis */
        j->n[a] = 2 * EDGE + 1 + (uint32_t)seed_uniform(&j->seed, 0, N_MAX - 2 * EDGE);
    if (type == 1)
        phantom_noise(j->n, j->seed, j->values);
    else
        phantom_head(j->n, j->seed, j->values);
    vox_model_fini(&j->model);
    WANT(phantom_model(j->n, 40, j->seed, &j->model) == 0);
    reference_labels(&j->model, j->values, j->n, origin, j->labels);
    cut(j);
    return give_model(t, &j->model);
}

static int check_device(struct trg_testing *t, uint32_t d, struct job *j)
{
    static const char *const unknown[] = {"model", "4", "max_edge", "16", NULL};

    for (uint32_t type = 3; type--;) /* uint8 comes last: check_wrong goes on with it */
        if (make(j, t, type) < 0 || check_all(t, d, j) < 0)
            return -1;
    WANT(trg_testing_run(t, d, unknown, j->roi, j->n_bricks) < 0);
    return check_wrong(t, d, j);
}

int main(void)
{
    static struct job j;
    struct trg_testing *t = NULL;
    char plugin[1024];
    int failed = 0;

    snprintf(plugin, sizeof plugin, "%s/plugins/voxels.so", getenv("TRIGD_BUILD"));
    if (trg_testing_open(plugin, &t) < 0)
        return 1;
    j.seed = fresh_seed();
    for (uint32_t d = 0; !failed && d < trg_testing_devices(t); d++)
        if (check_device(t, d, &j) < 0) {
            printf("wrong on %s\n", trg_testing_device(t, d));
            failed = 1;
        }
    vox_model_fini(&j.model);
    trg_testing_close(t);
    return failed;
}
