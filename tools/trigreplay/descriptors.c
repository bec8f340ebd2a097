/* SPDX-License-Identifier: Apache-2.0 */
#include "descriptors.h"

#include <errno.h>
#include <stdio.h>
#include <sys/resource.h>

#define FILES_A_CONNECTION 6u /* that ZeroMQ opens for one, and to tell of its end */

int descriptors_raise(uint32_t connections)
{
    struct rlimit limit;
    rlim_t want = FILES_A_CONNECTION * connections + 64;

    if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
        return -errno;
    if (limit.rlim_cur >= want)
        return 0;
    if (limit.rlim_max != RLIM_INFINITY && limit.rlim_max < want) {
        fprintf(stderr,
                "trigreplay: %u connections want %llu open files; the limit is %llu (ulimit -n)\n",
                connections, (unsigned long long)want, (unsigned long long)limit.rlim_max);
        return -EMFILE;
    }
    limit.rlim_cur = want;
    return setrlimit(RLIMIT_NOFILE, &limit) < 0 ? -errno : 0;
}
