/* SPDX-License-Identifier: Apache-2.0 */
/* keygen.h - makes a pair of CURVE keys. */
#ifndef TRIGCTL_KEYGEN_H
#define TRIGCTL_KEYGEN_H
/* Writes FILE with both keys, readable by its owner alone, and FILE.pub with the public one, and
 * prints the latter.  Never overwrites.  0, or a negative errno that was told on stderr. */
int keygen(const char *file);
#endif
