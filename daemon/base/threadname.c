/* SPDX-License-Identifier: Apache-2.0 */
#include "base/threadname.h"

#include <string.h>
#include <sys/prctl.h>

#define KEPT 15u

void threadname_set(const char *name)
{
    const size_t n = strlen(name);

    prctl(PR_SET_NAME, n > KEPT ? name + n - KEPT : name, 0, 0, 0);
}
