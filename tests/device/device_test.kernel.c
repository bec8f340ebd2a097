/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels of the device tests: each uses one thing that the dialect offers. */
#include "trigd/kernel.h"

#include "device_test.h"

#define BINS 64

#ifndef TEST_SCALE /* given by the test of compiler options, which only OpenCL takes */
#define TEST_SCALE 1u
#endif

/* out[i] = value + sum over the other pointers of place * their element i */
#define EACH for (trg_u32 i = TRG_GID * TRG_LSIZE + TRG_LID; i < par.n; i += TRG_GROUPS * TRG_LSIZE)

TRG_KERNEL1(args1, (trg_u32, o), (struct test_par, par))
{
    EACH o[i] = (par.value + i) * TEST_SCALE;
}

TRG_KERNEL2(args2, (const trg_u32, a), (trg_u32, o), (struct test_par, par))
{
    EACH o[i] = par.value + a[i];
}

TRG_KERNEL3(args3, (const trg_u32, a), (const trg_u32, b), (trg_u32, o), (struct test_par, par))
{
    EACH o[i] = par.value + a[i] + 2u * b[i];
}

TRG_KERNEL4(args4, (const trg_u32, a), (const trg_u32, b), (const trg_u32, c), (trg_u32, o),
            (struct test_par, par))
{
    EACH o[i] = par.value + a[i] + 2u * b[i] + 3u * c[i];
}

TRG_KERNEL5(args5, (const trg_u32, a), (const trg_u32, b), (const trg_u32, c), (const trg_u32, d),
            (trg_u32, o), (struct test_par, par))
{
    EACH o[i] = par.value + a[i] + 2u * b[i] + 3u * c[i] + 4u * d[i];
}

TRG_KERNEL6(args6, (const trg_u32, a), (const trg_u32, b), (const trg_u32, c), (const trg_u32, d),
            (const trg_u32, e), (trg_u32, o), (struct test_par, par))
{
    EACH o[i] = par.value + a[i] + 2u * b[i] + 3u * c[i] + 4u * d[i] + 5u * e[i];
}

TRG_KERNEL7(args7, (const trg_u32, a), (const trg_u32, b), (const trg_u32, c), (const trg_u32, d),
            (const trg_u32, e), (const trg_u32, f), (trg_u32, o), (struct test_par, par))
{
    EACH o[i] = par.value + a[i] + 2u * b[i] + 3u * c[i] + 4u * d[i] + 5u * e[i] + 6u * f[i];
}

TRG_KERNEL8(args8, (const trg_u32, a), (const trg_u32, b), (const trg_u32, c), (const trg_u32, d),
            (const trg_u32, e), (const trg_u32, f), (const trg_u32, g), (trg_u32, o),
            (struct test_par, par))
{
    EACH o[i] =
        par.value + a[i] + 2u * b[i] + 3u * c[i] + 4u * d[i] + 5u * e[i] + 6u * f[i] + 7u * g[i];
}

/* A histogram in shared memory, then a running sum: barriers, local atomics, loops by stride. */
TRG_KERNEL2(histogram, (const trg_u32, in), (trg_u32, out), (struct test_par, par))
{
    TRG_SHARED trg_u32 bin[BINS];
    TRG_SHARED trg_u32 top;

    for (trg_u32 b = TRG_LID; b < BINS; b += TRG_LSIZE)
        bin[b] = 0u;
    if (TRG_LID == 0u)
        top = 0u;
    TRG_BARRIER();
    for (trg_u32 i = TRG_LID; i < par.n; i += TRG_LSIZE) {
        trg_u32 x = in[TRG_GID * par.n + i];

        TRG_ATOMIC_ADD_LOCAL(&bin[x % BINS], 1u);
        TRG_ATOMIC_MAX_LOCAL(&top, x);
    }
    TRG_BARRIER();
    for (trg_u32 b = TRG_LID; b < BINS; b += TRG_LSIZE) {
        trg_u32 sum = 0u;

        for (trg_u32 k = 0u; k <= b; k++)
            sum += bin[k];
        out[TRG_GID * (BINS + 1u) + b] = sum;
    }
    if (TRG_LID == 0u)
        out[TRG_GID * (BINS + 1u) + BINS] = top;
}

