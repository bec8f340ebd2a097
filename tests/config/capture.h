/* SPDX-License-Identifier: Apache-2.0 */
/* capture.h - what the code under test writes to stderr or stdout, as text. */
#ifndef TRIGD_TEST_CAPTURE_H
#define TRIGD_TEST_CAPTURE_H

/* Sends a descriptor (1 or 2) to memory from now on. */
void capture_start(int fd);
/* Puts it back.  The text is static until the next capture_start; it is cut at 64 KiB. */
const char *capture_end(void);

/* Writes a file into a fresh folder of this process, which is removed at its end, and gives its
 * path, which stays valid. */
const char *capture_file(const char *name, const char *text);
#endif
