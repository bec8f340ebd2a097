/* SPDX-License-Identifier: Apache-2.0 */
/* What is in the cells: distributions and flow, to and from the host. */
#include <math.h>
#include <stdlib.h>

#include "inner.h"

/* ---------------------------------------------------------------- one of the nine arrays */

static int get_array(struct lattice *l, struct trg_queue *q, uint32_t k, unsigned char *to)
{
    const size_t size = lattice_number_bytes(l), bytes = l->n_cells * size;
    int r = 0;

    for (size_t at = 0; r == 0 && at < bytes; at += LATTICE_PIECE) {
        const size_t n = bytes - at < LATTICE_PIECE ? bytes - at : LATTICE_PIECE;

        r = trg_read(q, l->piece, 0, l->g, (size_t)k * l->par.stride * size + at, n);
        if (r == 0)
            r = trg_finish(q);
        if (r == 0)
            memcpy(to + at, trg_buffer_host(l->piece), n);
    }
    return r;
}

static int put_array(struct lattice *l, struct trg_queue *q, uint32_t k, const unsigned char *from)
{
    const size_t size = lattice_number_bytes(l), bytes = l->n_cells * size;
    int r = 0;

    for (size_t at = 0; r == 0 && at < bytes; at += LATTICE_PIECE) {
        const size_t n = bytes - at < LATTICE_PIECE ? bytes - at : LATTICE_PIECE;

        memcpy(trg_buffer_host(l->piece), from + at, n);
        r = trg_write(q, l->g, (size_t)k * l->par.stride * size + at, l->piece, 0, n);
        if (r == 0)
            r = trg_finish(q);
    }
    return r;
}

/* State 1 has what left x in direction k at (x + c_k, opposite(k)): brings it to (x, k). */
static void bring_back(const struct lattice *l, uint32_t k, const unsigned char *from,
                       unsigned char *to)
{
    const size_t size = lattice_number_bytes(l);
    const uint32_t nx = l->setup.nx, ny = l->setup.ny;

    for (uint32_t y = 0; y < ny; y++)
        for (uint32_t x = 0; x < nx; x++) {
            const uint32_t there_x = (x + nx + (uint32_t)lattice_cx[k]) % nx;
            const uint32_t there_y = (y + ny + (uint32_t)lattice_cy[k]) % ny;

            memcpy(to + ((size_t)y * nx + x) * size, from + ((size_t)there_y * nx + there_x) * size,
                   size);
        }
}

int lattice_get(struct lattice *l, struct trg_queue *q, void *ret_g)
{
    const size_t bytes = l->n_cells * lattice_number_bytes(l);
    unsigned char *array = l->state ? malloc(bytes) : NULL, *to = ret_g;
    int r = lattice_is_busy(l) ? -EINVAL : l->state && !array ? -ENOMEM : 0;

    for (uint32_t k = 0; r == 0 && k < 9; k++) {
        r = get_array(l, q, l->state ? (uint32_t)lattice_opposite[k] : k,
                      l->state ? array : to + k * bytes);
        if (r == 0 && l->state)
            bring_back(l, k, array, to + k * bytes);
    }
    free(array);
    return r;
}

int lattice_put(struct lattice *l, struct trg_queue *q, const void *g, uint64_t steps)
{
    const size_t bytes = l->n_cells * lattice_number_bytes(l);
    int r = lattice_is_busy(l) ? -EINVAL : 0;

    for (uint32_t k = 0; r == 0 && k < 9; k++)
        r = put_array(l, q, k, (const unsigned char *)g + k * bytes);
    if (r == 0) {
        l->state = 0;
        l->steps = steps;
    }
    return r;
}

/* ---------------------------------------------------------------- flow */

int lattice_set_flow(struct lattice *l, struct trg_queue *q, const double *density,
                     const double *ux, const double *uy)
{
    const size_t n = l->n_cells, size = lattice_number_bytes(l);
    float *g = malloc(n * sizeof *g);
    unsigned char *all = malloc(9 * n * size);
    int r = g && all ? 0 : -ENOMEM;

    for (uint32_t k = 0; r == 0 && k < 9; k++) {
        for (size_t i = 0; i < n; i++) {
            const double cu = lattice_cx[k] * ux[i] + lattice_cy[k] * uy[i];
            const double uu = ux[i] * ux[i] + uy[i] * uy[i];
            const double f =
                lattice_weight[k] * density[i] * (1 + 3 * cu + 4.5 * cu * cu - 1.5 * uu);

            g[i] = l->kind_host[i] == LATTICE_FREE
                       ? (float)(f - lattice_weight[k] * l->setup.density)
                       : 0;
        }
        if (l->setup.storage == LATTICE_STORE_HALF)
            lattice_to_half(g, (uint16_t *)(void *)(all + k * n * size), n);
        else
            memcpy(all + k * n * size, g, n * size);
    }
    if (r == 0)
        r = lattice_put(l, q, all, l->steps);
    free(g);
    free(all);
    return r;
}

static void flow_of(const struct lattice *l, const float *g, size_t i, double *ret_density,
                    double *ret_ux, double *ret_uy)
{
    const size_t n = l->n_cells;
    double more = 0, jx = 0, jy = 0;

    for (uint32_t k = 0; k < 9; k++) {
        const double here = (double)g[k * n + i];

        more += here;
        jx += lattice_cx[k] * here;
        jy += lattice_cy[k] * here;
    }
    *ret_density = l->setup.density + more;
    *ret_ux = (jx - 0.5 * l->setup.force_x) / *ret_density;
    *ret_uy = (jy - 0.5 * l->setup.force_y) / *ret_density;
}

int lattice_get_flow(struct lattice *l, struct trg_queue *q, double *ret_density, double *ret_ux,
                     double *ret_uy)
{
    const size_t n = l->n_cells;
    const bool is_half = l->setup.storage == LATTICE_STORE_HALF;
    float *g = malloc(9 * n * sizeof *g);
    uint16_t *halves = is_half ? malloc(9 * n * sizeof *halves) : NULL;
    int r = g && (halves || !is_half) ? 0 : -ENOMEM;

    if (r == 0)
        r = lattice_get(l, q, is_half ? (void *)halves : (void *)g);
    if (r == 0 && is_half)
        lattice_from_half(halves, g, 9 * n);
    for (size_t i = 0; r == 0 && i < n; i++)
        if (l->kind_host[i] == LATTICE_FREE) {
            flow_of(l, g, i, &ret_density[i], &ret_ux[i], &ret_uy[i]);
        } else {
            ret_density[i] = l->setup.density;
            ret_ux[i] = ret_uy[i] = 0;
        }
    free(g);
    free(halves);
    return r;
}
