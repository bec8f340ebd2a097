/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MATH_PAR_H
#define MATH_PAR_H

#define MATH_SIN   0u
#define MATH_COS   1u
#define MATH_ATAN2 2u
#define MATH_EXP   3u
#define MATH_LOG   4u
#define MATH_POW   5u
#define MATH_COUNT 6u

struct math_par {
    unsigned int n, which;
};
#endif
