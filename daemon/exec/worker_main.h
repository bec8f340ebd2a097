/* SPDX-License-Identifier: Apache-2.0 */
/* worker_main.h - `trigd --worker`: the lanes of one device, for the daemon that started
 * it and holds the other end of descriptor 3. */
#ifndef TRIGD_WORKER_MAIN_H
#define TRIGD_WORKER_MAIN_H
/* Serves until the daemon closes its end.  The exit code. */
int worker_main(void);
#endif
