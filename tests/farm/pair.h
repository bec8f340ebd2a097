/* SPDX-License-Identifier: Apache-2.0 */
/* pair.h - a supervisor with two fake nodes, a and b, and a connection of a client; include after
 * cmocka.h. */
#ifndef TRIGD_TEST_PAIR_H
#define TRIGD_TEST_PAIR_H
#include "fakenode.h"

#define SOON     "limits: {drain_ms: 0}\n"
#define LIMIT_MS 10000

static struct server server;
static struct fake a, b, *both[] = {&a, &b};
static struct link client;

/* Both nodes serve, each with so many credits; the client has said nothing yet.  `a` and `b` are
 * filled. */
static inline void pair_open(const char *config, const char *farm, uint32_t credits)
{
    fake_supervisor(&server, config, farm, NULL);
    fake_join(&a, &server, "a", credits);
    fake_join(&b, &server, "b", credits);
    server_wait_ready(&server);
    fake_wait(&server, NULL, "nodes_serving", 2, both, 2);
    link_open(&client, &server);
    fake_beat(&a);
    fake_beat(&b);
}

static inline void pair_close(void)
{
    fake_check_accounts(&server);
    link_close(&client);
    fake_close(&a);
    fake_close(&b);
    server_stop(&server);
}
#endif
