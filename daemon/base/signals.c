/* SPDX-License-Identifier: Apache-2.0 */
#include "base/signals.h"

#include <pthread.h>

void signals_fill(sigset_t *ret_set)
{
    sigemptyset(ret_set);
    sigaddset(ret_set, SIGTERM);
    sigaddset(ret_set, SIGINT);
    sigaddset(ret_set, SIGHUP);
}

void signals_block(void)
{
    sigset_t set;

    signals_fill(&set);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    signal(SIGPIPE, SIG_IGN);
    signal(SIGXFSZ, SIG_IGN); /* a limit on files is an error of the write, as a full disk is */
}
