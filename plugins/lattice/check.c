/* SPDX-License-Identifier: Apache-2.0 */
/* Which simulations are allowed. */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>

#include "inner.h"

#define LATTICE_SIDE_MAX 65536u

int lattice_refuse(struct lattice_why *why, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    if (why)
        vsnprintf(why->text, sizeof why->text, format, args);
    va_end(args);
    return -EINVAL;
}

static int check_numbers(const struct lattice_setup *s, struct lattice_why *why)
{
    const double odd = s->omega_odd == 0 ? s->omega : s->omega_odd;

    if (s->nx < 3 || s->ny < 3 || s->nx > LATTICE_SIDE_MAX || s->ny > LATTICE_SIDE_MAX ||
        (uint64_t)s->nx * s->ny > LT_CELLS_MAX)
        return lattice_refuse(why,
                              "a grid of %u x %u cells: 3 to 65536 each way and at most 2^28 "
                              "together are allowed",
                              s->nx, s->ny);
    if (!(s->density > 0 && s->density <= 1000))
        return lattice_refuse(why, "density %g: above 0 and up to 1000 is allowed", s->density);
    if (!(s->accel >= 0 && s->accel < 1))
        return lattice_refuse(why, "accel %g: 0 to 1 is allowed", s->accel);
    if (!(s->omega > 0 && s->omega < 2) || !(odd > 0 && odd < 2))
        return lattice_refuse(why, "omega %g: between 0 and 2 is allowed",
                              s->omega > 0 && s->omega < 2 ? s->omega_odd : s->omega);
    if (!(fabs(s->force_x) < 1 && fabs(s->force_y) < 1))
        return lattice_refuse(why, "force (%g, %g): below 1 is allowed", s->force_x, s->force_y);
    if (!(fabs(s->lid) < 0.5))
        return lattice_refuse(why, "lid %g cells a step: below 0.5 is allowed", s->lid);
    if (s->storage > LATTICE_STORE_HALF)
        return lattice_refuse(why, "storage %u: 0 (float) or 1 (half) is allowed", s->storage);
    return 0;
}

static int check_cell(const struct lattice_setup *s, const unsigned char *kind, uint32_t x,
                      uint32_t y, struct lattice_why *why)
{
    const unsigned char k = kind[(size_t)y * s->nx + x];

    if (k > LATTICE_LID)
        return lattice_refuse(why, "cell (%u, %u) is of kind %u: 0 to 2 are allowed", x, y, k);
    if (k == LATTICE_LID && y != s->ny - 1)
        return lattice_refuse(why, "cell (%u, %u) is a lid: only cells of row %u may be", x, y,
                              s->ny - 1);
    return 0;
}

int lattice_check(const struct lattice_setup *s, const unsigned char *kind, struct lattice_why *why)
{
    uint64_t n_free = 0;
    int r = check_numbers(s, why);

    if (r < 0)
        return r;
    for (uint32_t y = 0; y < s->ny; y++)
        for (uint32_t x = 0; x < s->nx; x++) {
            r = check_cell(s, kind, x, y, why);
            if (r < 0)
                return r;
            n_free += kind[(size_t)y * s->nx + x] == LATTICE_FREE;
        }
    return n_free
               ? 0
               : lattice_refuse(why, "every one of the %u x %u cells is an obstacle", s->nx, s->ny);
}
