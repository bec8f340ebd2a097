/* SPDX-License-Identifier: Apache-2.0 */
#include "bench.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

struct bench bench = {.runs = 5, .out = {.bench = "lattice"}};

void die(const char *format, ...)
{
    va_list args;

    va_start(args, format);
    fprintf(stderr, "bench_lattice: ");
    vfprintf(stderr, format, args);
    fprintf(stderr, "\n");
    va_end(args);
    exit(1);
}

const char *name_of(const struct device *device)
{
    static char name[64];

    snprintf(name, sizeof name, "%s, %.24s", device->info.backend, device->info.name);
    return name;
}

struct lattice *flow_open(const struct device *device, const struct lattice_setup *setup,
                          const unsigned char *kind, const struct lattice_tuning *tuning,
                          struct trg_queue **ret_queue)
{
    struct lattice_why why = {"the device failed"};
    struct lattice *l;

    if (lattice_open(device->d, setup, kind, tuning, &l, &why) < 0)
        die("%s", why.text);
    if (trg_queue_new(device->d, ret_queue) < 0)
        die("no queue");
    return l;
}

void flow_close(struct lattice *l, struct trg_queue *q)
{
    trg_queue_free(q);
    lattice_close(l);
}

void flow_run(struct lattice *l, struct trg_queue *q, uint64_t steps, double *ret_mean)
{
    const int r = lattice_run(l, q, steps, ret_mean);

    if (r < 0)
        die("%llu steps: %s", (unsigned long long)steps, strerror(-r));
}

unsigned char *box(uint32_t nx, uint32_t ny)
{
    unsigned char *kind = calloc(nx, ny);

    if (!kind)
        die("out of memory");
    for (uint32_t x = 0; x < nx; x++)
        kind[x] = kind[(size_t)(ny - 1) * nx + x] = LATTICE_SOLID;
    for (uint32_t y = 0; y < ny; y++)
        kind[(size_t)y * nx] = kind[(size_t)y * nx + nx - 1] = LATTICE_SOLID;
    return kind;
}
