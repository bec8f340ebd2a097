/* SPDX-License-Identifier: Apache-2.0 */
#include "base/notify.h"

#ifdef TRIGD_SYSTEMD
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <systemd/sd-daemon.h>

#include "clock.h"
#include "log.h"

static _Atomic bool is_ready;

static void tell(const char *state)
{
    if (sd_notify(0, state) < 0)
        log_warn("daemon", "cannot notify systemd", "state=\"%s\"", state);
}

void notify_ready(void)
{
    atomic_store(&is_ready, true);
    tell("READY=1");
}

void notify_stopping(void)
{
    tell("STOPPING=1");
}

void notify_starting(uint32_t limit_s)
{
    char state[48];

    if (atomic_load(&is_ready))
        return;
    snprintf(state, sizeof state, "EXTEND_TIMEOUT_USEC=%llu", limit_s * 1000000ull);
    tell(state);
}

void notify_watchdog(uint64_t now_ns)
{
    static uint64_t petted_ns, limit_us;
    static int is_on = -1;

    if (is_on < 0)
        is_on = sd_watchdog_enabled(0, &limit_us) > 0;
    if (!is_on || now_ns < petted_ns + limit_us * NS_PER_US / 2)
        return;
    petted_ns = now_ns;
    tell("WATCHDOG=1");
}
#else
void notify_ready(void)
{
}

void notify_stopping(void)
{
}

void notify_starting(uint32_t limit_s)
{
    (void)limit_s;
}

void notify_watchdog(uint64_t now_ns)
{
    (void)now_ns;
}
#endif
