/* SPDX-License-Identifier: Apache-2.0 */
/* trigvoxels - labels a volume out of core: slabs of a mapped file through a device, labels as bits
 * into another mapped file; prints count, fraction, bounding box and the largest component.
 * Counts the components of volumes that were labelled elsewhere, too. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "algohost.h"
#include "args.h"
#include "base/beside.h"
#include "slabs.h"
#include "stream.h"

struct options {
    char backend[16];
    uint32_t index, planes, threads, width;
    int32_t low;
    bool is_raw;
    struct vox_volume raw;
    const char *model, *volume, *labels;
};

/* ---------------------------------------------------------------- options */

static int refuse(const char *option, const char *value, const char *allowed)
{
    fprintf(stderr, "trigvoxels: %s %s: %s\n", option, value, allowed);
    return -EINVAL;
}

static int number(const char *option, const char *value, long low, long high, long *ret_number)
{
    char *end, allowed[64];

    errno = 0;
    *ret_number = strtol(value, &end, 10);
    if (!errno && end != value && !*end && *ret_number >= low && *ret_number <= high)
        return 0;
    snprintf(allowed, sizeof allowed, "%ld to %ld is allowed", low, high);
    return refuse(option, value, allowed);
}

static int take_size(struct options *o, const char *value)
{
    uint32_t *n = o->raw.n;
    int end = 0;

    if (sscanf(value, "%" SCNu32 ",%" SCNu32 ",%" SCNu32 "%n", &n[0], &n[1], &n[2], &end) != 3 ||
        value[end] || !n[0] || !n[1] || !n[2])
        return refuse("--size", value, "X,Y,Z is allowed, such as 128,128,128");
    o->raw.value_bytes = 1;
    o->is_raw = true;
    return 0;
}

/* Returns -1 to go on, else the exit code. */
static int parse(struct options *o, int argc, char **argv)
{
    const char *device = NULL, *size = NULL, *low = NULL;
    const struct arg table[] = {
        {"device", ARG_TEXT, &device, 0, 0, "BACKEND:N", "cpu:0 (default), opencl:0, cuda:0, ..."},
        {"size", ARG_TEXT, &size, 0, 0, "X,Y,Z", "VOLUME is raw bytes of this size"},
        {"planes", ARG_U32, &o->planes, 1, 65535, "N", "planes of a slab (default 16)"},
        {"threads", ARG_U32, &o->threads, 1, VOX_THREADS_MAX, "N",
         "threads that read slabs (default 1)"},
        {"low", ARG_TEXT, &low, 0, 0, "N",
         "16 bits: [low, low + width) becomes 0 to 255 (default 0)"},
        {"width", ARG_U32, &o->width, 1, 65536, "N", "see --low (default 256)"},
        {0}};
    const struct arg_program program = {
        .name = "trigvoxels",
        .version = TRIGD_VERSION,
        .summary = "labels a volume of voxels (.nii, .nii.gz, .mha, .mhd; raw with --size) with a "
                   "model of "
                   "trigmodel; LABELS gets bits, which `trigmodel volume` turns into NIfTI",
        .usage = "[OPTION ...] MODEL VOLUME [LABELS]\ncomponents LABELLED-VOLUME",
        .table = table};
    long value = 0;
    int n, r = args_parse_program(argc, argv, &program, &n);

    if (r != ARGS_OK)
        return r == ARGS_HELP ? 0 : 2;
    if (n < 2 || n > 3) {
        args_print_usage(&program, stderr);
        return 2;
    }
    if ((device && algo_device_parse(device, o->backend, &o->index) < 0) ||
        (size && take_size(o, size) < 0) ||
        (low && number("--low", low, -32768, 65535, &value) < 0))
        return 2;
    o->low = (int32_t)value;
    o->model = argv[1];
    o->volume = argv[2];
    o->labels = n == 3 ? argv[3] : NULL;
    return -1;
}

/* ---------------------------------------------------------------- labels */

/* A mapped file of so many bytes, or memory where no file is named. */
static unsigned char *map_labels(const char *path, size_t bytes)
{
    void *map = MAP_FAILED;
    int fd = -1;

    if (!path)
        map = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    else if ((fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0666)) >= 0 &&
             posix_fallocate(fd, 0, (off_t)bytes) == 0)
        map = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (fd >= 0)
        close(fd);
    if (map == MAP_FAILED) {
        fprintf(stderr, "trigvoxels: %s: %s\n", path ? path : "memory for labels", strerror(errno));
        return NULL;
    }
    return map;
}

static void print_components(const struct vox_stream_sums *all)
{
    printf("components  %" PRIu64 "\nlargest     %" PRIu64 "\n", all->components, all->largest);
}

static int print_sums(const struct vox_slabs *job, const struct vox_slabs_sums *sums)
{
    const struct vox_volume *v = job->volume;
    const size_t row = vox_row_bytes(v);
    struct vox_stream_sums all;
    struct vox_stream *s;
    int r = vox_stream_open(v->n[0], v->n[1], &s);

    if (r < 0)
        return r;
    for (uint32_t z = 0; r == 0 && z < v->n[2]; z++)
        r = vox_stream_plane(s, job->labels + row * v->n[1] * z, (uint32_t)row);
    vox_stream_sums(s, &all);
    vox_stream_close(s);
    if (r < 0)
        return r;
    printf("voxels      %u x %u x %u\n", v->n[0], v->n[1], v->n[2]);
    printf("labelled    %" PRIu64 " (%.4f)\n", sums->count,
           (double)sums->count / ((double)v->n[0] * v->n[1] * v->n[2]));
    if (sums->count)
        printf("box         %u..%u %u..%u %u..%u\n", sums->low[0], sums->high[0], sums->low[1],
               sums->high[1], sums->low[2], sums->high[2]);
    print_components(&all);
    return 0;
}

