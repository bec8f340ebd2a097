/* SPDX-License-Identifier: Apache-2.0 */
#include "exec/step_record.h"

#include "clock.h"

#define STRIKES_MOST 4u
#define PAUSE_MS     1000u /* doubles */
#define PAUSE_MAX_MS 30000u

bool step_record_is_out(const struct step_record *r, uint64_t now_ns)
{
    return now_ns < atomic_load_explicit(&r->out_until_ns, memory_order_relaxed);
}

void step_record_good(struct step_record *r)
{
    if (!atomic_load_explicit(&r->strikes,
                              memory_order_relaxed)) /* written seldom, by all shards */
        return;
    atomic_store(&r->strikes, 0);
    atomic_store(&r->pause_ms, 0);
}

uint32_t step_record_strike(struct step_record *r, uint64_t now_ns)
{
    uint32_t pause;

    if (step_record_is_out(r, now_ns) || atomic_fetch_add(&r->strikes, 1) + 1 < STRIKES_MOST)
        return 0;
    pause = 2 * atomic_load(&r->pause_ms);
    pause = pause < PAUSE_MS ? PAUSE_MS : pause < PAUSE_MAX_MS ? pause : PAUSE_MAX_MS;
    atomic_store(&r->pause_ms, pause);
    atomic_store(&r->out_until_ns, now_ns + pause * NS_PER_MS);
    return pause;
}
