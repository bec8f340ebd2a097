/* SPDX-License-Identifier: Apache-2.0 */
/* phases.h - runs the path finder's pipeline on a device with a clock behind each phase. */
#ifndef PATHS_PHASES_H
#define PATHS_PHASES_H
#include "driver.h"
#include "pipeline.h"

/* Of one batch, us: on the CPU, whose queues work in the thread that waits, CPU time of the thread,
 * so that other work of the machine matters little; where OpenCL is threads on the CPU, CPU time of
 * all of them together; elsewhere the device's and the host's clock. */
struct timing {
    double phase[PA_PHASES];
    double wall; /* all of it, with the copies to and from the device */
};

struct lane; /* a pipeline with one batch in it */

/* Opens a lane for this batch, n RoIs.  Negative errno on failure. */
int lane_open(const struct algo_host *h, struct trg_device *device, const struct pa_config *config,
              const struct roi *rois, uint32_t n, struct lane **ret_lane);
void lane_close(struct lane *l);
/* From now on launches as for a device of `units` multiprocessors, and links with portions of so
 * many candidates; 0: as it was. */
void lane_width(struct lane *l, uint32_t units, uint32_t portion);
/* From now on so many rounds of the choice among duplicates are done by the whole device. */
void lane_rounds(struct lane *l, uint32_t rounds);
/* Runs the batch once.  What came out: sums over the RoIs. */
int lane_run(struct lane *l, struct timing *ret_timing);
void lane_counts(const struct lane *l, struct pa_summary *ret_sum);
#endif
