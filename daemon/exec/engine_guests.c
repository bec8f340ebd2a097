/* SPDX-License-Identifier: Apache-2.0 */
/* engine_guests.c - which worker of a generation a guest gets. */
#include <string.h>

#include "exec/engine.h"

bool engine_guest_is_alone(const char *backend)
{
    return !strcmp(backend, "cpu");
}

struct worker *generation_guest_worker(struct generation *g, const char *backend, uint32_t index)
{
    for (struct engine_worker *w = g->worker; w < g->worker + g->n_workers; w++)
        if (!strcmp(w->backend, backend) && w->index == index && !w->is_retry &&
            w->is_guest == engine_guest_is_alone(backend))
            return w->worker;
    return NULL;
}
