/* SPDX-License-Identifier: Apache-2.0 */
/* counts.h - what counting.so tells of the process that it is loaded into, in a file that both map.
 */
#ifndef TRIGD_BENCH_COUNTS_H
#define TRIGD_BENCH_COUNTS_H
#include <stdatomic.h>
#include <stdint.h>

#define COUNTS_FILE "TRIGD_COUNTS" /* environment variable: path of the file */
#define COUNTS_COPY 256u           /* shorter copies are not counted */

struct counts {
    _Atomic uint64_t allocations;  /* malloc, calloc, realloc, aligned ones */
    _Atomic uint64_t copied_bytes; /* by memcpy and memmove */
    _Atomic uint64_t read_bytes;   /* from sockets: the kernel's copy */
};
#endif
