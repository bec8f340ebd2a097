/* SPDX-License-Identifier: Apache-2.0 */
/* Events for each joule of the device: doublets by windows and by trees, copies in and out
 * included; the device's own meter, idle power and all. */
#include <stdio.h>
#include <string.h>

#include "bench.h"
#include "clock.h"
#include "events.h"
#include "meter.h"

#define SECONDS 2.0 /* of a run: the meters move in steps of 0.1 s */

static double run_for(struct lane *l, uint32_t n, const struct meter *meter)
{
    const uint64_t start = clock_ns();
    const double before = meter_joule(meter);
    double events = 0, after;

    while ((double)(clock_ns() - start) < SECONDS * 1e9) {
        if (lane_run(l, true) < 0)
            die("the plugin failed");
        events += n;
    }
    after = meter_joule(meter);
    if (before < 0 || after <= before)
        die("the meter does not move");
    return events / (after - before);
}

static void energy_on(const struct device *device, const char *preset,
                      const struct generated *events, uint32_t n, const struct meter *meter)
{
    static const char *const how[] = {"windows", "trees"};

    for (uint32_t search = 0; search < 2; search++) {
        struct doublets_config c;
        struct result r = {0};
        struct lane *l;

        events_config(&c);
        c.search = search;
        l = lane_open(device, &c, events, n);
        if (!l)
            die("no lane");
        for (uint32_t i = 0; i < 3; i++)
            result_add(&r, run_for(l, n, meter));
        result_report(&bench.out,
                      &(struct result_figure){
                          .unit = "1/J", .higher_is_better = true, .device = name_of(device)},
                      &r, "events a joule, doublets of %s, %s", preset, how[search]);
        lane_close(l);
    }
}

void bench_energy(void)
{
    static const char *const presets[] = {"pixel", "pixel200"};

    for (uint32_t p = 0; p < 2; p++) {
        const uint32_t n = p ? 16 : 256;
        struct generated *events = generated_new(presets[p], 1, 0, n);

        if (!events)
            die("no events");
        for (uint32_t i = 0; i < devices_count(); i++) {
            const struct device *device = devices_get(i);
            struct meter *meter = meter_open(device->info.is_host ? "" : device->info.pci);

            if (meter)
                energy_on(device, presets[p], events, n, meter);
            else
                printf("%s: no energy meter can be read\n", name_of(device));
            meter_close(meter);
        }
        generated_free(events, n);
    }
}
