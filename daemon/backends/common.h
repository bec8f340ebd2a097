/* SPDX-License-Identifier: Apache-2.0 */
/* common.h - shared by the backends: one way to log, and the checks of plugins' requests, so
 * that a mistake in a plugin shows on the CPU already and reads the same on every device. */
#ifndef TRIGD_BACKENDS_COMMON_H
#define TRIGD_BACKENDS_COMMON_H
#include "trigd/device.h"

struct backend_log { /* where a device's lines go */
    const struct trg_host *host;
    char device[24]; /* "opencl 0": the beginning of each line */
};

/* One line to the host's log. */
void backend_log(const struct backend_log *log, enum trg_level level, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* How many kernels a program has. */
uint32_t backend_entries(const struct trg_program *p);

/* The place of a kernel in the program's table of entries, or -ENOENT and an error line. */
int64_t backend_find(const struct backend_log *log, const struct trg_program *p, const char *name);

/* 0, or -EINVAL and an error line when `bytes` at `at` are not inside `room` bytes. */
int backend_check_range(const struct backend_log *log, const char *call, size_t room, size_t at,
                        size_t bytes);

/* 0, or -EINVAL and an error line when a fill is not in whole words inside `room` bytes. */
int backend_check_fill(const struct backend_log *log, size_t room, size_t at, size_t bytes);

/* 0, or -EINVAL and an error line when a kernel cannot take these arguments or this group. */
int backend_check_launch(const struct backend_log *log, const struct trg_host_entry *entry,
                         uint32_t group_max, struct trg_range r, const struct trg_arg *args,
                         uint32_t n_args);
#endif
