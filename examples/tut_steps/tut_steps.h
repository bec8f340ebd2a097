/* SPDX-License-Identifier: Apache-2.0 */
/* tut_steps.h - what tut_steps.c and its kernel share. */
#ifndef TUT_STEPS_H
#define TUT_STEPS_H

struct tut_steps_par {
    struct trg_span points, slopes;
};
#endif
