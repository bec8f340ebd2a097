/* SPDX-License-Identifier: Apache-2.0 */
#ifndef COLUMNS_H
#define COLUMNS_H
#include "trigd/kernel.h"

#define COLUMNS_WORDS 10u /* that the kernel writes for an item */
struct columns_par {
    struct trg_span in;
};
#endif
