/* SPDX-License-Identifier: Apache-2.0 */
/* tut_mask.h - what tut_mask.c and its kernel share: plain structs of 4-byte members. */
#ifndef TUT_MASK_H
#define TUT_MASK_H

struct tut_mask_par { /* the kernel's last argument, passed by value */
    struct trg_span points, mask;
};
#endif
