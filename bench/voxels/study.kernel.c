/* SPDX-License-Identifier: Apache-2.0 */
/* The techniques of Amoros (2010), sections 3.5, 3.6 and 8.3, one at a time: for bench_voxels
 * alone, on devices with many work-items.
 *
 *     study_gradient      its first kernel: (gx, gy, gz, |g|) of each voxel as floats
 *     study_gradient4     the same with four voxels a work-item, loaded as one word
 *     study_group_each    its second kernel: a group of 240 work-items classifies one voxel
 *     study_item_each     its outlook: a work-item classifies one voxel */
#include "study.h"

TRG_FN trg_i32 study_clamp(trg_i32 i, trg_u32 n)
{
    return i < 0 ? 0 : i >= (trg_i32)n ? (trg_i32)n - 1 : i;
}

TRG_FN float study_value(TRG_GLOBAL const trg_u8 *bytes, TRG_GLOBAL const float *floats,
                         struct study_par par, trg_i32 x, trg_i32 y, trg_i32 z)
{
    const trg_u32 at =
        ((trg_u32)study_clamp(z, par.n[2]) * par.n[1] + (trg_u32)study_clamp(y, par.n[1])) *
            par.n[0] +
        (trg_u32)study_clamp(x, par.n[0]);

    return par.load == STUDY_BYTE ? (float)bytes[at] : floats[at];
}

TRG_KERNEL3(study_gradient, (const trg_u8, bytes), (const float, floats), (float, out),
            (struct study_par, par))
{
    TRG_SHARED float tile[STUDY_TILE];
    TRG_SHARED float stage[4u * STUDY_ITEMS];
    const trg_u32 across = (par.n[0] + par.wide - 1u) / par.wide;
    const trg_u32 down = (par.n[1] + par.high - 1u) / par.high;
    const trg_u32 gx = TRG_GID % across, gy = TRG_GID / across % down, gz = TRG_GID / across / down;
    const trg_u32 lx = TRG_LID % par.wide, ly = TRG_LID / par.wide;
    const trg_i32 x = (trg_i32)(gx * par.wide + lx), y = (trg_i32)(gy * par.high + ly);
    const trg_u32 row = par.wide + 2u + par.padding, tile_n = (par.wide + 2u) * (par.high + 2u);
    const trg_u32 inside = x < (trg_i32)par.n[0] && y < (trg_i32)par.n[1];
    const trg_u32 z_end = (gz + 1u) * par.depth < par.n[2] ? (gz + 1u) * par.depth : par.n[2];
    const trg_u32 plane = par.n[0] * par.n[1];
    float behind = study_value(bytes, floats, par, x, y, (trg_i32)(gz * par.depth) - 1);
    float here = study_value(bytes, floats, par, x, y, (trg_i32)(gz * par.depth));

    for (trg_u32 z = gz * par.depth; z < z_end; z++) {
        const float front = study_value(bytes, floats, par, x, y, (trg_i32)z + 1);
        const trg_u32 at = z * plane + (trg_u32)y * par.n[0] + (trg_u32)x;
        float g[4], left, right, up, low;

        if (par.read == STUDY_TILED) {
            for (trg_u32 i = TRG_LID; i < tile_n; i += TRG_LSIZE) {
                const trg_u32 tx = i % (par.wide + 2u), ty = i / (par.wide + 2u);

                tile[ty * row + tx] =
                    study_value(bytes, floats, par, (trg_i32)(gx * par.wide + tx) - 1,
                                (trg_i32)(gy * par.high + ty) - 1, (trg_i32)z);
            }
            TRG_BARRIER();
            left = tile[(ly + 1u) * row + lx];
            right = tile[(ly + 1u) * row + lx + 2u];
            up = tile[ly * row + lx + 1u];
            low = tile[(ly + 2u) * row + lx + 1u];
        } else {
            left = study_value(bytes, floats, par, x - 1, y, (trg_i32)z);
            right = study_value(bytes, floats, par, x + 1, y, (trg_i32)z);
            up = study_value(bytes, floats, par, x, y - 1, (trg_i32)z);
            low = study_value(bytes, floats, par, x, y + 1, (trg_i32)z);
        }
        g[0] = (left - right) * 0.5f;
        g[1] = (up - low) * 0.5f;
        g[2] = (behind - front) * 0.5f;
        g[3] = trg_sqrt(g[0] * g[0] + g[1] * g[1] + g[2] * g[2]);
        if (par.write == STUDY_STAGED) {
            const trg_u32 left_x = par.n[0] - gx * par.wide;
            const trg_u32 columns = left_x < par.wide ? left_x : par.wide;

            for (trg_u32 k = 0; k < 4u; k++)
                stage[4u * TRG_LID + k] = g[k];
            TRG_BARRIER();
            for (trg_u32 i = TRG_LID; i < 4u * par.wide * par.high; i += TRG_LSIZE) {
                const trg_u32 sx = i % (4u * par.wide), sy = i / (4u * par.wide);

                if (sx < 4u * columns && gy * par.high + sy < par.n[1])
                    out[4u * (z * plane + (gy * par.high + sy) * par.n[0] + gx * par.wide) + sx] =
                        stage[i];
            }
        } else if (inside) {
            for (trg_u32 k = 0; k < 4u; k++)
                out[par.write == STUDY_DIRECT ? 4u * at + k : k * plane * par.n[2] + at] = g[k];
        }
        TRG_BARRIER();
        behind = here;
        here = front;
    }
}

