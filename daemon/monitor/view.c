/* SPDX-License-Identifier: Apache-2.0 */
#include "monitor/view.h"

int view_now(const struct control_view *v, struct control_view *ret_view)
{
    struct stats *sum = NULL;
    int r;

    *ret_view = *v;
    ret_view->stats = v->shards->of[0];
    if (v->shards->n == 1)
        return 0;
    r = stats_new(&sum);
    if (r < 0)
        return r;
    stats_sum(v->shards, sum);
    ret_view->stats = sum;
    return 0;
}

void view_done(struct control_view *v)
{
    if (v->shards->n > 1)
        stats_free((struct stats *)(uintptr_t)v->stats);
    v->stats = NULL;
}
