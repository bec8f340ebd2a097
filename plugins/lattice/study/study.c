/* SPDX-License-Identifier: Apache-2.0 */
#include "study.h"

#include <stdlib.h>

#include "study.program.h"
#include "trigd/common/lane.h"

#define STEPS_MAX 256u /* of which the sums are kept on the host before they are added up */

struct study {
    struct study_setup setup;
    struct study_par par;
    struct trg_device_info info;
    uint32_t groups;
    uint64_t n_free;
    struct trg_module *module;
    struct trg_kernel *accelerate, *propagate, *rebound, *collide, *velocity;
    struct trg_kernel *fused[STUDY_VARIANTS];
    struct buffers buffers;
    struct trg_buffer *f, *tmp, *kind, *sums, *sums_host;
};

static const char *const names[STUDY_VARIANTS] = {"five kernels, array of structures",
                                                  "structure of arrays",
                                                  "fused",
                                                  "masked",
                                                  "private variables",
                                                  "tree reduction"};

const char *study_name(enum study_variant v)
{
    return names[v];
}

static int get_kernels(struct trg_device *device, struct study *s)
{
    const struct kernel_wish wish[] = {{"study_accelerate", &s->accelerate},
                                       {"study_propagate", &s->propagate},
                                       {"study_rebound", &s->rebound},
                                       {"study_collide", &s->collide},
                                       {"study_velocity", &s->velocity},
                                       {"study_fused", &s->fused[STUDY_FUSED]},
                                       {"study_masked", &s->fused[STUDY_MASKED]},
                                       {"study_private", &s->fused[STUDY_PRIVATE]},
                                       {"study_tree", &s->fused[STUDY_TREE]}};
    const int r = trg_module_new(device, &study_program, NULL, &s->module);

    return r == 0 ? kernels_get(s->module, wish, sizeof wish / sizeof wish[0]) : r;
}

static int get_buffers(struct trg_device *device, struct study *s)
{
    static const double weight[9] = {4.0 / 9,  1.0 / 9,  1.0 / 9,  1.0 / 9, 1.0 / 9,
                                     1.0 / 36, 1.0 / 36, 1.0 / 36, 1.0 / 36};
    const size_t cells = s->par.cells, sums = s->groups * sizeof(float);
    const struct buffer_wish wish[] = {{TRG_MEM_DEVICE, 9 * cells * sizeof(float), &s->tmp},
                                       {TRG_MEM_DEVICE, sums, &s->sums},
                                       {TRG_MEM_PINNED, sums * STEPS_MAX, &s->sums_host}};
    float *f = malloc(9 * cells * sizeof *f);
    int r = f ? 0 : -ENOMEM;

    for (size_t i = 0; r == 0 && i < cells; i++)
        for (size_t k = 0; k < 9; k++)
            f[i * s->par.cell_step + k * s->par.speed_step] = (float)(s->setup.density * weight[k]);
    if (r == 0)
        r = buffers_new(&s->buffers, device, wish, sizeof wish / sizeof wish[0]);
    if (r == 0)
        r = buffers_upload(&s->buffers, device, f, 9 * cells * sizeof *f, &s->f);
    if (r == 0)
        r = buffers_upload(&s->buffers, device, s->setup.kind, cells, &s->kind);
    free(f);
    return r;
}

int study_open(struct trg_device *device, const struct study_setup *setup, struct study **ret_study)
{
    const uint32_t cells = setup->nx * setup->ny;
    const bool is_aos = setup->variant == STUDY_FIVE;
    struct study *s;
    int r;

    if (!setup->group || setup->group > STUDY_GROUP_MAX || (setup->group & (setup->group - 1)) != 0)
        return -EINVAL;
    s = calloc(1, sizeof *s);
    if (!s)
        return -ENOMEM;
    s->setup = *setup;
    s->par = (struct study_par){.nx = setup->nx,
                                .ny = setup->ny,
                                .cells = cells,
                                .cell_step = is_aos ? 9 : 1,
                                .speed_step = is_aos ? 1 : cells,
                                .group = setup->group,
                                .omega = (float)setup->omega,
                                .accel_1 = (float)(setup->density * setup->accel / 9),
                                .accel_2 = (float)(setup->density * setup->accel / 36)};
    s->groups = (cells + setup->group - 1) / setup->group;
    for (uint32_t i = 0; i < cells; i++)
        s->n_free += !setup->kind[i];
    trg_device_info(device, &s->info);
    r = get_kernels(device, s);
    if (r == 0)
        r = get_buffers(device, s);
    if (r == 0)
        *ret_study = s;
    else
        study_close(s);
    return r;
}

void study_close(struct study *s)
{
    if (!s)
        return;
    buffers_free(&s->buffers);
    trg_module_free(s->module);
    free(s);
}

static void enqueue_step(struct study *s, struct launcher *to, uint32_t step)
{
    const uint32_t size = s->setup.group;

    LAUNCH(to, s->accelerate, (s->par.nx + 63u) / 64u, 64, s->par, s->f, s->kind);
    LAUNCH(to, s->propagate, s->groups, size, s->par, s->f, s->tmp);
    if (s->setup.variant < STUDY_FUSED) {
        LAUNCH(to, s->rebound, s->groups, size, s->par, s->f, s->tmp, s->kind);
        LAUNCH(to, s->collide, s->groups, size, s->par, s->f, s->tmp, s->kind);
        LAUNCH(to, s->velocity, s->groups, size, s->par, s->f, s->kind, s->sums);
    } else {
        LAUNCH(to, s->fused[s->setup.variant], s->groups, size, s->par, s->f, s->tmp, s->kind,
               s->sums);
    }
    if (to->result == 0)
        to->result = trg_read(to->q, s->sums_host, (size_t)step * s->groups * sizeof(float),
                              s->sums, 0, s->groups * sizeof(float));
}

int study_run(struct study *s, struct trg_queue *q, uint32_t steps, double *ret_mean)
{
    for (uint32_t done = 0; done < steps;) {
        const uint32_t n = steps - done < STEPS_MAX ? steps - done : STEPS_MAX;
        const float *sum = trg_buffer_host(s->sums_host);
        struct launcher to = launcher_on(q, &s->info);

        for (uint32_t i = 0; i < n; i++)
            enqueue_step(s, &to, i);
        if (to.result == 0)
            to.result = trg_finish(q);
        if (to.result < 0)
            return to.result;
        for (uint32_t i = 0; i < n; i++, done++) {
            double all = 0;

            for (uint32_t g = 0; g < s->groups; g++)
                all += (double)*sum++;
            ret_mean[done] = all / (double)s->n_free;
        }
    }
    return 0;
}
