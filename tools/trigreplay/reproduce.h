/* SPDX-License-Identifier: Apache-2.0 */
/* reproduce.h - runs the RoIs of a debug stream file again, in a daemon of their own. */
#ifndef TRIGD_REPRODUCE_H
#define TRIGD_REPRODUCE_H

/* Starts trigd with the configuration in a scratch folder, sends it the RoIs of the file one by
 * one, ends it, and prints for each of them why it went to the debug stream then and now.  How many
 * ended otherwise than before; a negative errno, with a sentence on stderr. */
int reproduce(const char *file, const char *config);
#endif