TRG_FN trg_u32 study_word(TRG_GLOBAL const trg_u8 *bytes, struct study_par par, trg_u32 x,
                          trg_i32 y, trg_i32 z)
{
    const trg_u32 at =
        ((trg_u32)study_clamp(z, par.n[2]) * par.n[1] + (trg_u32)study_clamp(y, par.n[1])) *
            par.n[0] +
        x;

    return *(TRG_GLOBAL const trg_u32 *)(bytes + at);
}

/* n[0] is a multiple of 4. */
TRG_KERNEL2(study_gradient4, (const trg_u8, bytes), (float, out), (struct study_par, par))
{
    const trg_u32 words = par.n[0] / 4u, plane = par.n[0] * par.n[1];
    const trg_u32 parts = (par.n[2] + par.depth - 1u) / par.depth;
    const trg_u32 i = TRG_GID * TRG_LSIZE + TRG_LID;
    const trg_u32 x = i % words * 4u, y = i / words % par.n[1], part = i / words / par.n[1];
    const trg_u32 z_end = (part + 1u) * par.depth < par.n[2] ? (part + 1u) * par.depth : par.n[2];
    trg_u32 behind, here;

    if (part >= parts)
        return;
    behind = study_word(bytes, par, x, (trg_i32)y, (trg_i32)(part * par.depth) - 1);
    here = study_word(bytes, par, x, (trg_i32)y, (trg_i32)(part * par.depth));
    for (trg_u32 z = part * par.depth; z < z_end; z++) {
        const trg_u32 front = study_word(bytes, par, x, (trg_i32)y, (trg_i32)z + 1);
        const trg_u32 up = study_word(bytes, par, x, (trg_i32)y - 1, (trg_i32)z);
        const trg_u32 low = study_word(bytes, par, x, (trg_i32)y + 1, (trg_i32)z);
        const trg_u32 at = z * plane + y * par.n[0] + x;
        const trg_u32 first = x ? bytes[at - 1u] : here & 255u;
        const trg_u32 last = x + 4u < par.n[0] ? bytes[at + 4u] : here >> 24;

        for (trg_u32 k = 0; k < 4u; k++) {
            const trg_u32 left = k ? here >> (8u * (k - 1u)) & 255u : first;
            const trg_u32 right = k < 3u ? here >> (8u * (k + 1u)) & 255u : last;
            const float gx = ((float)left - (float)right) * 0.5f;
            const float gy =
                ((float)(up >> (8u * k) & 255u) - (float)(low >> (8u * k) & 255u)) * 0.5f;
            const float gz =
                ((float)(behind >> (8u * k) & 255u) - (float)(front >> (8u * k) & 255u)) * 0.5f;

            out[4u * (at + k)] = gx;
            out[4u * (at + k) + 1u] = gy;
            out[4u * (at + k) + 2u] = gz;
            out[4u * (at + k) + 3u] = trg_sqrt(gx * gx + gy * gy + gz * gz);
        }
        behind = here;
        here = front;
    }
}

