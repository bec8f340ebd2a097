/* SPDX-License-Identifier: Apache-2.0 */
/* trigd/kernel.h - the kernel dialect: one source for CUDA C, OpenCL C 1.2 and plain C17.
 *
 * A kernel is
 *
 *     TRG_KERNEL2(name, (const trg_u8, data), (trg_u32, hist), (struct my_par, par))
 *     {
 *         for (trg_u32 i = TRG_LID; i < par.n; i += TRG_LSIZE) ...
 *     }
 *
 * with 1 to 8 pointer arguments (type, name) to device memory, then one struct of 4-byte
 * members by value.  On the host a group has one work-item, so that barriers do nothing;
 * a loop that strides by TRG_LSIZE is correct for any group size.
 *
 * Pointers are restrict: a compiler may keep what a work-item knows of a word across a barrier.
 * So a word that one work-item writes and others read in the same launch belongs in TRG_SHARED
 * memory.
 *
 * Only the kernel's own body reads the grid (TRG_GID, TRG_LID, TRG_LSIZE, TRG_GROUPS) and
 * declares TRG_SHARED memory; helpers are TRG_FN functions over values and TRG_GLOBAL or
 * TRG_LOCAL pointers.  No libc, double, recursion, function pointer or warp call.  Floating
 * point contraction is off in all three builds, so that one expression gives identical bits;
 * trg_fma is the fused operation.  The four operations, sqrt and the functions below are
 * identical everywhere; other math functions may differ in the last place.
 */
#ifndef TRG_KERNEL_H
#define TRG_KERNEL_H

#define TRG_COLUMNS_MAX_DEV 16

#if defined(__OPENCL_VERSION__)
/* ------------------------------------------------------------------ OpenCL C 1.2 */
#pragma OPENCL FP_CONTRACT OFF
typedef uchar trg_u8;
typedef ushort trg_u16;
typedef uint trg_u32;
typedef char trg_i8;
typedef short trg_i16;
typedef int trg_i32;
typedef ulong trg_u64;
typedef long trg_i64;
#define TRG_GLOBAL                       __global
#define TRG_LOCAL                        __local
#define TRG_CONST                        __constant
#define TRG_SHARED                       __local
#define TRG_FN                           static inline
#define TRG_RESTRICT                     restrict
#define TRG_LID                          ((trg_u32)get_local_id(0))
#define TRG_LSIZE                        ((trg_u32)get_local_size(0))
#define TRG_GID                          ((trg_u32)get_group_id(0))
#define TRG_GROUPS                       ((trg_u32)get_num_groups(0))
#define TRG_BARRIER()                    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE)
#define TRG_ATOMIC_ADD_GLOBAL(p, v)      atomic_add((p), (v))
#define TRG_ATOMIC_ADD_LOCAL(p, v)       atomic_add((p), (v))
#define TRG_ATOMIC_MAX_GLOBAL(p, v)      atomic_max((p), (v))
#define TRG_ATOMIC_MAX_LOCAL(p, v)       atomic_max((p), (v))
#define TRG_ATOMIC_MIN_GLOBAL(p, v)      atomic_min((p), (v))
#define TRG_ATOMIC_MIN_LOCAL(p, v)       atomic_min((p), (v))
#define TRG_ATOMIC_OR_GLOBAL(p, v)       atomic_or((p), (v))
#define TRG_ATOMIC_OR_LOCAL(p, v)        atomic_or((p), (v))
#define TRG_ATOMIC_CAS_GLOBAL(p, old, v) atomic_cmpxchg((p), (old), (v))
#define trg_fabs(x)                      fabs(x)
#define trg_floor(x)                     floor(x)
#define trg_ceil(x)                      ceil(x)
#define trg_sqrt(x)                      sqrt(x)
#define trg_fma(a, b, c)                 fma((a), (b), (c))
#define trg_as_u32(x)                    as_uint(x)
#define trg_as_f32(x)                    as_float(x)
#define trg_popcount(x)                  popcount((trg_u32)(x))
#define trg_clz(x)                       clz((trg_u32)(x))
#define TRG_DECL(name, args)             __kernel void name args
#define TRG_POINTER_(T, a)               __global T *restrict a

