/* SPDX-License-Identifier: Apache-2.0 */
#include "stop.h"

#include <signal.h>
#include <stdint.h>

#include "clock.h"

#define AGAIN_NS (NS_PER_S / 5) /* between two signals: timeout(1) sends one twice */

_Atomic bool stop_wanted, stop_at_once;
static _Atomic uint64_t wanted_ns;

static void on_signal(int number)
{
    const uint64_t now = clock_ns();

    (void)number;
    if (!atomic_exchange(&stop_wanted, true))
        atomic_store(&wanted_ns, now);
    else if (now > atomic_load(&wanted_ns) + AGAIN_NS)
        atomic_store(&stop_at_once, true);
}

void stop_catch_signals(void)
{
    signal(SIGINT, on_signal);
    signal(SIGTERM, on_signal);
}
