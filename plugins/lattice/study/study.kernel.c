/* SPDX-License-Identifier: Apache-2.0 */
/* The report's kernels: see study.h.  A group has par.group cells that follow each other. */
#include "study_par.h"

/* Distribution k of cell i. */
#define AT(a, i, k) ((a)[(i)*par.cell_step + (k)*par.speed_step])

TRG_KERNEL2(study_accelerate, (float, f), (const trg_u8, kind), (struct study_par, par))
{
    for (trg_u32 x = TRG_GID * TRG_LSIZE + TRG_LID; x < par.nx; x += TRG_GROUPS * TRG_LSIZE) {
        const trg_u32 i = (par.ny - 2u) * par.nx + x;

        if (!kind[i] && AT(f, i, 3u) - par.accel_1 > 0.0f && AT(f, i, 6u) - par.accel_2 > 0.0f &&
            AT(f, i, 7u) - par.accel_2 > 0.0f) {
            AT(f, i, 1u) += par.accel_1;
            AT(f, i, 5u) += par.accel_2;
            AT(f, i, 8u) += par.accel_2;
            AT(f, i, 3u) -= par.accel_1;
            AT(f, i, 6u) -= par.accel_2;
            AT(f, i, 7u) -= par.accel_2;
        }
    }
}

TRG_KERNEL2(study_propagate, (const float, f), (float, tmp), (struct study_par, par))
{
    for (trg_u32 j = TRG_LID; j < par.group; j += TRG_LSIZE) {
        const trg_u32 i = TRG_GID * par.group + j, x = i % par.nx, y = i / par.nx;

        if (i < par.cells) {
            const trg_u32 west = x ? x - 1u : par.nx - 1u, east = x + 1u < par.nx ? x + 1u : 0u;
            const trg_u32 here = y * par.nx, south = (y ? y - 1u : par.ny - 1u) * par.nx;
            const trg_u32 north = (y + 1u < par.ny ? y + 1u : 0u) * par.nx;

            AT(tmp, i, 0u) = AT(f, i, 0u);
            AT(tmp, i, 1u) = AT(f, here + west, 1u);
            AT(tmp, i, 2u) = AT(f, south + x, 2u);
            AT(tmp, i, 3u) = AT(f, here + east, 3u);
            AT(tmp, i, 4u) = AT(f, north + x, 4u);
            AT(tmp, i, 5u) = AT(f, south + west, 5u);
            AT(tmp, i, 6u) = AT(f, south + east, 6u);
            AT(tmp, i, 7u) = AT(f, north + east, 7u);
            AT(tmp, i, 8u) = AT(f, north + west, 8u);
        }
    }
}

TRG_CONST float study_weight[9] = {4.0f / 9.0f,  1.0f / 9.0f,  1.0f / 9.0f,
                                   1.0f / 9.0f,  1.0f / 9.0f,  1.0f / 36.0f,
                                   1.0f / 36.0f, 1.0f / 36.0f, 1.0f / 36.0f};
TRG_CONST float study_cx[9] = {0.0f, 1.0f, 0.0f, -1.0f, 0.0f, 1.0f, -1.0f, -1.0f, 1.0f};
TRG_CONST float study_cy[9] = {0.0f, 0.0f, 1.0f, 0.0f, -1.0f, 1.0f, 1.0f, -1.0f, -1.0f};
TRG_CONST trg_u32 study_opposite[9] = {0u, 3u, 4u, 1u, 2u, 7u, 8u, 5u, 6u};

struct study_flow {
    float rho, ux, uy;
};

/* Of nine numbers at a, a[step], ... */
TRG_FN struct study_flow study_flow_of(TRG_GLOBAL const float *a, trg_u32 step)
{
    struct study_flow u;

    u.rho = a[0] + a[step] + a[2u * step] + a[3u * step] + a[4u * step] + a[5u * step] +
            a[6u * step] + a[7u * step] + a[8u * step];
    u.ux = (a[step] + a[5u * step] + a[8u * step] - (a[3u * step] + a[6u * step] + a[7u * step])) /
           u.rho;
    u.uy = (a[2u * step] + a[5u * step] + a[6u * step] -
            (a[4u * step] + a[7u * step] + a[8u * step])) /
           u.rho;
    return u;
}

