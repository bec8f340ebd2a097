/* SPDX-License-Identifier: Apache-2.0 */
/* sandbox.h - restrictions of a process that runs the code of plugins. */
#ifndef TRIGD_SANDBOX_H
#define TRIGD_SANDBOX_H
#include <stdint.h>

/* No new privileges; no sockets but Unix ones (and netlink, where a device with a driver is open by
 * then), no io_uring, no calls of another architecture (seccomp).  Where the kernel has no seccomp
 * it says so once. */
int sandbox_enter(void);
/* Private memory that is asked for beyond so many MiB is refused (RLIMIT_DATA); 0: no limit. */
int sandbox_limit_memory(uint32_t mbytes);
#endif
