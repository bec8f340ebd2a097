/* SPDX-License-Identifier: Apache-2.0 */
/* loop.h - the daemon put together: all stages, the I/O thread's loop, its states. */
#ifndef TRIGD_LOOP_H
#define TRIGD_LOOP_H
#include "config/config.h"

struct loop;
/* Opens everything: pool, sockets, backends, the menu's lanes, control.  Signals that the loop
 * handles must be blocked in all threads.  Logs failures. */
int loop_open(const struct config *config, const char *config_path, struct loop **ret_loop);
/* Serves until SIGTERM, SIGINT or `quit`; drains first.  Returns 0, or -EBUSY when a lane
 * was stuck and had to be left behind; another negative errno: it could not start (logged). */
int loop_run(struct loop *l);
/* NULL is fine.  After -EBUSY the stuck parts are left to the end of the process. */
void loop_close(struct loop *l);
#endif
