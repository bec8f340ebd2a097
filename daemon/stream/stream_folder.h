/* SPDX-License-Identifier: Apache-2.0 */
/* stream_folder.h - the files of a stream that are in its folder, of this daemon and of others. */
#ifndef TRIGD_STREAM_FOLDER_H
#define TRIGD_STREAM_FOLDER_H
#include <stdint.h>

/* Bytes of all files of the stream, complete or not; what cannot be seen counts as none. */
uint64_t stream_folder_bytes(const char *folder, const char *stream);
/* Makes its files whole whose writer has died: cuts off what was half written, and takes .part from
 * the name.  Logs each. */
void stream_folder_recover(const char *folder, const char *stream);
#endif
