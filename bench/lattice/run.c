/* SPDX-License-Identifier: Apache-2.0 */
/* lattice_run - one flow from the files of the exercise, in slices.
 *
 *     lattice_run --parameters FILE [OPTION ...]
 *     lattice_run --resume FILE --steps N [OPTION ...]
 *
 * TRIGD_BUILD names the build folder. */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "args.h"
#include "devices.h"
#include "parameters.h"
#include "picture.h"

struct options {
    const char *parameters, *resume, *obstacles, *device;
    const char *speeds, *vtk, *png, *save;
    uint64_t steps;       /* 0: those of the parameters */
    double lid, slice_us; /* lid 0: none */
    bool is_half;
};

static void fail(const char *format, ...) __attribute__((noreturn, format(printf, 1, 2)));
static void fail(const char *format, ...)
{
    va_list args;

    va_start(args, format);
    fprintf(stderr, "lattice_run: ");
    vfprintf(stderr, format, args);
    fprintf(stderr, "\n");
    va_end(args);
    exit(1);
}

static void read_options(int argc, char **argv, struct options *o)
{
    const struct arg table[] = {
        {"parameters", ARG_TEXT, &o->parameters, 0, 0, "FILE", "of the exercise"},
        {"resume", ARG_TEXT, &o->resume, 0, 0, "FILE", "instead: a checkpoint"},
        {"obstacles", ARG_TEXT, &o->obstacles, 0, 0, "FILE", "of the exercise"},
        {"device", ARG_TEXT, &o->device, 0, 0, "BACKEND", "default cpu"},
        {"steps", ARG_U64, &o->steps, 1, 1e12, "N", "default: the parameters' number"},
        {"half", ARG_FLAG, &o->is_half, 0, 0, NULL, "store distributions in 16 bits"},
        {"lid", ARG_REAL, &o->lid, -0.49, 0.49, "SPEED", "row ny - 1 of the obstacles is a lid"},
        {"slice-us", ARG_REAL, &o->slice_us, 1, 1e9, "US", "of a slice (default 100,000)"},
        {"speeds", ARG_TEXT, &o->speeds, 0, 0, "FILE", "write the mean speed after each step"},
        {"vtk", ARG_TEXT, &o->vtk, 0, 0, "FILE", "write the flow"},
        {"png", ARG_TEXT, &o->png, 0, 0, "FILE", "write a picture of its speeds"},
        {"save", ARG_TEXT, &o->save, 0, 0, "FILE", "write a checkpoint"},
        {0}};
    const int r = args_parse(argc, argv, NULL, table);

    if (r != ARGS_OK)
        exit(r == ARGS_HELP ? 0 : 2);
    if (!o->parameters == !o->resume)
        fail("--parameters FILE or --resume FILE must be given");
}

static struct lattice *begin(const struct options *o, struct trg_device *device,
                             struct trg_queue *q, struct lattice_parameters *p)
{
    struct lattice_why why = {"the device failed"};
    unsigned char *kind;
    struct lattice *l;

    if (o->resume) {
        if (lattice_resume(device, q, o->resume, NULL, &l, &why) < 0)
            fail("%s", why.text);
        lattice_setup_of(l, &p->setup);
        return l;
    }
    if (lattice_read_parameters(o->parameters, p, &why) < 0)
        fail("%s", why.text);
    kind = calloc(p->setup.nx, p->setup.ny);
    if (!kind)
        fail("out of memory");
    if (o->obstacles &&
        lattice_read_obstacles(o->obstacles, p->setup.nx, p->setup.ny, kind, &why) < 0)
        fail("%s", why.text);
    p->setup.storage = o->is_half ? LATTICE_STORE_HALF : LATTICE_STORE_FLOAT;
    if (o->lid < 0 || o->lid > 0) {
        unsigned char *top = kind + (size_t)(p->setup.ny - 1) * p->setup.nx;

        p->setup.lid = o->lid;
        for (uint32_t x = 0; x < p->setup.nx; x++)
            top[x] = top[x] ? LATTICE_LID : LATTICE_FREE;
    }
    if (lattice_open(device, &p->setup, kind, NULL, &l, &why) < 0)
        fail("%s", why.text);
    free(kind);
    return l;
}

