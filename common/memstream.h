/* SPDX-License-Identifier: Apache-2.0 */
/* memstream.h - the end of a text that was printed into memory (open_memstream). */
#ifndef TRIGD_MEMSTREAM_H
#define TRIGD_MEMSTREAM_H
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

/* Closes `out`; *text is then the caller's to free.  -ENOMEM: memory ended on the way, and *text is
 * NULL.  fclose alone returns 0 with a text that is cut off, and with none. */
static inline int memstream_close(FILE *out, char **text)
{
    const bool has_failed = ferror(out) != 0;

    if (fclose(out) == 0 && !has_failed && *text)
        return 0;
    free(*text);
    *text = NULL;
    return -ENOMEM;
}
#endif
