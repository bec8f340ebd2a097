/* SPDX-License-Identifier: Apache-2.0 */
#include "naive.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

const double naive_weight[9] = {4.0 / 9,  1.0 / 9,  1.0 / 9,  1.0 / 9, 1.0 / 9,
                                1.0 / 36, 1.0 / 36, 1.0 / 36, 1.0 / 36};
const int naive_cx[9] = {0, 1, 0, -1, 0, 1, -1, -1, 1};
const int naive_cy[9] = {0, 0, 1, 0, -1, 1, 1, -1, -1};

#define real        double
#define grid_type   struct naive_double_grid
#define NAIVE(name) naive_double_##name
#include "naive_body.h"
#undef real
#undef grid_type
#undef NAIVE
#define real        float
#define grid_type   struct naive_float_grid
#define NAIVE(name) naive_float_##name
#include "naive_body.h"
