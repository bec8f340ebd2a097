/* SPDX-License-Identifier: Apache-2.0 */
/* tut_two.h - what tut_two.c and its kernel share. */
#ifndef TUT_TWO_H
#define TUT_TWO_H

struct tut_two_config {
    float z_max_mm;
};

struct tut_two_par {
    struct trg_span hits, doublets;
    float z_max_mm;
};
#endif
