/* SPDX-License-Identifier: Apache-2.0 */
/* reproduce.h - runs the RoIs of a stream again, in a daemon of their own. */
#ifndef TRIGD_REPRODUCE_H
#define TRIGD_REPRODUCE_H

struct reproduce_files {
    const char *config;
    const char *menu, *prescales, *conditions; /* instead of the configuration's; NULL: those */
    const char *sets; /* instead: the folder where a daemon keeps all by key; NULL: none */
};

/* Starts trigd with the configuration in a scratch folder, sends it the RoIs of the file (or of all
 * in a folder) one by one, and ends it.  Of the debug stream it prints for each why it went there
 * then and now; of other streams the RoIs that are decided otherwise: their values, chains or
 * streams differ.  With `prescales` or `conditions` those that were decided by others are left out
 * and counted; with `sets` each RoI is decided by those that decided it before.  How many ended or
 * were decided otherwise than before; a negative errno, with a sentence on stderr. */
int reproduce(const char *file, const struct reproduce_files *with);
#endif
