/* SPDX-License-Identifier: Apache-2.0 */
#include "alignment.h"

#include <math.h>

#include "alignment.collections.h"

/* Turns (a, b) by the angle. */
static void turn(double *a, double *b, double angle)
{
    const double c = cos(angle), s = sin(angle), was = *a;

    *a = c * was - s * *b;
    *b = s * was + c * *b;
}

static void rotate(float *v, const double *angle)
{
    double r[3] = {(double)v[0], (double)v[1], (double)v[2]};

    turn(&r[1], &r[2], angle[0]);
    turn(&r[2], &r[0], angle[1]);
    turn(&r[0], &r[1], angle[2]);
    for (int k = 0; k < 3; k++)
        v[k] = (float)r[k];
}

static void move_sensor(struct cl_sensor *s, const float *middle, const double *angle,
                        const float *shift)
{
    float centre[3], arm[3]; /* arm: from the centre to the corner */

    for (int k = 0; k < 3; k++) {
        arm[k] = -(s->column[k] * middle[0] + s->row[k] * middle[1]);
        centre[k] = s->corner[k] - arm[k];
    }
    rotate(arm, angle);
    rotate(s->column, angle);
    rotate(s->row, angle);
    for (int k = 0; k < 3; k++)
        s->corner[k] = centre[k] + arm[k] + shift[k];
}

void alignment_apply(const struct trg_input *table, const float *middle, struct cl_sensor *sensors,
                     uint32_t n_sensors)
{
    const uint16_t *sensor = TRG_ALIGNMENT_SENSOR(table->host, table->span);
    const float *dx = TRG_ALIGNMENT_DX(table->host, table->span);
    const float *dy = TRG_ALIGNMENT_DY(table->host, table->span);
    const float *dz = TRG_ALIGNMENT_DZ(table->host, table->span);
    const float *rx = TRG_ALIGNMENT_RX(table->host, table->span);
    const float *ry = TRG_ALIGNMENT_RY(table->host, table->span);
    const float *rz = TRG_ALIGNMENT_RZ(table->host, table->span);

    for (uint32_t i = 0; i < table->span.n_items; i++) {
        const double angle[3] = {(double)rx[i], (double)ry[i], (double)rz[i]};
        const float shift[3] = {dx[i], dy[i], dz[i]};

        if (sensor[i] < n_sensors)
            move_sensor(&sensors[sensor[i]], middle, angle, shift);
    }
}