/* Slices up to `steps`; the mean speed after the last one. */
static double run(struct lattice *l, struct trg_queue *q, uint64_t steps, double slice_us,
                  FILE *speeds)
{
    double *mean = malloc(LT_SLICE_MAX * sizeof *mean), last = 0;
    uint64_t done = 0;

    if (!mean)
        fail("out of memory");
    while (done < steps) {
        const uint64_t left = steps - done;
        const uint32_t most = left < LT_SLICE_MAX ? (uint32_t)left : LT_SLICE_MAX;
        uint32_t n;

        if (lattice_slice(l, q, slice_us, most, mean, &n) < 0)
            fail("the flow is lost between step %llu and %u later: a cell was faster than 1/2 a "
                 "step",
                 (unsigned long long)done, most);
        for (uint32_t i = 0; speeds && i < n; i++)
            fprintf(speeds, "%llu,%.12E\n", (unsigned long long)(done + i), mean[i]);
        last = mean[n - 1];
        done += n;
    }
    free(mean);
    return last;
}

static void picture(struct lattice *l, struct trg_queue *q, const struct lattice_setup *s,
                    const char *path)
{
    const size_t n = (size_t)s->nx * s->ny;
    double *flow = malloc(3 * n * sizeof *flow), most = 0;

    if (!flow || lattice_get_flow(l, q, flow, flow + n, flow + 2 * n) < 0)
        fail("no picture: out of memory, or the device failed");
    for (size_t i = 0; i < n; i++) {
        flow[i] = hypot(flow[n + i], flow[2 * n + i]);
        most = flow[i] > most ? flow[i] : most;
    }
    if (picture_write(path, flow, lattice_kind(l), s->nx, s->ny, most) < 0)
        fail("%s cannot be written", path);
    free(flow);
}

int main(int argc, char **argv)
{
    struct options o = {.device = "cpu", .slice_us = 1e5};
    struct lattice_parameters p = {0};
    struct lattice_why why = {"the device failed"};
    struct lattice_cost cost;
    struct trg_queue *q;
    struct lattice *l;
    FILE *speeds = NULL;
    double mean;

    read_options(argc, argv, &o);
    if (!devices_open(o.device))
        fail("there is no device; TRIGD_BUILD must name the build folder");
    if (trg_queue_new(devices_get(0)->d, &q) < 0)
        fail("no queue");
    l = begin(&o, devices_get(0)->d, q, &p);
    if (o.speeds && !(speeds = fopen(o.speeds, "w")))
        fail("%s cannot be written", o.speeds);
    mean = run(l, q, o.steps ? o.steps : p.steps, o.slice_us, speeds);
    if (speeds && fclose(speeds) != 0)
        fail("%s cannot be written", o.speeds);
    if (o.vtk && lattice_write_vtk(l, q, o.vtk, &why) < 0)
        fail("%s", why.text);
    if (o.png)
        picture(l, q, &p.setup, o.png);
    if (o.save && lattice_save(l, q, o.save, &why) < 0)
        fail("%s", why.text);
    lattice_cost(l, &cost);
    printf("%llu steps, %.3g us each; mean speed %.12E", (unsigned long long)cost.steps,
           cost.step_us, mean);
    if (p.reynolds_dim > 0)
        printf("; Reynolds number %.6f", lattice_reynolds(&p, mean));
    printf("\n%.1f MiB on the device, %.1f MiB in a checkpoint\n",
           (double)cost.device_bytes / 0x1p20, (double)cost.checkpoint_bytes / 0x1p20);
    lattice_close(l);
    trg_queue_free(q);
    devices_close();
    return 0;
}
