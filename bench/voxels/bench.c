/* SPDX-License-Identifier: Apache-2.0 */
/* bench_voxels - voxels per second on every device, with copies and resident.
 *
 *     TRIGD_BUILD=build/release build/release/bench/bench_voxels --help
 *
 * Without --volume: a phantom of 197 x 233 x 189 voxels, the size of the MNI head.  --planes: out
 * of core as well, on a file of 2048 x 2048 x N bytes in TMPDIR.  Without
 * --model: the white matter of that head.  On the CPU figures are of one core, by its CPU time. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "algohost.h"
#include "args.h"
#include "bench.h"
#include "phantom.h"
#include "plugin/plugin_host.h"
#include "result.h"

#define SEED 20260101u

static int open_volume(struct bench *b, const char *path)
{
    struct vox_volume v;
    char why[256] = "";
    int r;

    if (!path) {
        b->n[0] = 197;
        b->n[1] = 233;
        b->n[2] = 189;
        b->values = malloc((size_t)b->n[0] * b->n[1] * b->n[2]);
        if (b->values)
            phantom_head(b->n, SEED, b->values);
        return b->values ? 0 : -ENOMEM;
    }
    r = vox_volume_open(path, NULL, &v, why, sizeof why);
    if (r == 0 && v.value_bytes != 1) {
        snprintf(why, sizeof why, "%s: bench_voxels takes volumes of 8 bits", path);
        r = -EINVAL;
    }
    if (r < 0) {
        fprintf(stderr, "bench_voxels: %s\n", why);
        return r;
    }
    memcpy(b->n, v.n, sizeof b->n);
    b->values = malloc(vox_plane_bytes(&v) * v.n[2]);
    if (b->values)
        vox_volume_planes(&v, 0, v.n[2], b->values);
    vox_volume_close(&v);
    return b->values ? 0 : -ENOMEM;
}

static int open_model(struct bench *b, const char *path)
{
    const char *source = getenv("TRIGD_SOURCE");
    char standard[4096], why[512] = "out of memory";
    int r;

    snprintf(standard, sizeof standard, "%s/plugins/voxels/models/mni-white.model",
             source ? source : ".");
    r = vox_model_read(path ? path : standard, &b->model, why, sizeof why);
    if (r == 0)
        r = vox_tables_make(&b->model, &b->tables, why, sizeof why);
    if (r < 0)
        fprintf(stderr, "bench_voxels: %s\n", why);
    else
        printf("model %s: %u stumps, %u thresholds; volume %u x %u x %u\n", b->model.name,
               b->model.n_stumps, b->tables.thresholds, b->n[0], b->n[1], b->n[2]);
    return r;
}

static int on_devices(const struct bench *b, const char *only)
{
    const char *build = getenv("TRIGD_BUILD");
    const struct trg_host host = {.size = sizeof host, .log = algo_host_log};
    struct backends *backends;
    char folder[4096];
    int r;

    snprintf(folder, sizeof folder, "%s/backends", build ? build : "build/release");
    r = backends_open(folder, only, &host, &backends);
    if (r < 0)
        return r;
    for (uint32_t i = 0; r == 0 && i < backends_count(backends); i++) {
        uint32_t devices;
        const char *name = backends_name(backends, i, &devices);
        struct place p;

        if (!devices)
            continue;
        r = backends_device(backends, name, 0, &p.device);
        if (r < 0)
            break;
        trg_device_info(p.device, &p.info);
        r = bench_speed(b, &p);
        if (r == 0)
            r = bench_study(b, &p);
        if (r == 0)
            r = bench_out_of_core(b, &p);
    }
    backends_close(backends);
    return r;
}

int main(int argc, char **argv)
{
    struct bench b = {.out = {.bench = "voxels"}, .seconds = 0.3, .runs = 7};
    const char *device = NULL, *model = NULL, *volume = NULL;
    const struct arg table[] = {
        {"device", ARG_TEXT, &device, 0, 0, "BACKEND", "devices of this backend"},
        {"only", ARG_TEXT, &b.match, 0, 0, "TEXT", "figures with this in their name"},
        {"model", ARG_TEXT, &model, 0, 0, "FILE", "default: the white matter of the MNI head"},
        {"volume", ARG_TEXT, &volume, 0, 0, "FILE.nii.gz", "default: a phantom of that size"},
        {"planes", ARG_U32, &b.planes, 0, 0, "N", "out of core as well: planes of 2048 x 2048"},
        {"seconds", ARG_REAL, &b.seconds, 0, 0, "S", "of a run (default 0.3)"},
        {"runs", ARG_U32, &b.runs, 1, RESULT_RUNS_MAX, "N", "the median counts (default 7)"},
        {"json", ARG_APPEND, &b.out.json, 0, 0, "FILE", "append figures, one a line"},
        {0}};
    const int args = args_parse(argc, argv, NULL, table);
    int r;

    if (args != ARGS_OK)
        return args == ARGS_HELP ? 0 : 2;
    r = open_volume(&b, volume);
    if (r == 0)
        r = open_model(&b, model);
    if (r == 0)
        r = on_devices(&b, device);
    vox_tables_fini(&b.tables);
    vox_model_fini(&b.model);
    free(b.values);
    return result_end(&b.out, r);
}