/* ---------------------------------------------------------------- a labelled volume */

/* Plane z of a labelled volume as rows of bits. */
static void pack_plane(const struct vox_volume *v, uint32_t z, unsigned char *bits)
{
    const size_t row = vox_row_bytes(v);
    const unsigned char *label = v->values + vox_plane_bytes(v) * z;

    memset(bits, 0, row * v->n[1]);
    for (uint32_t y = 0; y < v->n[1]; y++)
        for (uint32_t x = 0; x < v->n[0]; x++)
            if (*label++)
                bits[row * y + x / 8] |= (unsigned char)(1u << x % 8);
}

static int count_components(const struct vox_volume *v, struct vox_stream_sums *ret_sums)
{
    unsigned char *bits = malloc(vox_row_bytes(v) * v->n[1]);
    struct vox_stream *s = NULL;
    int r = bits ? vox_stream_open(v->n[0], v->n[1], &s) : -ENOMEM;

    for (uint32_t z = 0; r == 0 && z < v->n[2]; z++) {
        pack_plane(v, z, bits);
        r = vox_stream_plane(s, bits, (uint32_t)vox_row_bytes(v));
    }
    if (r == 0)
        vox_stream_sums(s, ret_sums);
    vox_stream_close(s);
    free(bits);
    return r;
}

/* The components of a volume that was labelled before, in bricks or not. */
static int components(const char *path)
{
    struct vox_volume v = {0};
    struct vox_stream_sums sums;
    char why[512] = "";
    int r = vox_volume_open(path, NULL, &v, why, sizeof why);

    if (r == 0 && v.value_bytes != 1) {
        snprintf(why, sizeof why, "%s: labels have 8 bits", path);
        r = -EINVAL;
    }
    if (r < 0) {
        fprintf(stderr, "trigvoxels: %s\n", why);
    } else {
        r = count_components(&v, &sums);
        if (r == 0) {
            printf("labelled    %" PRIu64 "\n", sums.count);
            print_components(&sums);
        } else {
            fprintf(stderr, "trigvoxels: %s: %s\n", path, strerror(-r));
        }
    }
    vox_volume_close(&v);
    return r;
}

/* ---------------------------------------------------------------- all */

static int run(const struct options *o, struct vox_slabs *job)
{
    const struct trg_host host = {.size = sizeof host, .log = algo_host_log};
    struct vox_slabs_lanes *lanes = NULL;
    struct vox_slabs_sums sums;
    struct backends *backends;
    char folder[4096];
    int r;

    beside_program("backends", folder, sizeof folder);
    r = backends_open(folder, o->backend, &host, &backends);
    if (r < 0)
        return r;
    r = backends_device(backends, o->backend, o->index, &job->device);
    if (r < 0)
        fprintf(stderr, "trigvoxels: there is no device %s:%u in %s\n", o->backend, o->index,
                folder);
    if (r == 0)
        r = vox_slabs_open(job, &lanes);
    if (r == 0)
        r = vox_slabs_run(lanes, &sums);
    vox_slabs_close(lanes);
    backends_close(backends);
    return r ? r : print_sums(job, &sums);
}

static int label(const struct options *o)
{
    struct vox_volume volume = {0};
    struct vox_model model = {0};
    struct vox_tables tables = {0};
    struct vox_slabs job = {.tables = &tables,
                            .volume = &volume,
                            .planes = o->planes,
                            .threads = o->threads,
                            .low = o->low,
                            .width = o->width};
    char why[512] = "out of memory";
    size_t bytes = 0;
    int r = vox_model_read(o->model, &model, why, sizeof why);

    if (r == 0)
        r = vox_tables_make(&model, &tables, why, sizeof why);
    if (r == 0)
        r = vox_volume_open(o->volume, o->is_raw ? &o->raw : NULL, &volume, why, sizeof why);
    if (r < 0)
        fprintf(stderr, "trigvoxels: %s\n", why);
    if (r == 0) {
        bytes = vox_row_bytes(&volume) * volume.n[1] * volume.n[2];
        job.labels = map_labels(o->labels, bytes);
        r = job.labels ? 0 : -ENOMEM;
    }
    if (r == 0) {
        printf("model       %s %016" PRIx64 "\n", model.name, model.hash);
        r = run(o, &job);
        if (r < 0)
            fprintf(stderr, "trigvoxels: %s cannot be labelled: %s\n", o->volume, strerror(-r));
    }
    if (job.labels)
        munmap(job.labels, bytes);
    vox_volume_close(&volume);
    vox_tables_fini(&tables);
    vox_model_fini(&model);
    return r;
}

int main(int argc, char **argv)
{
    struct options o = {.backend = "cpu", .planes = 16, .threads = 1, .width = 256};
    int r;

    if (argc == 3 && !strcmp(argv[1], "components"))
        return components(argv[2]) < 0;
    r = parse(&o, argc, argv);
    if (r >= 0)
        return r;
    return label(&o) < 0;
}