TRG_FN float study_speed(const struct study_flow u)
{
    return trg_sqrt(u.ux * u.ux + u.uy * u.uy);
}

TRG_FN float study_relaxed(float was, const struct study_flow u, trg_u32 k, float omega)
{
    const float cu = study_cx[k] * u.ux + study_cy[k] * u.uy, uu = u.ux * u.ux + u.uy * u.uy;
    const float rest = study_weight[k] * u.rho * (1.0f + 3.0f * cu + 4.5f * cu * cu - 1.5f * uu);

    return was + omega * (rest - was);
}

TRG_KERNEL3(study_rebound, (float, f), (const float, tmp), (const trg_u8, kind),
            (struct study_par, par))
{
    for (trg_u32 j = TRG_LID; j < par.group; j += TRG_LSIZE) {
        const trg_u32 i = TRG_GID * par.group + j;

        if (i < par.cells && kind[i])
            for (trg_u32 k = 1u; k < 9u; k++)
                AT(f, i, k) = AT(tmp, i, study_opposite[k]);
    }
}

TRG_KERNEL3(study_collide, (float, f), (const float, tmp), (const trg_u8, kind),
            (struct study_par, par))
{
    for (trg_u32 j = TRG_LID; j < par.group; j += TRG_LSIZE) {
        const trg_u32 i = TRG_GID * par.group + j;

        if (i < par.cells && !kind[i]) {
            const struct study_flow u = study_flow_of(&AT(tmp, i, 0u), par.speed_step);

            for (trg_u32 k = 0u; k < 9u; k++)
                AT(f, i, k) = study_relaxed(AT(tmp, i, k), u, k, par.omega);
        }
    }
}

/* Work-item 0 adds up. */
TRG_FN float study_sum(TRG_LOCAL const float *part, trg_u32 n)
{
    float sum = 0.0f;

    for (trg_u32 j = 0u; j < n; j++)
        sum += part[j];
    return sum;
}

TRG_KERNEL3(study_velocity, (const float, f), (const trg_u8, kind), (float, sums),
            (struct study_par, par))
{
    TRG_SHARED float part[STUDY_GROUP_MAX];

    for (trg_u32 j = TRG_LID; j < par.group; j += TRG_LSIZE) {
        const trg_u32 i = TRG_GID * par.group + j;

        part[j] = 0.0f;
        if (i < par.cells && !kind[i])
            part[j] = study_speed(study_flow_of(&AT(f, i, 0u), par.speed_step));
    }
    TRG_BARRIER();
    if (TRG_LID == 0u)
        sums[TRG_GID] = study_sum(part, par.group);
}

TRG_KERNEL4(study_fused, (float, f), (const float, tmp), (const trg_u8, kind), (float, sums),
            (struct study_par, par))
{
    TRG_SHARED float part[STUDY_GROUP_MAX];

    for (trg_u32 j = TRG_LID; j < par.group; j += TRG_LSIZE) {
        const trg_u32 i = TRG_GID * par.group + j;

        part[j] = 0.0f;
        if (i < par.cells && kind[i]) {
            for (trg_u32 k = 1u; k < 9u; k++)
                AT(f, i, k) = AT(tmp, i, study_opposite[k]);
        } else if (i < par.cells) {
            const struct study_flow u = study_flow_of(&AT(tmp, i, 0u), par.speed_step);

            for (trg_u32 k = 0u; k < 9u; k++)
                AT(f, i, k) = study_relaxed(AT(tmp, i, k), u, k, par.omega);
            part[j] = study_speed(u);
        }
    }
    TRG_BARRIER();
    if (TRG_LID == 0u)
        sums[TRG_GID] = study_sum(part, par.group);
}

/* An obstacle's and another cell's value, times 1 and 0. */
TRG_FN float study_mask(float is_free, float relaxed, float rebound)
{
    return relaxed * is_free + rebound * (1.0f - is_free);
}

