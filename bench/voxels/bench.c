/* SPDX-License-Identifier: Apache-2.0 */
/* bench_voxels - voxels per second on every device, with copies and resident.
 *
 *     TRIGD_BUILD=build/release build/release/bench/bench_voxels [--device BACKEND] [--only TEXT]
 *         [--model FILE] [--volume FILE.nii.gz] [--planes N] [--seconds S] [--runs N]
 *         [--json FILE]
 *
 * Without --volume: a phantom of 197 x 233 x 189 voxels, the size of the MNI head.  --planes: out
 * of core as well, on a file of 2048 x 2048 x N bytes in TMPDIR.  Without
 * --model: the white matter of that head.  On the CPU figures are of one core, by its CPU time. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "phantom.h"
#include "plugin/plugin_host.h"

#define SEED 20260101u

struct options {
    const char *device, *model, *volume, *json;
};

static int take_option(struct bench *b, struct options *o, const char *name, const char *value)
{
    if (!strcmp(name, "--device"))
        o->device = value;
    else if (!strcmp(name, "--only"))
        b->match = value;
    else if (!strcmp(name, "--model"))
        o->model = value;
    else if (!strcmp(name, "--volume"))
        o->volume = value;
    else if (!strcmp(name, "--json"))
        o->json = value;
    else if (!strcmp(name, "--seconds"))
        b->seconds = strtod(value, NULL);
    else if (!strcmp(name, "--planes"))
        b->planes = (uint32_t)strtoul(value, NULL, 10);
    else if (!strcmp(name, "--runs"))
        b->runs = (uint32_t)strtoul(value, NULL, 10);
    else
        return -EINVAL;
    return 0;
}

static int take_options(struct bench *b, struct options *o, int argc, char **argv)
{
    for (int i = 1; i < argc; i += 2)
        if (i + 1 == argc || take_option(b, o, argv[i], argv[i + 1]) < 0) {
            fprintf(stderr,
                    "bench_voxels: %s: the options are --device --only --model --volume "
                    "--planes --seconds --runs --json, each with a value\n",
                    argv[i]);
            return -EINVAL;
        }
    return 0;
}

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

static void print(void *ctx, enum trg_level level, const char *text)
{
    (void)ctx;
    if (level <= TRG_WARN)
        fprintf(stderr, "# %s\n", text);
}

static int on_devices(const struct bench *b, const char *only)
{
    const char *build = getenv("TRIGD_BUILD");
    const struct trg_host host = {.size = sizeof host, .log = print};
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
    struct bench b = {.seconds = 0.3, .runs = 7};
    struct options o = {0};
    int r = take_options(&b, &o, argc, argv);

    if (r == 0)
        r = open_volume(&b, o.volume);
    if (r == 0)
        r = open_model(&b, o.model);
    if (r == 0 && o.json) {
        b.json = fopen(o.json, "a");
        r = b.json ? 0 : -errno;
    }
    if (r == 0)
        r = on_devices(&b, o.device);
    if (b.json && fclose(b.json) != 0 && r == 0)
        r = -EIO;
    if (r < 0)
        fprintf(stderr, "bench_voxels: %s\n", strerror(-r));
    vox_tables_fini(&b.tables);
    vox_model_fini(&b.model);
    free(b.values);
    return r < 0;
}
