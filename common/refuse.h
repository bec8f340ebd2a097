/* SPDX-License-Identifier: Apache-2.0 */
/* refuse.h - the sentence that says why something is refused. */
#ifndef TRIGD_REFUSE_H
#define TRIGD_REFUSE_H
#include <stddef.h>

/* Writes the sentence into `why`; returns -EINVAL. */
int refuse(char *why, size_t bytes, const char *format, ...) __attribute__((format(printf, 3, 4)));
#endif
