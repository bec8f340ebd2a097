/* SPDX-License-Identifier: Apache-2.0 */
#include "transport/refusal.h"

#include "log.h"

void refusal_send(struct clients *clients, struct stats *stats, const struct peer *peer,
                  uint32_t number, const struct wire_error *error, const uint64_t *token)
{
    Trigd__V1__FromDaemon m = TRIGD__V1__FROM_DAEMON__INIT;
    Trigd__V1__Error e = TRIGD__V1__ERROR__INIT;

    e.code = error->code;
    e.text = (char *)error->text;
    e.has_token = token != NULL;
    e.token = token ? *token : 0;
    m.body_case = TRIGD__V1__FROM_DAEMON__BODY_ERROR;
    m.error = &e;
    stats_add(&stats->g.errors, 1);
    if (number != CLIENTS_NONE)
        stats_add(&clients_at(clients, number)->stats->errors, 1);
    log_warn("ingress", "refused", "client=\"%s\" reason=\"%s\"",
             number == CLIENTS_NONE ? "?" : clients_at(clients, number)->name, error->text);
    if (number == CLIENTS_NONE)
        clients_send_peer(clients, peer, &m);
    else
        clients_send(clients, number, &m, 0);
}
