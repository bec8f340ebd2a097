/* SPDX-License-Identifier: Apache-2.0 */
/* tut_own.h - what tut_own.c and its kernel share. */
#ifndef TUT_OWN_H
#define TUT_OWN_H

struct tut_own_config {
    unsigned int quality_max;
};

struct tut_own_par {
    struct trg_span cells;
    unsigned int quality_max;
};
#endif
