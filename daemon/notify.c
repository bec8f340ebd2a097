/* SPDX-License-Identifier: Apache-2.0 */
#include "notify.h"

#ifdef TRIGD_SYSTEMD
#include <systemd/sd-daemon.h>

#include "clock.h"
#include "log.h"

void notify_send(const char *state)
{
    if (sd_notify(0, state) < 0)
        log_warn("daemon", "cannot notify systemd", "state=\"%s\"", state);
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
    notify_send("WATCHDOG=1");
}
#else
void notify_send(const char *state)
{
    (void)state;
}

void notify_watchdog(uint64_t now_ns)
{
    (void)now_ns;
}
#endif