#elif defined(__CUDACC__)
/* ------------------------------------------------------------------ CUDA C */
/* A kernel file may define it as __launch_bounds__(...) for the kernels that follow. */
#ifndef TRG_BOUNDS
#define TRG_BOUNDS
#endif
typedef unsigned char trg_u8;
typedef unsigned short trg_u16;
typedef unsigned int trg_u32;
typedef signed char trg_i8;
typedef short trg_i16;
typedef int trg_i32;
typedef unsigned long long trg_u64;
typedef long long trg_i64;
#define TRG_GLOBAL
#define TRG_LOCAL
#define TRG_CONST                        static const __device__
#define TRG_SHARED                       __shared__
#define TRG_FN                           static __device__ __forceinline__
#define TRG_RESTRICT                     __restrict__
#define TRG_LID                          (threadIdx.x)
#define TRG_LSIZE                        (blockDim.x)
#define TRG_GID                          (blockIdx.x)
#define TRG_GROUPS                       (gridDim.x)
#define TRG_BARRIER()                    __syncthreads()
#define TRG_ATOMIC_ADD_GLOBAL(p, v)      atomicAdd((p), (v))
#define TRG_ATOMIC_ADD_LOCAL(p, v)       atomicAdd((p), (v))
#define TRG_ATOMIC_MAX_GLOBAL(p, v)      atomicMax((p), (v))
#define TRG_ATOMIC_MAX_LOCAL(p, v)       atomicMax((p), (v))
#define TRG_ATOMIC_MIN_GLOBAL(p, v)      atomicMin((p), (v))
#define TRG_ATOMIC_MIN_LOCAL(p, v)       atomicMin((p), (v))
#define TRG_ATOMIC_OR_GLOBAL(p, v)       atomicOr((p), (v))
#define TRG_ATOMIC_OR_LOCAL(p, v)        atomicOr((p), (v))
#define TRG_ATOMIC_CAS_GLOBAL(p, old, v) atomicCAS((p), (old), (v))
#define trg_fabs(x)                      fabsf(x)
#define trg_floor(x)                     floorf(x)
#define trg_ceil(x)                      ceilf(x)
#define trg_sqrt(x)                      __fsqrt_rn(x)
#define trg_fma(a, b, c)                 __fmaf_rn((a), (b), (c))
#define trg_as_u32(x)                    __float_as_uint(x)
#define trg_as_f32(x)                    __uint_as_float(x)
#define trg_popcount(x)                  ((trg_u32)__popc(x))
#define trg_clz(x)                       ((trg_u32)__clz((int)(x)))
#define TRG_DECL(name, args)             extern "C" __global__ void TRG_BOUNDS name args
#define TRG_POINTER_(T, a)               T *__restrict__ a

