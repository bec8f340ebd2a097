/* SPDX-License-Identifier: Apache-2.0 */
/* tut_steps_count.h - what tut_steps_count.c and its kernel share. */
#ifndef TUT_STEPS_COUNT_H
#define TUT_STEPS_COUNT_H

struct tut_steps_count_config {
    float cot_max;
};

struct tut_steps_count_par {
    struct trg_span slopes;
    float cot_max;
};
#endif
