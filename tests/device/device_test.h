/* SPDX-License-Identifier: Apache-2.0 */
/* Structs that the device tests pass to their kernels. */
#ifndef DEVICE_TEST_H
#define DEVICE_TEST_H

struct test_par {
    trg_u32 n, value;
};

struct test_layout_par {
    struct trg_span span;
    float f;
    trg_i32 i;
};
#endif
