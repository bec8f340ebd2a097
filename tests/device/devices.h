/* SPDX-License-Identifier: Apache-2.0 */
/* devices.h - for tests of anything that runs on devices: opens the devices of the backends in
 * $TRIGD_BUILD/backends, prints their names, and keeps what they log. */
#ifndef TESTS_DEVICES_H
#define TESTS_DEVICES_H
#include "trigd/device.h"

struct device {
    struct trg_device *d;
    struct trg_device_info info;
};

/* The host that the devices are opened with; a test may set its cache_dir. */
extern struct trg_host devices_host;

/* Opens the devices of a backend, or of all backends when it is NULL, and prints them.  Returns how
 * many there are, 0 also when the backend was not built. */
uint32_t devices_open(const char *backend);
void devices_close(void);
uint32_t devices_count(void);
struct device *devices_get(uint32_t i);

/* How many log lines since devices_forget() have this level or worse and hold this text. */
uint32_t devices_logged(enum trg_level level, const char *text);
void devices_forget(void);

/* For tests that are run once for each backend, named by the program's first argument: opens its
 * devices, runs the cmocka group and returns the exit code of main, 77 where there is no device. */
struct CMUnitTest;
int devices_main(int argc, char **argv, const struct CMUnitTest *tests, size_t n_tests);

/* Seconds: of this thread on a core for what runs there (the CPU backend, NULL), of all threads
 * together where OpenCL is threads on the CPU, so that other programs disturb it less; of the wall
 * for other devices. */
double devices_seconds(const struct device *on);

/* Numbers made from a seed. */
uint32_t devices_random(uint64_t *state);
#endif
