/* SPDX-License-Identifier: Apache-2.0 */
/* Layers that are displaced and turned, and a beam line beside the z axis.  Hits as such a detector
 * gives them are worked out here in double precision from tracks: with the alignment all are on
 * tracks again.  The beam line gives the same bits as the parameters. */
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "seed.h"
#include "trigd/testing.h"

#define N_ROIS  20u
#define TRACKS  30u
#define LAYERS  16u
#define HITS    (TRACKS * LAYERS)
#define GAP_MM  30.0 /* between layers */
#define BEAM_X  2.5
#define BEAM_Y  -1.5
#define ON      2 /* the value n_hits_on_tracks */
#define SLOPE_X 3 /* columns of a track */
#define SLOPE_Y 4

static const double turn_rad[3] = {0.01, -0.02, 0.3}, shift_mm[3] = {0.8, -0.6, 1.5};

static double slope[N_ROIS * TRACKS][2];
static float column[3][N_ROIS * HITS];
static uint16_t layer[N_ROIS * HITS];
static uint32_t id[N_ROIS * HITS];
static struct trg_testing_roi roi[N_ROIS];

static double z_of(uint32_t l)
{
    return 100 + GAP_MM * l;
}

/* One way or the other: hits of turned layers alone would be straight lines as well. */
static double way_of(uint32_t l)
{
    return l % 8 == 1 ? 1 : -1;
}

static void turn(double *a, double *b, double angle)
{
    const double was = *a;

    *a = cos(angle) * was - sin(angle) * *b;
    *b = sin(angle) * was + cos(angle) * *b;
}

/* What a layer that is off says of a hit: the way back, in the other order. */
static void measure(double *at, uint32_t l)
{
    for (int k = 0; k < 3; k++)
        at[k] -= way_of(l) * shift_mm[k] + (k == 2 ? z_of(l) : 0);
    turn(&at[0], &at[1], -way_of(l) * turn_rad[2]);
    turn(&at[2], &at[0], -way_of(l) * turn_rad[1]);
    turn(&at[1], &at[2], -way_of(l) * turn_rad[0]);
    at[2] += z_of(l);
}

/* Tracks from (BEAM_X, BEAM_Y, 0), far from each other; every fourth layer is off. */
static void make_tracks(uint64_t seed)
{
    for (uint32_t t = 0; t < N_ROIS * TRACKS; t++) {
        const double phi = 2 * M_PI * (t % TRACKS + seed_uniform(&seed, 0, 0.2)) / TRACKS;
        const double tan = seed_uniform(&seed, 0.08, 0.2);

        slope[t][0] = tan * cos(phi);
        slope[t][1] = tan * sin(phi);
        for (uint32_t l = 0; l < LAYERS; l++) {
            double at[3] = {BEAM_X + slope[t][0] * z_of(l), BEAM_Y + slope[t][1] * z_of(l),
                            z_of(l)};
            const uint32_t i = t * LAYERS + l;

            if (l % 4 == 1)
                measure(at, l);
            for (int k = 0; k < 3; k++)
                column[k][i] = (float)at[k];
            layer[i] = (uint16_t)l;
        }
    }
    for (uint32_t r = 0; r < N_ROIS; r++) {
        const size_t from = (size_t)r * HITS;

        roi[r].info = (struct trg_roi_info){.run = 1, .l1id = r};
        roi[r].in[0].n = HITS;
        for (uint32_t k = 0; k < 3; k++)
            roi[r].in[0].column[k] = &column[k][from];
        roi[r].in[0].column[3] = &layer[from];
        roi[r].in[0].column[4] = &id[from];
    }
}

static int write_file(char *path, bool has_alignment)
{
    static const char *const name[] = {"dx", "dy", "dz", "rx", "ry", "rz"};
    const int fd = mkstemp(path);
    FILE *f = fd < 0 ? NULL : fdopen(fd, "w");

    if (!f)
        return -1;
    fprintf(f, "conditions:\n  beam_line: {x: [%g], y: [%g], sigma: [0.05]}\n", BEAM_X, BEAM_Y);
    if (has_alignment)
        fprintf(f, "  layer_alignment:\n    layer: [1, 5, 9, 13]\n    z: [%g, %g, %g, %g]\n",
                z_of(1), z_of(5), z_of(9), z_of(13));
    for (int k = 0; has_alignment && k < 6; k++) {
        const double v = k < 3 ? shift_mm[k] : turn_rad[k - 3];

        fprintf(f, "    %s: [%g, %g, %g, %g]\n", name[k], v, -v, v, -v);
    }
    return fclose(f);
}

