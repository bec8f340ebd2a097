/* SPDX-License-Identifier: Apache-2.0 */
/* culprits.c - RoIs that failed alone: whether they are the reason, what is said and kept of them.
 */
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>

#include "flow/dispatch_inner.h"
#include "log.h"
#include "stream/roi_why.h"

#define LOSSES_MOST 3u /* devices lost while an RoI ran there alone: it is the reason */

/* What an RoI did that failed alone in a batch of this lane. */
static struct roi_why why_alone(const struct lane *l, int error)
{
    struct roi_why why = {.what = ROI_END_BATCH, .number = -error};
    bool was_ended;
    int status;

    if (error != -EOWNERDEAD)
        return why;
    status = worker_last_end(l->worker, &was_ended);
    if (WIFEXITED(status)) {
        why.what = ROI_END_EXIT;
        why.number = WEXITSTATUS(status);
    } else if (WTERMSIG(status) == SIGKILL) {
        why.what = was_ended ? ROI_END_HANG : ROI_END_KILLED;
    } else {
        why.what = ROI_END_SIGNAL;
        why.number = WTERMSIG(status);
    }
    return why;
}

static void say_culprit(const struct dispatch *d, const struct engine *e, uint32_t head,
                        uint32_t roi, int error)
{
    const struct trg_roi_info *info = &dispatch_at(d, roi)->info;

    log_warn("dispatch",
             error == -EOWNERDEAD ? "an RoI ends its worker: it goes to the debug stream"
                                  : "an RoI fails alone: it goes to the debug stream",
             "step=%s run=%u l1id=%u roi=%u error=\"%s\"", e->menu->steps[head].name, info->run,
             info->l1id, info->roi_id, strerror(-error));
}

/* Notes an RoI that ended its worker, or lost its device; not one whose worker was killed from
 * outside. */
static void remember(struct dispatch *d, const struct engine *e, uint32_t roi, int error,
                     const struct roi_why *why)
{
    char reason[ROI_WHY_BYTES];

    if (!d->poison || why->what == ROI_END_KILLED || (error != -EOWNERDEAD && error != -ENODEV))
        return;
    roi_why_say(why, e->menu, d->config, reason);
    poison_add(d->poison, d->pool, dispatch_at(d, roi), reason);
}

/* A step whose plugins keep ending workers is taken out for a while; dispatch sees it with its next
 * tick (lanes.c). */
static void strike(const struct dispatch *d, const struct engine *e, uint32_t head)
{
    const uint32_t ms = step_record_strike(&e->of->record[head], d->now_ns);

    if (ms)
        log_error("dispatch", "a step is taken out for a while: it keeps ending workers",
                  "step=%s plugin=%s ms=%u", e->menu->steps[head].name,
                  e->menu->steps[head].plugin->d.name, ms);
}

bool culprit_is(struct dispatch *d, const struct lane *l, const struct lane_done *b, uint32_t roi)
{
    struct roi *r = dispatch_at(d, roi);
    const bool is_last = r->is_last_trial;

    if (b->n > 1)
        return false;
    if (b->error == -EOWNERDEAD && why_alone(l, b->error).what == ROI_END_HANG) {
        r->is_last_trial = true;
        return is_last;
    }
    return !b->is_lost || ++r->losses >= LOSSES_MOST;
}

/* The lanes of a step, or their workers, failed since they met such an RoI. */
static void excuse(const struct engine_step *s, const struct lane_done *b)
{
    for (uint32_t k = 0; k < s->n_lanes; k++)
        if (b->error == -EOWNERDEAD || b->is_lost)
            worker_excuse(s->lane[k]->worker);
        else if (b->error == -ENODEV)
            worker_excuse_lane(s->lane[k]->worker, s->lane[k]);
}

struct roi_why culprit_note(struct dispatch *d, const struct engine *e, uint32_t head,
                            const struct lane *l, const struct lane_done *b, uint32_t roi)
{
    struct roi_why why = why_alone(l, b->error);

    why.step = (uint8_t)head;
    say_culprit(d, e, head, roi, b->error);
    stats_add(&d->stats->g.poison, 1);
    remember(d, e, roi, b->error, &why);
    if (b->error == -EOWNERDEAD && why.what != ROI_END_KILLED)
        strike(d, e, head);
    excuse(&e->step[head], b);
    return why;
}
