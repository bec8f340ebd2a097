/* SPDX-License-Identifier: Apache-2.0 */
#include "base/beside.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

void beside_program(const char *name, char *ret_path, size_t bytes)
{
    char exe[PATH_MAX], *slash;
    ssize_t n = readlink("/proc/self/exe", exe, sizeof exe - 1);

    exe[n > 0 ? n : 0] = '\0';
    slash = strrchr(exe, '/');
    if (slash)
        *slash = '\0';
    snprintf(ret_path, bytes, "%.3800s/../%s", exe, name);
    if (access(ret_path, F_OK) < 0)
        snprintf(ret_path, bytes, "%.3800s/../" TRIGD_LIBDIR "/trigd/%s", exe, name);
}