#else
/* ------------------------------------------------------------------ host C17 */
#include <math.h>
#include <stdint.h>
#include <string.h>
#include <trigd/plugin.h>
typedef uint8_t trg_u8;
typedef uint16_t trg_u16;
typedef uint32_t trg_u32;
typedef int8_t trg_i8;
typedef int16_t trg_i16;
typedef int32_t trg_i32;
typedef uint64_t trg_u64;
typedef int64_t trg_i64;
struct trg_grid { /* place of a host kernel in its launch */
    trg_u32 group, groups;
};
#define TRG_GLOBAL
#define TRG_LOCAL
#define TRG_CONST static const
#define TRG_SHARED
#define TRG_FN                           static inline
#define TRG_RESTRICT                     restrict
#define TRG_LID                          ((trg_u32)0)
#define TRG_LSIZE                        ((trg_u32)1)
#define TRG_GID                          (trg_grid_->group)
#define TRG_GROUPS                       (trg_grid_->groups)
#define TRG_BARRIER()                    ((void)0)
/* Groups may run on several threads: global atomics are real, local ones are plain. */
static inline trg_u32 trg_local_add_(trg_u32 *p, trg_u32 v)
{
    trg_u32 old = *p;
    *p = old + v;
    return old;
}
static inline trg_u32 trg_local_max_(trg_u32 *p, trg_u32 v)
{
    trg_u32 old = *p;
    *p = old > v ? old : v;
    return old;
}
static inline trg_u32 trg_local_min_(trg_u32 *p, trg_u32 v)
{
    trg_u32 old = *p;
    *p = old < v ? old : v;
    return old;
}
static inline trg_u32 trg_local_or_(trg_u32 *p, trg_u32 v)
{
    trg_u32 old = *p;
    *p = old | v;
    return old;
}
static inline trg_u32 trg_cas_(trg_u32 *p, trg_u32 old, trg_u32 v)
{
    __atomic_compare_exchange_n(p, &old, v, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
    return old;
}
static inline trg_u32 trg_global_max_(trg_u32 *p, trg_u32 v)
{
    trg_u32 old = __atomic_load_n(p, __ATOMIC_RELAXED);
    while (old < v &&
           !__atomic_compare_exchange_n(p, &old, v, 1, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
    }
    return old;
}
static inline trg_u32 trg_global_min_(trg_u32 *p, trg_u32 v)
{
    trg_u32 old = __atomic_load_n(p, __ATOMIC_RELAXED);
    while (old > v &&
           !__atomic_compare_exchange_n(p, &old, v, 1, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
    }
    return old;
}
static inline trg_u32 trg_as_u32(float x)
{
    trg_u32 u;
    memcpy(&u, &x, sizeof u);
    return u;
}
static inline float trg_as_f32(trg_u32 u)
{
    float x;
    memcpy(&x, &u, sizeof x);
    return x;
}
#define TRG_ATOMIC_ADD_GLOBAL(p, v)      __atomic_fetch_add((p), (v), __ATOMIC_RELAXED)
#define TRG_ATOMIC_ADD_LOCAL(p, v)       trg_local_add_((p), (v))
#define TRG_ATOMIC_MAX_GLOBAL(p, v)      trg_global_max_((p), (v))
#define TRG_ATOMIC_MAX_LOCAL(p, v)       trg_local_max_((p), (v))
#define TRG_ATOMIC_MIN_GLOBAL(p, v)      trg_global_min_((p), (v))
#define TRG_ATOMIC_MIN_LOCAL(p, v)       trg_local_min_((p), (v))
#define TRG_ATOMIC_OR_GLOBAL(p, v)       __atomic_fetch_or((p), (v), __ATOMIC_RELAXED)
#define TRG_ATOMIC_OR_LOCAL(p, v)        trg_local_or_((p), (v))
#define TRG_ATOMIC_CAS_GLOBAL(p, old, v) trg_cas_((p), (old), (v))
#define trg_fabs(x)                      fabsf(x)
#define trg_floor(x)                     floorf(x)
#define trg_ceil(x)                      ceilf(x)
#define trg_sqrt(x)                      sqrtf(x)
#define trg_fma(a, b, c)                 fmaf((a), (b), (c)) /* slow below x86-64-v3 */
#define trg_popcount(x)                  ((trg_u32)__builtin_popcount(x))
#define trg_clz(x)                       ((x) ? (trg_u32)__builtin_clz(x) : 32u)
#endif

/* ------------------------------------------------------------------ all three */

typedef trg_u16 trg_f16; /* in a column; trg_f16_value gives its value */

/* The same as in event.h, plugin.h and collection.h, which devices do not read. */
#ifndef TRG_PLUGIN_H
struct trg_roi_info {
    trg_u32 run, l1id, roi_id, bcid, lumi_block;
    trg_u32 l1_bits;
    float eta, phi_rad;
    float eta_half;
    float phi_half_rad;
    float z_min_mm, z_max_mm;
};
struct trg_span {
    trg_u32 n_rois, n_items;
    trg_u32 rois, offsets;
    trg_u32 column[TRG_COLUMNS_MAX_DEV];
};
TRG_FN float trg_f16_value(trg_f16 half_)
{
    const trg_u32 magnitude = half_ & 0x7fffu, sign = (trg_u32)(half_ & 0x8000u) << 16;
    trg_u32 bits = (magnitude << 13) + (112u << 23);

    if (magnitude >= 0x7c00u)
        bits += 112u << 23;
    if (magnitude < 0x0400u)
        bits = trg_as_u32((float)magnitude * 5.9604644775390625e-8f);
    return trg_as_f32(bits | sign);
}
#endif

/* Column c of a span as an array; `data` is the batch's input buffer (const trg_u8), or an output
 * (trg_u8).  Headers made from declarations have a name for each column: TRG_HITS_X(data, span),
 * and TRG_HITS_X_OUT(data, span) to write it. */
#define TRG_COLUMN(T, data, span, c)     ((TRG_GLOBAL const T *)((data) + (span).column[c]))
#define TRG_COLUMN_OUT(T, data, span, c) ((TRG_GLOBAL T *)((data) + (span).column[c]))
#define TRG_OFFSETS(data, span)          ((TRG_GLOBAL const trg_u32 *)((data) + (span).offsets))
#define TRG_ROIS(data, span)             ((TRG_GLOBAL const struct trg_roi_info *)((data) + (span).rois))

/* Items of RoI r are TRG_BEGIN(data, span, r) <= i < TRG_END(data, span, r), in every column. */
#define TRG_BEGIN(data, span, roi) (TRG_OFFSETS(data, span)[roi])
#define TRG_END(data, span, roi)   (TRG_OFFSETS(data, span)[(roi) + 1u])

#include "trigd/collections.h"

/* An argument of a kernel is (type, name): TRG_POINTER_ and TRG_VALUE_ in front of it declare it.
 */
#if defined(__OPENCL_VERSION__) || defined(__CUDACC__)
#define TRG_VALUE_(T, a)          T a
#define TRG_KERNEL1(n, a1, v)     TRG_DECL(n, (TRG_POINTER_ a1, TRG_VALUE_ v))
#define TRG_KERNEL2(n, a1, a2, v) TRG_DECL(n, (TRG_POINTER_ a1, TRG_POINTER_ a2, TRG_VALUE_ v))
#define TRG_KERNEL3(n, a1, a2, a3, v) \
    TRG_DECL(n, (TRG_POINTER_ a1, TRG_POINTER_ a2, TRG_POINTER_ a3, TRG_VALUE_ v))
#define TRG_KERNEL4(n, a1, a2, a3, a4, v) \
    TRG_DECL(n, (TRG_POINTER_ a1, TRG_POINTER_ a2, TRG_POINTER_ a3, TRG_POINTER_ a4, TRG_VALUE_ v))
#define TRG_KERNEL5(n, a1, a2, a3, a4, a5, v)                                        \
    TRG_DECL(n, (TRG_POINTER_ a1, TRG_POINTER_ a2, TRG_POINTER_ a3, TRG_POINTER_ a4, \
                 TRG_POINTER_ a5, TRG_VALUE_ v))
#define TRG_KERNEL6(n, a1, a2, a3, a4, a5, a6, v)                                    \
    TRG_DECL(n, (TRG_POINTER_ a1, TRG_POINTER_ a2, TRG_POINTER_ a3, TRG_POINTER_ a4, \
                 TRG_POINTER_ a5, TRG_POINTER_ a6, TRG_VALUE_ v))
#define TRG_KERNEL7(n, a1, a2, a3, a4, a5, a6, a7, v)                                \
    TRG_DECL(n, (TRG_POINTER_ a1, TRG_POINTER_ a2, TRG_POINTER_ a3, TRG_POINTER_ a4, \
                 TRG_POINTER_ a5, TRG_POINTER_ a6, TRG_POINTER_ a7, TRG_VALUE_ v))
#define TRG_KERNEL8(n, a1, a2, a3, a4, a5, a6, a7, a8, v)                                          \
    TRG_DECL(n,                                                                                    \
             (TRG_POINTER_ a1, TRG_POINTER_ a2, TRG_POINTER_ a3, TRG_POINTER_ a4, TRG_POINTER_ a5, \
              TRG_POINTER_ a6, TRG_POINTER_ a7, TRG_POINTER_ a8, TRG_VALUE_ v))
#else
/* The body is a static function; the entry point unpacks the launch's arguments for it. */
#define TRG_TYPE_(T, a)    T
#define TRG_VALUE_(T, a)   const T a
#define TRG_POINTER_(T, a) T *restrict a
#define TRG_HOST_(n, v, formal, actual)                          \
    enum { n##_value_bytes_ = sizeof(TRG_TYPE_ v) };             \
    static inline void n##_body_ formal;                         \
    static void n(const void *trg_grid_, void *const *trg_args_) \
    {                                                            \
        n##_body_ actual;                                        \
    }                                                            \
    static inline void n##_body_ formal
#define TRG_G_       const struct trg_grid *trg_grid_ __attribute__((unused))
#define TRG_GA_      (const struct trg_grid *)trg_grid_
#define TRG_A_(i)    trg_args_[i]
#define TRG_V_(v, i) *(const TRG_TYPE_ v *)trg_args_[i]
#define TRG_KERNEL1(n, a1, v) \
    TRG_HOST_(n, v, (TRG_G_, TRG_POINTER_ a1, TRG_VALUE_ v), (TRG_GA_, TRG_A_(0), TRG_V_(v, 1)))
#define TRG_KERNEL2(n, a1, a2, v)                                             \
    TRG_HOST_(n, v, (TRG_G_, TRG_POINTER_ a1, TRG_POINTER_ a2, TRG_VALUE_ v), \
              (TRG_GA_, TRG_A_(0), TRG_A_(1), TRG_V_(v, 2)))
#define TRG_KERNEL3(n, a1, a2, a3, v)                                                          \
    TRG_HOST_(n, v, (TRG_G_, TRG_POINTER_ a1, TRG_POINTER_ a2, TRG_POINTER_ a3, TRG_VALUE_ v), \
              (TRG_GA_, TRG_A_(0), TRG_A_(1), TRG_A_(2), TRG_V_(v, 3)))
#define TRG_KERNEL4(n, a1, a2, a3, a4, v)                                                  \
    TRG_HOST_(n, v,                                                                        \
              (TRG_G_, TRG_POINTER_ a1, TRG_POINTER_ a2, TRG_POINTER_ a3, TRG_POINTER_ a4, \
               TRG_VALUE_ v),                                                              \
              (TRG_GA_, TRG_A_(0), TRG_A_(1), TRG_A_(2), TRG_A_(3), TRG_V_(v, 4)))
#define TRG_KERNEL5(n, a1, a2, a3, a4, a5, v)                                              \
    TRG_HOST_(n, v,                                                                        \
              (TRG_G_, TRG_POINTER_ a1, TRG_POINTER_ a2, TRG_POINTER_ a3, TRG_POINTER_ a4, \
               TRG_POINTER_ a5, TRG_VALUE_ v),                                             \
              (TRG_GA_, TRG_A_(0), TRG_A_(1), TRG_A_(2), TRG_A_(3), TRG_A_(4), TRG_V_(v, 5)))
#define TRG_KERNEL6(n, a1, a2, a3, a4, a5, a6, v)                                    \
    TRG_HOST_(                                                                       \
        n, v,                                                                        \
        (TRG_G_, TRG_POINTER_ a1, TRG_POINTER_ a2, TRG_POINTER_ a3, TRG_POINTER_ a4, \
         TRG_POINTER_ a5, TRG_POINTER_ a6, TRG_VALUE_ v),                            \
        (TRG_GA_, TRG_A_(0), TRG_A_(1), TRG_A_(2), TRG_A_(3), TRG_A_(4), TRG_A_(5), TRG_V_(v, 6)))
#define TRG_KERNEL7(n, a1, a2, a3, a4, a5, a6, a7, v)                                      \
    TRG_HOST_(n, v,                                                                        \
              (TRG_G_, TRG_POINTER_ a1, TRG_POINTER_ a2, TRG_POINTER_ a3, TRG_POINTER_ a4, \
               TRG_POINTER_ a5, TRG_POINTER_ a6, TRG_POINTER_ a7, TRG_VALUE_ v),           \
              (TRG_GA_, TRG_A_(0), TRG_A_(1), TRG_A_(2), TRG_A_(3), TRG_A_(4), TRG_A_(5),  \
               TRG_A_(6), TRG_V_(v, 7)))
#define TRG_KERNEL8(n, a1, a2, a3, a4, a5, a6, a7, a8, v)                                         \
    TRG_HOST_(n, v,                                                                               \
              (TRG_G_, TRG_POINTER_ a1, TRG_POINTER_ a2, TRG_POINTER_ a3, TRG_POINTER_ a4,        \
               TRG_POINTER_ a5, TRG_POINTER_ a6, TRG_POINTER_ a7, TRG_POINTER_ a8, TRG_VALUE_ v), \
              (TRG_GA_, TRG_A_(0), TRG_A_(1), TRG_A_(2), TRG_A_(3), TRG_A_(4), TRG_A_(5),         \
               TRG_A_(6), TRG_A_(7), TRG_V_(v, 8)))
#endif
#endif
