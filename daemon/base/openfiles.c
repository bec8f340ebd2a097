/* SPDX-License-Identifier: Apache-2.0 */
#include "base/openfiles.h"

#include "log.h"

void openfiles_allow(const char *component, rlim_t wanted)
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit) < 0 || limit.rlim_cur >= wanted)
        return;
    limit.rlim_cur = limit.rlim_max < wanted ? limit.rlim_max : wanted;
    if (setrlimit(RLIMIT_NOFILE, &limit) < 0 || limit.rlim_cur < wanted)
        log_warn(component, "the limit of open files is low", "limit=%llu wanted=%llu",
                 (unsigned long long)limit.rlim_cur, (unsigned long long)wanted);
}
