/* SPDX-License-Identifier: Apache-2.0 */
/* messages.h - messages of a client, for tests and benchmarks that speak the protocol themselves.
 * The fields of a Hello or an Ask that matter are the caller's; what they point to is borrowed. */
#ifndef TESTS_COMMON_MESSAGES_H
#define TESTS_COMMON_MESSAGES_H
#include "trigd.pb-c.h"

static inline Trigd__V1__ToDaemon message_hello(Trigd__V1__Hello *hello, const char *name)
{
    Trigd__V1__ToDaemon m = TRIGD__V1__TO_DAEMON__INIT;

    hello->protocol = 1;
    hello->name = (char *)(uintptr_t)name;
    m.body_case = TRIGD__V1__TO_DAEMON__BODY_HELLO;
    m.hello = hello;
    return m;
}

/* The question for the addresses of batches, n bytes of routing frames. */
static inline Trigd__V1__ToDaemon message_ask(Trigd__V1__Ask *ask, void *frames, size_t n)
{
    Trigd__V1__ToDaemon m = TRIGD__V1__TO_DAEMON__INIT;

    ask->frames.data = frames;
    ask->frames.len = n;
    m.body_case = TRIGD__V1__TO_DAEMON__BODY_ASK;
    m.ask = ask;
    return m;
}
#endif
