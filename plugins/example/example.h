/* SPDX-License-Identifier: Apache-2.0 */
/* example.h - what example.c and its kernel share: plain structs of 4-byte members. */
#ifndef EXAMPLE_H
#define EXAMPLE_H

struct example_config {
    float rho_max_mm;
};

struct example_par { /* the kernel's last argument, passed by value */
    struct trg_span points;
    float rho_max_mm;
};
#endif
