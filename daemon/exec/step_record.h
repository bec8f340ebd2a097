/* SPDX-License-Identifier: Apache-2.0 */
/* step_record.h - how often the plugins of a step ended a worker: a step that does nothing else is
 * taken out for a while, and the other steps of that worker serve on.
 *
 * One for each step of a generation, for all shards. */
#ifndef TRIGD_STEP_RECORD_H
#define TRIGD_STEP_RECORD_H
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct step_record {          /* zero: nothing happened */
    _Atomic uint32_t strikes; /* RoIs that ended their worker alone since the last good batch */
    _Atomic uint32_t pause_ms;
    _Atomic uint64_t out_until_ns;
};

/* An RoI ended a worker while the step ran there alone.  Returns for how many ms the step is out
 * from now on; 0: it is not, or was already. */
uint32_t step_record_strike(struct step_record *r, uint64_t now_ns);
/* A batch of the step came back well. */
void step_record_good(struct step_record *r);
bool step_record_is_out(const struct step_record *r, uint64_t now_ns);
#endif