/* Every atomic on words that all groups share, and the local ones on a group's own. */
TRG_KERNEL3(atomics, (const trg_u32, in), (trg_u32, all), (trg_u32, own), (struct test_par, par))
{
    TRG_SHARED trg_u32 mine[4];

    if (TRG_LID == 0u) {
        mine[0] = 0u;
        mine[1] = 0u;
        mine[2] = 0xffffffffu;
        mine[3] = 0u;
    }
    TRG_BARRIER();
    for (trg_u32 i = TRG_GID * TRG_LSIZE + TRG_LID; i < par.n; i += TRG_GROUPS * TRG_LSIZE) {
        trg_u32 x = in[i], seen = all[4], old;

        TRG_ATOMIC_ADD_GLOBAL(&all[0], x);
        TRG_ATOMIC_MAX_GLOBAL(&all[1], x);
        TRG_ATOMIC_MIN_GLOBAL(&all[2], x);
        TRG_ATOMIC_OR_GLOBAL(&all[3], 1u << x % 32u);
        do { /* an addition of odd numbers made of compare and swap */
            old = seen;
            seen = TRG_ATOMIC_CAS_GLOBAL(&all[4], old, old + (x | 1u));
        } while (seen != old);
        TRG_ATOMIC_ADD_LOCAL(&mine[0], 1u);
        TRG_ATOMIC_MAX_LOCAL(&mine[1], x);
        TRG_ATOMIC_MIN_LOCAL(&mine[2], x);
        TRG_ATOMIC_OR_LOCAL(&mine[3], 1u << x % 32u);
    }
    TRG_BARRIER();
    for (trg_u32 k = TRG_LID; k < 4u; k += TRG_LSIZE)
        own[4u * TRG_GID + k] = mine[k];
}

/* Members of the structs that hosts and devices share, one word each, in the order of the header.
 */
TRG_KERNEL2(layout, (const trg_u8, data), (trg_u32, out), (struct test_layout_par, par))
{
    TRG_GLOBAL const struct trg_roi_info *roi = TRG_ROIS(data, par.span);
    TRG_GLOBAL const trg_u32 *offset = TRG_OFFSETS(data, par.span);
    TRG_GLOBAL const float *phi = TRG_COLUMN(float, data, par.span, 0);
    TRG_GLOBAL const trg_u8 *layer = TRG_COLUMN(trg_u8, data, par.span, 1);

    for (trg_u32 r = TRG_LID; r < par.span.n_rois; r += TRG_LSIZE) {
        TRG_GLOBAL trg_u32 *o = out + 15u * r;

        o[0] = roi[r].run;
        o[1] = roi[r].l1id;
        o[2] = roi[r].roi_id;
        o[3] = roi[r].bcid;
        o[4] = roi[r].lumi_block;
        o[5] = roi[r].l1_bits;
        o[6] = trg_as_u32(roi[r].eta);
        o[7] = trg_as_u32(roi[r].phi_rad);
        o[8] = trg_as_u32(roi[r].eta_half);
        o[9] = trg_as_u32(roi[r].phi_half_rad);
        o[10] = trg_as_u32(roi[r].z_min_mm);
        o[11] = trg_as_u32(roi[r].z_max_mm);
        o[12] = offset[r + 1u] - offset[r];
        o[13] = trg_as_u32(phi[offset[r]]);
        o[14] = layer[offset[r]];
    }
    if (TRG_LID == 0u) {
        TRG_GLOBAL trg_u32 *o = out + 15u * par.span.n_rois;

        o[0] = (trg_u32)sizeof(struct trg_roi_info);
        o[1] = (trg_u32)sizeof(struct trg_span);
        o[2] = par.span.n_rois;
        o[3] = par.span.n_items;
        o[4] = par.span.rois;
        o[5] = par.span.offsets;
        for (trg_u32 c = 0u; c < TRG_COLUMNS_MAX_DEV; c++)
            o[6u + c] = par.span.column[c];
        o[6u + TRG_COLUMNS_MAX_DEV] = trg_as_u32(par.f);
        o[7u + TRG_COLUMNS_MAX_DEV] = (trg_u32)par.i;
    }
}

/* Expressions whose bits must not depend on the device: no fused multiply and add anywhere. */
TRG_KERNEL2(floats, (const float, in), (trg_u32, out), (struct test_par, par))
{
    EACH
    {
        float x = in[3u * i], y = in[3u * i + 1u], z = in[3u * i + 2u];
        TRG_GLOBAL trg_u32 *o = out + 8u * i;

        o[0] = trg_as_u32(x * y + z);
        o[1] = trg_as_u32(z - x * y);
        o[2] = trg_as_u32(x * x + y * y + z * z);
        o[3] = trg_as_u32(x / y);
        o[4] = trg_as_u32(trg_sqrt(trg_fabs(x)));
        o[5] = trg_as_u32(trg_floor(z) + trg_ceil(x));
        o[6] = trg_as_u32((float)(trg_i32)z) + (trg_u32)(trg_i32)x;
        o[7] = trg_popcount(trg_as_u32(x)) + 64u * trg_clz(trg_as_u32(y) >> 8);
    }
}

/* A chain that takes time: value steps of a generator for each element. */
TRG_KERNEL1(chain, (trg_u32, o), (struct test_par, par))
{
    EACH
    {
        trg_u32 x = o[i];

        for (trg_u32 k = 0u; k < par.value; k++)
            x = x * 1664525u + 1013904223u;
        o[i] = x;
    }
}

/* Writes far outside of the buffer: only for devices whose driver notices. */
TRG_KERNEL1(stray, (trg_u32, o), (struct test_par, par))
{
    trg_u64 far = (trg_u64)par.value << 30;

    if (TRG_LID == 0u)
        o[far + par.n] = 1u;
}