TRG_KERNEL4(study_masked, (float, f), (const float, tmp), (const trg_u8, kind), (float, sums),
            (struct study_par, par))
{
    TRG_SHARED float part[STUDY_GROUP_MAX];

    for (trg_u32 j = TRG_LID; j < par.group; j += TRG_LSIZE) {
        const trg_u32 i = TRG_GID * par.group + j;

        part[j] = 0.0f;
        if (i < par.cells) {
            const struct study_flow u = study_flow_of(&AT(tmp, i, 0u), par.speed_step);
            const float is_free = kind[i] ? 0.0f : 1.0f;

            AT(f, i, 0u) =
                study_mask(is_free, study_relaxed(AT(tmp, i, 0u), u, 0u, par.omega), AT(f, i, 0u));
            for (trg_u32 k = 1u; k < 9u; k++)
                AT(f, i, k) = study_mask(is_free, study_relaxed(AT(tmp, i, k), u, k, par.omega),
                                         AT(tmp, i, study_opposite[k]));
            part[j] = study_speed(u) * is_free;
        }
    }
    TRG_BARRIER();
    if (TRG_LID == 0u)
        sums[TRG_GID] = study_sum(part, par.group);
}

/* The same from private variables: f0 .. f8 are read once.  Returns the cell's speed. */
TRG_FN float study_private_cell(TRG_GLOBAL float *f, TRG_GLOBAL const float *tmp, float is_free,
                                trg_u32 step, float omega)
{
    const float f0 = tmp[0], f1 = tmp[step], f2 = tmp[2u * step], f3 = tmp[3u * step];
    const float f4 = tmp[4u * step], f5 = tmp[5u * step], f6 = tmp[6u * step];
    const float f7 = tmp[7u * step], f8 = tmp[8u * step];
    struct study_flow u;

    u.rho = f0 + f1 + f2 + f3 + f4 + f5 + f6 + f7 + f8;
    u.ux = (f1 + f5 + f8 - (f3 + f6 + f7)) / u.rho;
    u.uy = (f2 + f5 + f6 - (f4 + f7 + f8)) / u.rho;
    f[0] = study_mask(is_free, study_relaxed(f0, u, 0u, omega), f[0]);
    f[step] = study_mask(is_free, study_relaxed(f1, u, 1u, omega), f3);
    f[2u * step] = study_mask(is_free, study_relaxed(f2, u, 2u, omega), f4);
    f[3u * step] = study_mask(is_free, study_relaxed(f3, u, 3u, omega), f1);
    f[4u * step] = study_mask(is_free, study_relaxed(f4, u, 4u, omega), f2);
    f[5u * step] = study_mask(is_free, study_relaxed(f5, u, 5u, omega), f7);
    f[6u * step] = study_mask(is_free, study_relaxed(f6, u, 6u, omega), f8);
    f[7u * step] = study_mask(is_free, study_relaxed(f7, u, 7u, omega), f5);
    f[8u * step] = study_mask(is_free, study_relaxed(f8, u, 8u, omega), f6);
    return study_speed(u) * is_free;
}

TRG_KERNEL4(study_private, (float, f), (const float, tmp), (const trg_u8, kind), (float, sums),
            (struct study_par, par))
{
    TRG_SHARED float part[STUDY_GROUP_MAX];

    for (trg_u32 j = TRG_LID; j < par.group; j += TRG_LSIZE) {
        const trg_u32 i = TRG_GID * par.group + j;

        part[j] = i < par.cells
                      ? study_private_cell(&AT(f, i, 0u), &AT(tmp, i, 0u), kind[i] ? 0.0f : 1.0f,
                                           par.speed_step, par.omega)
                      : 0.0f;
    }
    TRG_BARRIER();
    if (TRG_LID == 0u)
        sums[TRG_GID] = study_sum(part, par.group);
}

TRG_KERNEL4(study_tree, (float, f), (const float, tmp), (const trg_u8, kind), (float, sums),
            (struct study_par, par))
{
    TRG_SHARED float part[STUDY_GROUP_MAX];

    for (trg_u32 j = TRG_LID; j < par.group; j += TRG_LSIZE) {
        const trg_u32 i = TRG_GID * par.group + j;

        part[j] = i < par.cells
                      ? study_private_cell(&AT(f, i, 0u), &AT(tmp, i, 0u), kind[i] ? 0.0f : 1.0f,
                                           par.speed_step, par.omega)
                      : 0.0f;
    }
    TRG_BARRIER();
    for (trg_u32 n = par.group / 2u; n; n >>= 1) {
        for (trg_u32 j = TRG_LID; j < n; j += TRG_LSIZE)
            part[j] += part[j + n];
        TRG_BARRIER();
    }
    if (TRG_LID == 0u)
        sums[TRG_GID] = part[0];
}
