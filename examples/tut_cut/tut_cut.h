/* SPDX-License-Identifier: Apache-2.0 */
/* tut_cut.h - what tut_cut.c and its kernel share: plain structs of 4-byte members. */
#ifndef TUT_CUT_H
#define TUT_CUT_H

struct tut_cut_config {
    float rho_min_mm, rho_max_mm;
    unsigned int max_points;
};

struct tut_cut_par { /* the kernel's last argument, passed by value */
    struct trg_span points;
    float rho_min_mm, rho_max_mm;
};
#endif
