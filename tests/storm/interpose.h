/* SPDX-License-Identifier: Apache-2.0 */
/* interpose.h - the page of shared memory that says what storm_interpose does; farm.py writes it
 * too. */
#ifndef TRIGD_TEST_INTERPOSE_H
#define TRIGD_TEST_INTERPOSE_H
#include <stdatomic.h>
#include <stdint.h>

enum disk { DISK_WORKS, DISK_HANGS, DISK_IS_SLOW, DISK_FAILS };

struct page {
    _Atomic int64_t wall_ns; /* added to CLOCK_REALTIME */
    _Atomic uint32_t disk;   /* enum disk */
    _Atomic uint32_t slow_ms;
    _Atomic uint32_t n_hanging; /* written by the library: calls that wait now */
};
#endif
