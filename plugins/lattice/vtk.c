/* SPDX-License-Identifier: Apache-2.0 */
/* The flow as a VTK file, legacy format 3.0: numbers are big-endian. */
#include <stdio.h>
#include <stdlib.h>

#include "inner.h"

static void put_float(unsigned char *to, double value)
{
    const float small = (float)value;
    uint32_t bits;

    memcpy(&bits, &small, sizeof bits);
    for (int i = 0; i < 4; i++)
        to[i] = (unsigned char)(bits >> (24 - 8 * i));
}

/* density, ux and uy follow each other. */
static int write_fields(FILE *f, const struct lattice *l, const double *flow)
{
    const size_t n = l->n_cells;
    unsigned char *bytes = malloc(12 * n);
    int r = bytes ? 0 : -ENOMEM;

    if (r < 0)
        return r;
    fprintf(f, "# vtk DataFile Version 3.0\nlattice after %llu steps\nBINARY\n",
            (unsigned long long)l->steps);
    fprintf(f, "DATASET STRUCTURED_POINTS\nDIMENSIONS %u %u 1\nORIGIN 0 0 0\nSPACING 1 1 1\n",
            l->setup.nx, l->setup.ny);
    fprintf(f, "POINT_DATA %zu\nSCALARS density float 1\nLOOKUP_TABLE default\n", n);
    for (size_t i = 0; i < n; i++)
        put_float(bytes + 4 * i, flow[i]);
    if (fwrite(bytes, 4 * n, 1, f) != 1)
        r = -EIO;
    fprintf(f, "\nVECTORS velocity float\n");
    for (size_t i = 0; i < n; i++) {
        put_float(bytes + 12 * i, flow[n + i]);
        put_float(bytes + 12 * i + 4, flow[2 * n + i]);
        put_float(bytes + 12 * i + 8, 0);
    }
    if (fwrite(bytes, 12 * n, 1, f) != 1)
        r = -EIO;
    fprintf(f, "\nSCALARS kind unsigned_char 1\nLOOKUP_TABLE default\n");
    if (fwrite(l->kind_host, n, 1, f) != 1 || ferror(f))
        r = -EIO;
    free(bytes);
    return r;
}

int lattice_write_vtk(struct lattice *l, struct trg_queue *q, const char *path,
                      struct lattice_why *why)
{
    const size_t n = l->n_cells;
    double *flow = malloc(3 * n * sizeof *flow);
    int r = flow ? lattice_get_flow(l, q, flow, flow + n, flow + 2 * n) : -ENOMEM;
    FILE *f = r == 0 ? fopen(path, "wb") : NULL;

    if (r == 0)
        r = f ? write_fields(f, l, flow) : -errno;
    if (f && fclose(f) != 0 && r == 0)
        r = -EIO;
    if (r < 0)
        (void)lattice_refuse(why, "%s cannot be written: %s", path, strerror(-r));
    free(flow);
    return r;
}
