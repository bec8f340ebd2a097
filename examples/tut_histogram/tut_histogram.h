/* SPDX-License-Identifier: Apache-2.0 */
/* tut_histogram.h - what tut_histogram.c and its kernel share. */
#ifndef TUT_HISTOGRAM_H
#define TUT_HISTOGRAM_H

#define TUT_HISTOGRAM_BINS 256u

struct tut_histogram_config {
    float bin_mm;
};

struct tut_histogram_par {
    struct trg_span points;
    float bin_mm;
};
#endif
