/* SPDX-License-Identifier: Apache-2.0 */
#include "slow.h"

#include <stdlib.h>

#include "crowd.h"
#include "middle.h"

#define SERVICE_US 20000.0
#define CLIENTS    4u
#define WINDOW     2000u
#define POINTS     16u /* an RoI is small: its data do not count here */

int slow_measure(const char *folder, double load, int is_random, double seconds, double *ret_p99)
{
    static struct crowd crowd; /* large */
    struct middle_setup setup = {
        .folder = folder, .nodes = SLOW_NODES, .io_threads = 1, .is_random = is_random};
    const double rate = load * NODE_SLOTS * (SLOW_NODES - 1 + 1 / SLOW_TIMES) * 1e6 / SERVICE_US;
    struct middle m;
    struct crowd_run run;
    int r;

    for (uint32_t i = 0; i < SLOW_NODES; i++)
        setup.service_us[i] = i ? SERVICE_US : SLOW_TIMES * SERVICE_US;
    r = middle_start(&m, SERVER_TRIGD, &setup);
    if (r == 0)
        r = crowd_open(&crowd, &m.server, CLIENTS, WINDOW);
    if (r == 0)
        r = crowd_points(&crowd, POINTS);
    for (uint32_t i = 0; i < CLIENTS; i++)
        crowd.client[i].is_poisson = true;
    if (r == 0) /* until the rates are known */
        r = crowd_run(&crowd, &m.server, seconds / 5, rate, &run);
    if (r == 0)
        r = crowd_run(&crowd, &m.server, seconds, rate, &run);
    *ret_p99 = run.p99_us / SERVICE_US;
    crowd_close(&crowd);
    middle_stop(&m);
    return r;
}
