/* SPDX-License-Identifier: Apache-2.0 */
#include "slow.h"

#include <stdlib.h>

#include "crowd.h"
#include "middle.h"

#define CLIENTS 4u
#define WINDOW  2000u
#define POINTS  16u /* an RoI is small: its data do not count here */

int slow_measure(const char *folder, double load, int is_random, double seconds, unsigned rounds,
                 struct result *ret_p99)
{
    static struct crowd crowd; /* large */
    struct middle_setup setup = {
        .folder = folder, .nodes = SLOW_NODES, .io_threads = 1, .is_random = is_random};
    const double rate =
        load * NODE_SLOTS * (SLOW_NODES - 1 + 1 / SLOW_TIMES) * 1e6 / SLOW_SERVICE_US;
    struct middle m;
    struct crowd_run run;
    int r;

    for (uint32_t i = 0; i < SLOW_NODES; i++)
        setup.service_us[i] = i ? SLOW_SERVICE_US : SLOW_TIMES * SLOW_SERVICE_US;
    r = middle_start(&m, SERVER_TRIGD, &setup);
    if (r == 0)
        r = crowd_open(&crowd, &m.server, CLIENTS, WINDOW);
    if (r == 0)
        r = crowd_points(&crowd, POINTS);
    for (uint32_t i = 0; i < CLIENTS; i++)
        crowd.client[i].is_poisson = true;
    *ret_p99 = (struct result){.n = 0};
    for (unsigned round = 0; r == 0 && round <= rounds; round++) {
        r = crowd_run(&crowd, &m.server, round ? seconds : seconds / 5, rate, &run);
        if (r == 0 && round) /* the first one makes the rates known */
            result_add(ret_p99, run.p99_us / SLOW_SERVICE_US);
    }
    crowd_close(&crowd);
    middle_stop(&m);
    return r;
}
