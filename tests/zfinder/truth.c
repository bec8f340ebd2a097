/* SPDX-License-Identifier: Apache-2.0 */
#include "truth.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "encoding.h"

struct found count_found(const struct generated *rois, uint32_t n, const struct trg_result *results)
{
    struct found f = {.good = 0};
    double sum2 = 0;

    for (uint32_t i = 0; i < n; i++) {
        double dz = fabs((double)results[i].value[1] - (double)rois[i].vertex_z[0]);

        if (results[i].value[0] > 0 && dz <= 1) {
            f.good++;
            f.mean_dz += dz;
            sum2 += dz * dz;
        }
    }
    if (f.good) {
        f.mean_dz /= f.good;
        f.error_dz = sqrt(fmax(sum2 / f.good - f.mean_dz * f.mean_dz, 0) / f.good);
    }
    return f;
}

int quantize(struct generated *roi)
{
    float *const columns[] = {roi->phi, roi->rho, roi->z};
    unsigned char *numbers = malloc(2 * (size_t)roi->n + 1);
    struct trg_encoding e;
    int r = numbers ? 0 : -ENOMEM;

    for (uint32_t c = 0; r == 0 && c < 3; c++) {
        r = encoding_fit(columns[c], roi->n, &e);
        if (r < 0)
            break;
        encoding_numbers(e, columns[c], roi->n, numbers);
        encoding_values(e, numbers, roi->n, columns[c]);
    }
    free(numbers);
    return r;
}
