/* SPDX-License-Identifier: Apache-2.0 */
#include "transport/session.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "check.h"

#define KEY_MAX 64u /* bytes of a client's key */

int session_check(const Trigd__V1__Hello *hello, struct wire_error *ret_error)
{
    if (hello->protocol != SESSION_PROTOCOL)
        return check_refuse(ret_error, TRIGD__V1__ERROR__CODE__PROTOCOL,
                            "Hello asks for protocol %u; this daemon speaks protocol %u",
                            hello->protocol, SESSION_PROTOCOL);
    if (hello->key.len > KEY_MAX)
        return check_refuse(ret_error, TRIGD__V1__ERROR__CODE__BAD_NAME,
                            "the key in Hello has %zu bytes; at most %u are allowed",
                            hello->key.len, KEY_MAX);
    if (hello->passes && hello->passes->key.len != PASSES_KEY)
        return check_refuse(ret_error, TRIGD__V1__ERROR__CODE__PASS,
                            "the key for passes in Hello has %zu bytes; %u are allowed",
                            hello->passes->key.len, PASSES_KEY);
    return wire_check_name(hello->name, ret_error);
}

int session_enter(struct clients *c, const struct peer *peer, const Trigd__V1__Hello *hello,
                  uint32_t most, uint32_t *ret_number, struct wire_error *ret_error)
{
    int r = clients_hello(c, peer, hello, ret_number);

    if (r == -EUSERS)
        check_refuse(ret_error, TRIGD__V1__ERROR__CODE__TOO_LARGE,
                     "this daemon has its %u clients already (clients.max)", most);
    else if (r < 0)
        check_refuse(ret_error, TRIGD__V1__ERROR__CODE__TOO_LARGE,
                     "there is no memory to share: %s", strerror(-r));
    return r;
}

void session_echo(struct clients *c, const struct peer *peer, uint32_t number,
                  const Trigd__V1__Heartbeat *beat)
{
    Trigd__V1__FromDaemon m = TRIGD__V1__FROM_DAEMON__INIT;
    Trigd__V1__Heartbeat copy = *beat;

    m.body_case = TRIGD__V1__FROM_DAEMON__BODY_HEARTBEAT;
    m.heartbeat = &copy;
    if (number == CLIENTS_NONE)
        clients_send_peer(c, peer, &m);
    else
        clients_send(c, number, &m, 0);
}
