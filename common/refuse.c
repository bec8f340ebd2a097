/* SPDX-License-Identifier: Apache-2.0 */
#include "refuse.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

int refuse(char *why, size_t bytes, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    vsnprintf(why, bytes, format, args);
    va_end(args);
    return -EINVAL;
}