/* ---------------------------------------------------------------- what was found */

static double part_on_tracks(void)
{
    double sum = 0;

    for (uint32_t r = 0; r < N_ROIS; r++)
        sum += (double)roi[r].result.value[ON];
    return sum / (N_ROIS * HITS);
}

static bool is_found(const struct trg_testing_items *tracks, const double *truth)
{
    const float *tx = tracks->column[SLOPE_X], *ty = tracks->column[SLOPE_Y];

    for (uint32_t i = 0; i < tracks->n; i++)
        if (fabs((double)tx[i] - truth[0]) < 1e-5 && fabs((double)ty[i] - truth[1]) < 1e-5)
            return true;
    return false;
}

static double part_found(void)
{
    uint32_t n = 0;

    for (uint32_t t = 0; t < N_ROIS * TRACKS; t++)
        n += is_found(&roi[t / TRACKS].out[0], slope[t]);
    return (double)n / (N_ROIS * TRACKS);
}

/* Of the tracks' places, which are where they are nearest to the beam line. */
static double sum_of_places(void)
{
    double sum = 0;

    for (uint32_t r = 0; r < N_ROIS; r++)
        for (uint32_t i = 0; i < roi[r].out[0].n; i++)
            sum += (double)((const float *)roi[r].out[0].column[0])[i];
    return sum;
}

static bool are_results(const struct trg_result *results)
{
    for (uint32_t r = 0; r < N_ROIS; r++)
        if (memcmp(&results[r], &roi[r].result, sizeof *results) != 0)
            return false;
    return true;
}

static int run(struct trg_testing *t, uint32_t d, const char *conditions,
               const char *const *settings)
{
    return trg_testing_conditions(t, conditions) < 0 ? -1
                                                     : trg_testing_run(t, d, settings, roi, N_ROIS);
}

static int check_device(struct trg_testing *t, uint32_t d, const char *preset, const char *beam,
                        const char *both)
{
    const char *const plain[] = {"preset", preset, NULL};
    const char *const fixed[] = {"preset", preset, "beam_x_mm", "2.5", "beam_y_mm", "-1.5", NULL};
    static struct trg_result by_parameters[N_ROIS];
    double before, after, places;

    if (run(t, d, NULL, fixed) < 0)
        return -1;
    for (uint32_t r = 0; r < N_ROIS; r++)
        by_parameters[r] = roi[r].result;
    places = sum_of_places();
    if (run(t, d, beam, plain) < 0 || !are_results(by_parameters) || sum_of_places() != places) {
        printf("%s, %s: the beam line is not that of the parameters\n", trg_testing_device(t, d),
               preset);
        return -1;
    }
    before = part_on_tracks();
    if (run(t, d, NULL, plain) < 0 || fabs(sum_of_places() - places) < 1) {
        printf("%s, %s: the beam line makes no difference\n", trg_testing_device(t, d), preset);
        return -1;
    }
    if (run(t, d, both, plain) < 0)
        return -1;
    after = part_on_tracks();
    printf("%s, %s: %.3f of the hits on tracks, aligned %.3f; %.3f of the tracks found\n",
           trg_testing_device(t, d), preset, before, after, part_found());
    return before < 0.8 && after > 0.99 && part_found() > 0.99 ? 0 : -1;
}

int main(void)
{
    char beam[] = "/tmp/trigd-beam-XXXXXX", both[] = "/tmp/trigd-alignment-XXXXXX", plugin[1024];
    struct trg_testing *t = NULL;
    int failed;

    snprintf(plugin, sizeof plugin, "%s/plugins/hough.so", getenv("TRIGD_BUILD"));
    make_tracks(fresh_seed());
    failed = write_file(beam, false) < 0 || write_file(both, true) < 0 ||
             trg_testing_open(plugin, &t) < 0;
    for (uint32_t d = 0; !failed && d < trg_testing_devices(t); d++)
        failed = check_device(t, d, "velo", beam, both) < 0 ||
                 check_device(t, d, "hashed", beam, both) < 0;
    trg_testing_close(t);
    unlink(beam);
    unlink(both);
    return failed;
}
