/* SPDX-License-Identifier: Apache-2.0 */
/* races.h - data races in the kernels of a plugin, which Oclgrind looks for.
 *
 * Oclgrind (J. Price, S. McIntosh-Smith, IWOCL 2015) is an OpenCL device in software that follows
 * every access to memory.  This program is started again under it, with the hidden option
 * --race-run, and runs a few RoIs on its device; what it logged is reported with kernel, file and
 * line. */
#ifndef TRIGCTL_RACES_H
#define TRIGCTL_RACES_H
#include "check_inner.h"

#define RACES_ITEMS     160u /* most in one RoI: each access is looked at */
#define RACES_TIMEOUT_S 300u

/* Prints one line for each pair of places that race, or one for none; where oclgrind is not
 * installed, a SKIP line. */
void races_check(struct check *c);

/* Inside of oclgrind: whether the device is its own. */
bool races_is_device(struct trg_device *device);
#endif
