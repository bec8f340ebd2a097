/* SPDX-License-Identifier: Apache-2.0 */
/* supervisor.h - opens the supervisor and runs it until it has to stop. */
#ifndef TRIGSUP_SUPERVISOR_H
#define TRIGSUP_SUPERVISOR_H
#include "config/config.h"

/* What the daemon's configuration allows and a supervisor has not: -EINVAL, logged. */
int supervisor_check(const struct config *c);
struct supervisor;
/* -errno; logs failures. */
int supervisor_open(const struct config *config, const char *config_path,
                    struct supervisor **ret_supervisor);
int supervisor_run(struct supervisor *s);
void supervisor_close(struct supervisor *s); /* NULL is fine */
#endif
