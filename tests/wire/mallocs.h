/* SPDX-License-Identifier: Apache-2.0 */
/* mallocs.h - counts every call of malloc, calloc and realloc of the whole program. */
#ifndef TRIGD_TEST_MALLOCS_H
#define TRIGD_TEST_MALLOCS_H
#include <stdint.h>

uint64_t mallocs(void);
#endif
