/* SPDX-License-Identifier: Apache-2.0 */
/* What is in the cells: distributions and flow, to and from the host. */
#include <math.h>
#include <stdlib.h>

#include "inner.h"

/* The way back of lattice_write. */
static void read_back(struct lattice *l, struct launcher *to, struct trg_buffer *device, size_t at,
                      void *ret_data, size_t bytes)
{
    for (size_t done = 0; done < bytes; done += LATTICE_PIECE) {
        const size_t n = bytes - done < LATTICE_PIECE ? bytes - done : LATTICE_PIECE;

        launcher_read_at(to, l->piece, device, at + done, n);
        if (launcher_finish(to) < 0)
            return;
        memcpy((unsigned char *)ret_data + done, trg_buffer_host(l->piece), n);
    }
}

/* ---------------------------------------------------------------- distributions */

/* Where one of the nine arrays begins. */
static size_t array_at(const struct lattice *l, uint32_t k)
{
    return (size_t)k * l->par.stride * lattice_number_bytes(l);
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
    struct launcher to = launcher_on(q, &l->info);
    unsigned char *array;

    if (lattice_is_busy(l))
        return -EINVAL;
    array = l->state ? malloc(bytes) : NULL;
    if (l->state && !array)
        return -ENOMEM;
    for (uint32_t k = 0; to.result == 0 && k < 9; k++) {
        unsigned char *mine = (unsigned char *)ret_g + k * bytes;

        if (l->state) {
            read_back(l, &to, l->g, array_at(l, (uint32_t)lattice_opposite[k]), array, bytes);
            if (to.result == 0)
                bring_back(l, k, array, mine);
        } else {
            read_back(l, &to, l->g, array_at(l, k), mine, bytes);
        }
    }
    free(array);
    return to.result;
}

int lattice_put(struct lattice *l, struct trg_queue *q, const void *g, uint64_t steps)
{
    const size_t bytes = l->n_cells * lattice_number_bytes(l);
    struct launcher to = launcher_on(q, &l->info);

    if (lattice_is_busy(l))
        return -EINVAL;
    for (uint32_t k = 0; k < 9; k++)
        lattice_write(l, &to, l->g, array_at(l, k), (const unsigned char *)g + k * bytes, bytes);
    if (to.result < 0)
        return to.result;
    l->state = 0;
    l->steps = steps;
    return 0;
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
