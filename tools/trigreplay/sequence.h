/* SPDX-License-Identifier: Apache-2.0 */
/* sequence.h - the RoIs of an RoI file, or of all in a folder by name, as one sequence.  Of those
 * in files of streams the first copy of each counts. */
#ifndef TRIGD_SEQUENCE_H
#define TRIGD_SEQUENCE_H
#include "trigd.pb-c.h"

struct sequence;
/* -ENODATA: a folder without RoI files. */
int sequence_open(const char *path, struct sequence **ret_sequence);
/* The next RoI, borrowed until the next call: 1; 0 at the end; negative errno. */
int sequence_next(struct sequence *in, Trigd__V1__Roi **ret_roi);
/* The header of its file; before the first RoI that of the first file. */
const Trigd__V1__FileHeader *sequence_header(const struct sequence *in);
void sequence_close(struct sequence *in); /* NULL is fine */
#endif
