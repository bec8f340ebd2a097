/* SPDX-License-Identifier: Apache-2.0 */
/* echo.h - the bare servers that trigd is compared with. */
#ifndef TRIGD_BENCH_ECHO_H
#define TRIGD_BENCH_ECHO_H
#include <stdint.h>

enum echo_mode {
    ECHO_BARE,   /* sends every message back */
    ECHO_DECODE, /* unpacks and checks it as the daemon does, then sends it back */
    ECHO_ANSWER  /* unpacks and checks it, and sends a decision for it */
};

/* Serves for ever with so many threads, each with a ROUTER where a shard of that number would
 * listen and a part of so many threads of ZeroMQ.  Returns an exit code when that is not possible.
 */
int echo_serve(const char *endpoint, enum echo_mode mode, int io_threads, uint32_t threads);
#endif
