/* SPDX-License-Identifier: Apache-2.0 */
/* The beam line as a condition: the same answers, to the bit, as with the parameters. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collisions.h"
#include "memfile.h"

static int check_device(struct trg_testing *t, uint32_t d, const char *path)
{
    static const char *const fixed[] = {"beam_line",     "fixed",     "beam_x_mm",
                                        "1.25",          "beam_y_mm", "-0.75",
                                        "beam_sigma_mm", "0.05",      NULL};
    static struct trg_result by_parameters[N_ROIS];
    uint32_t n_vertices = 0, n_other = 0;

    if (trg_testing_conditions(t, NULL) < 0 || trg_testing_run(t, d, fixed, roi, N_ROIS) < 0)
        return -1;
    for (uint32_t r = 0; r < N_ROIS; r++)
        by_parameters[r] = roi[r].result;
    if (trg_testing_conditions(t, path) < 0 || trg_testing_run(t, d, NULL, roi, N_ROIS) < 0)
        return -1;
    for (uint32_t r = 0; r < N_ROIS; r++) {
        n_vertices += (uint32_t)roi[r].result.value[0];
        if (memcmp(&by_parameters[r], &roi[r].result, sizeof roi[r].result) != 0) {
            printf("RoI %u differs on %s\n", r, trg_testing_device(t, d));
            return -1;
        }
    }
    if (trg_testing_conditions(t, NULL) < 0 || trg_testing_run(t, d, NULL, roi, N_ROIS) < 0)
        return -1;
    for (uint32_t r = 0; r < N_ROIS; r++) /* the beam line is found: nearly the same */
        n_other += memcmp(&by_parameters[r], &roi[r].result, sizeof roi[r].result) != 0;
    printf("%s: %u vertices in %u RoIs; %u differ where the line is found\n",
           trg_testing_device(t, d), n_vertices, N_ROIS, n_other);
    return n_vertices >= N_ROIS && n_other > N_ROIS / 2 ? 0 : -1;
}

int main(void)
{
    const char text[] = "conditions: {beam_line: {x: [1.25], y: [-0.75], sigma: [0.05]}}\n";
    struct memfile file = memfile_new(text, sizeof text - 1);
    char plugin[1024];
    struct trg_testing *t = NULL;
    int failed;

    snprintf(plugin, sizeof plugin, "%s/plugins/vertexing.so", getenv("TRIGD_BUILD"));
    make_tracks(fresh_seed());
    failed = trg_testing_open(plugin, &t) < 0;
    for (uint32_t d = 0; !failed && d < trg_testing_devices(t); d++)
        failed = check_device(t, d, file.path) < 0;
    trg_testing_close(t);
    memfile_close(&file);
    return failed;
}
