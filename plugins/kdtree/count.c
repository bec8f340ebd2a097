/* SPDX-License-Identifier: Apache-2.0 */
/* count.c - points counted in boxes and balls. */
#include <errno.h>

#include "forest.h"
#include "kdcount.h"
#include "kdcount.program.h"

#define GROUPS_A_UNIT 128u /* of one launch, for each unit of the device: a few for each place */

static int load(struct kd_queries_inner *in)
{
    static const char *const names[] = {[KD_BOXES] = "kdc_boxes", [KD_BALLS] = "kdc_balls"};
    int r = 0;

    if (in->counting)
        return 0;
    r = trg_module_new(in->f->inner->d, &kdcount_program, NULL, &in->counting);
    for (int i = KD_BOXES; r == 0 && i <= KD_BALLS; i++)
        r = trg_kernel_get(in->counting, names[i], &in->count[i]);
    return r;
}

int kd_count(struct kd_queries *s, struct trg_queue *q, enum kd_region region, uint32_t n)
{
    struct kd_queries_inner *in = s->inner;
    const struct kd_forest *f = in->f;
    const struct trg_device_info *device = &f->inner->device;
    const uint32_t most = device->is_host ? 1 : GROUPS_A_UNIT * device->units;
    struct launcher l = launcher_on(q, device);
    struct kdq_par par = in->par;
    int r;

    if (n + 2u > s->room || (region == KD_BALLS && par.period_dim != KD_NO_PERIOD))
        return -EINVAL;
    r = load(in);
    if (r < 0 || !n)
        return r;
    par.n_queries = n;
    par.by_hand = device->is_host;
    LAUNCH(&l, in->count[region], n < most ? n : most, KDC_GROUP, par, f->nodes, f->trees, s->boxes,
           s->tree_of, f->blocks ? f->blocks : f->trees, s->counts);
    return l.result;
}
