/* SPDX-License-Identifier: Apache-2.0 */
/* common.h - what the backends share: one way to log. */
#ifndef TRIGD_BACKENDS_COMMON_H
#define TRIGD_BACKENDS_COMMON_H
#include "trigd/device.h"

/* One line to the host's log. */
void backend_log(const struct trg_host *host, enum trg_level level, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
#endif
