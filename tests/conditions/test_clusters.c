/* SPDX-License-Identifier: Apache-2.0 */
/* Sensors that are displaced and turned: hits move as the geometry says, worked out here in double
 * precision from the hits of the nominal geometry and the centre of the sensor. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "memfile.h"
#include "seed.h"
#include "trigd/testing.h"

#define N_WORDS 400u
#define SENSOR  5u /* of velo.txt, at (0.70710677, ...): */
static const double along_column[3] = {-0.70710677, 0.70710677, 0},
                    along_row[3] = {-0.70710677, -0.70710677, 0},
                    corner[3] = {26.339727, 20.541452, -274.419};
static const double width = 768 * 0.055 + 4 * (0.1375 - 0.055), height = 256 * 0.055;
static const double shift[3] = {0.3, -0.2, 1.5}, angle[3] = {0.01, -0.02, 0.3};

static uint16_t sensor[N_WORDS];
static uint32_t word[N_WORDS];

static void rotate(const double *v, double *to)
{
    const double cx = cos(angle[0]), sx = sin(angle[0]), cy = cos(angle[1]), sy = sin(angle[1]),
                 cz = cos(angle[2]), sz = sin(angle[2]);
    /* Rz Ry Rx */
    const double m[3][3] = {{cz * cy, cz * sy * sx - sz * cx, cz * sy * cx + sz * sx},
                            {sz * cy, sz * sy * sx + cz * cx, sz * sy * cx - cz * sx},
                            {-sy, cy * sx, cy * cx}};

    for (int i = 0; i < 3; i++)
        to[i] = m[i][0] * v[0] + m[i][1] * v[1] + m[i][2] * v[2];
}

/* Where a hit of the sensor goes. */
static void move_hit(const double *hit, double *to)
{
    double centre[3], arm[3];

    for (int k = 0; k < 3; k++) {
        centre[k] = corner[k] + along_column[k] * width / 2 + along_row[k] * height / 2;
        arm[k] = hit[k] - centre[k];
    }
    rotate(arm, to);
    for (int k = 0; k < 3; k++)
        to[k] += centre[k] + shift[k];
}

static double worst_of(const float *const *nominal, const float *const *moved, uint32_t n,
                       const uint16_t *layer)
{
    double worst = 0;

    for (uint32_t i = 0; i < n; i++) {
        const double hit[3] = {(double)nominal[0][i], (double)nominal[1][i], (double)nominal[2][i]};
        double to[3] = {hit[0], hit[1], hit[2]};

        if (layer[i] == SENSOR / 4 && hit[2] == (double)nominal[2][0])
            move_hit(hit, to);
        for (int k = 0; k < 3; k++)
            worst = fmax(worst, fabs(to[k] - (double)moved[k][i]));
    }
    return worst;
}

static int check_device(struct trg_testing *t, uint32_t d, const char *path,
                        struct trg_testing_roi *roi)
{
    static float nominal[3][2 * N_WORDS];
    const float *columns[3] = {nominal[0], nominal[1], nominal[2]};
    const uint32_t n =
        trg_testing_conditions(t, NULL) < 0 || trg_testing_run(t, d, NULL, roi, 1) < 0
            ? 0
            : roi->out[0].n;
    double worst;

    for (int k = 0; k < 3; k++)
        memcpy(nominal[k], roi->out[0].column[k], n * sizeof(float));
    if (!n || trg_testing_conditions(t, path) < 0 || trg_testing_run(t, d, NULL, roi, 1) < 0 ||
        roi->out[0].n != n)
        return -1;
    worst = worst_of(columns, (const float *const *)roi->out[0].column, n, roi->out[0].column[3]);
    printf("%s: %u hits, at most %g mm from where they should be\n", trg_testing_device(t, d), n,
           worst);
    return worst < 2e-4 ? 0 : -1;
}

/* Words of two sensors, that of the condition first. */
static void make_words(uint64_t seed, struct trg_testing_roi *roi)
{
    for (uint32_t i = 0; i < N_WORDS; i++) {
        sensor[i] = i < N_WORDS / 2 ? SENSOR : SENSOR + 3;
        word[i] = (uint32_t)seed_uniform(&seed, 1, 256) |
                  (uint32_t)seed_uniform(&seed, 0, 64) << 8 |
                  (uint32_t)seed_uniform(&seed, 0, 384) << 14;
    }
    roi->in[0].n = N_WORDS;
    roi->in[0].column[0] = sensor;
    roi->in[0].column[1] = word;
}

int main(void)
{
    const char text[] = "conditions:\n"
                        "  sensor_alignment:\n"
                        "    sensor: [5, 60000]\n"
                        "    dx: [0.3, 1]\n    dy: [-0.2, 1]\n    dz: [1.5, 1]\n"
                        "    rx: [0.01, 0]\n    ry: [-0.02, 0]\n    rz: [0.3, 0]\n";
    struct memfile file = memfile_new(text, sizeof text - 1);
    char plugin[1024];
    struct trg_testing_roi roi = {.info = {.run = 1}};
    struct trg_testing *t = NULL;
    int failed;

    snprintf(plugin, sizeof plugin, "%s/plugins/clusters.so", getenv("TRIGD_BUILD"));
    make_words(fresh_seed(), &roi);
    failed = trg_testing_open(plugin, &t) < 0;
    for (uint32_t d = 0; !failed && d < trg_testing_devices(t); d++)
        failed = check_device(t, d, file.path, &roi) < 0;
    trg_testing_close(t);
    memfile_close(&file);
    return failed;
}