/* A group is 256 work-items, of which the first 240 hold a column each.  columns: alpha, threshold,
 * polarity, 240 of each. */
TRG_KERNEL4(study_group_each, (const trg_u8, bytes), (const float, gradients),
            (const float, columns), (trg_u8, labels), (struct study_par, par))
{
    TRG_SHARED float voxel[16], passed[STUDY_ITEMS], all[STUDY_ITEMS];
    const trg_u32 x = TRG_GID % par.n[0], y = TRG_GID / par.n[0], i = TRG_LID;
    const float alpha = i < STUDY_COLUMNS ? columns[i] : 0.0f;
    const float threshold = i < STUDY_COLUMNS ? columns[STUDY_COLUMNS + i] : 0.0f;
    const float polarity = i < STUDY_COLUMNS ? columns[2u * STUDY_COLUMNS + i] : 0.0f;

    for (trg_u32 k = TRG_LID; k < STUDY_ITEMS; k += TRG_LSIZE)
        passed[k] = all[k] = 0.0f;
    for (trg_u32 z = 0; z < par.depth; z++) {
        const trg_u32 at = (z * par.n[1] + y) * par.n[0] + x;

        TRG_BARRIER();
        if (i < 16u) {
            const trg_u32 k = i % 8u;

            voxel[i] = k == 0u   ? (float)x
                       : k == 1u ? (float)y
                       : k == 2u ? (float)z
                       : k == 3u ? (float)bytes[at]
                                 : gradients[4u * at + k - 4u];
        }
        TRG_BARRIER();
        passed[i] = polarity * voxel[i % 16u] < polarity * threshold ? alpha : 0.0f;
        all[i] = alpha;
        for (trg_u32 reach = STUDY_ITEMS / 2u; reach; reach /= 2u) {
            TRG_BARRIER();
            if (i < reach) {
                passed[i] += passed[i + reach];
                all[i] += all[i + reach];
            }
        }
        if (i == 0u)
            labels[at] = 2.0f * passed[0] > all[0] ? 1u : 0u;
    }
}

TRG_KERNEL4(study_item_each, (const trg_u8, bytes), (const float, gradients),
            (const float, columns), (trg_u8, labels), (struct study_par, par))
{
    TRG_SHARED float column[3u * STUDY_COLUMNS];
    const trg_u32 at = TRG_GID * TRG_LSIZE + TRG_LID, all = par.n[0] * par.n[1] * par.n[2];

    for (trg_u32 i = TRG_LID; i < 3u * STUDY_COLUMNS; i += TRG_LSIZE)
        column[i] = columns[i];
    TRG_BARRIER();
    if (at < all) {
        float voxel[8], passed = 0.0f, sum = 0.0f;

        voxel[0] = (float)(at % par.n[0]);
        voxel[1] = (float)(at / par.n[0] % par.n[1]);
        voxel[2] = (float)(at / par.n[0] / par.n[1]);
        voxel[3] = (float)bytes[at];
        for (trg_u32 k = 0; k < 4u; k++)
            voxel[4u + k] = gradients[4u * at + k];
        for (trg_u32 i = 0; i < STUDY_COLUMNS; i += 8u)
            for (trg_u32 k = 0; k < 8u; k++) {
                const float alpha = column[i + k], p = column[2u * STUDY_COLUMNS + i + k];

                passed += p * voxel[k] < p * column[STUDY_COLUMNS + i + k] ? alpha : 0.0f;
                sum += alpha;
            }
        labels[at] = 2.0f * passed > sum ? 1u : 0u;
    }
}
