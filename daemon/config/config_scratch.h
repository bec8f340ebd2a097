/* SPDX-License-Identifier: Apache-2.0 */
/* config_scratch.h - a configuration beside the daemon that already runs with it. */
#ifndef TRIGD_CONFIG_SCRATCH_H
#define TRIGD_CONFIG_SCRATCH_H
#include "config/config.h"

/* Moves all that two daemons cannot share into `folder`, which must be there: the endpoint
 * (ipc://FOLDER/in alone), the control socket (FOLDER/control), state and debug stream; no
 * streams, no HTTP. */
int config_scratch(struct config *c, const char *folder);
#endif
