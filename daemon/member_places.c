/* SPDX-License-Identifier: Apache-2.0 */
/* member_places.c - what the configuration says of the node and its supervisors. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <zmq.h>

#include "clock.h"
#include "log.h"
#include "member_inner.h"
#include "transport/auth.h"

#define LINGER_MS        200
#define BEATS_UNSENT_MAX 16 /* that wait for a supervisor that is not there */

static int read_keys(const struct config *c, struct keyfile *own, struct keyfile *supervisors,
                     char *why, size_t bytes)
{
    int r = keyfile_read(c->security.key_file, own, why, bytes);

    if (r == 0)
        r = keyfile_read(c->supervisor.key_file, supervisors, why, bytes);
    if (r == 0 && (!own->public_key[0] || !supervisors->public_key[0])) {
        r = -EBADMSG;
        snprintf(why, bytes, "%s has no public key",
                 own->public_key[0] ? c->supervisor.key_file : c->security.key_file);
    }
    return r;
}

/* Takes the keys of the files; those of before stay if they are wrong. */
static int look_at_keys(struct member *m)
{
    struct keyfile own = {.public_key = ""}, supervisors = {.public_key = ""};
    char why[512];
    int r;

    if (!m->config->supervisor.key_file[0])
        return 0;
    r = read_keys(m->config, &own, &supervisors, why, sizeof why);
    if (r < 0 && !m->is_key_wrong)
        log_error("farm", "cannot read keys for supervisors", "error=\"%s\"", why);
    m->is_key_wrong = r < 0;
    if (r == 0 && (memcmp(&own, &m->own, sizeof own) != 0 ||
                   memcmp(&supervisors, &m->supervisors, sizeof supervisors) != 0)) {
        m->own = own;
        m->supervisors = supervisors;
        m->keys++;
    }
    keyfile_forget(&own);
    return r;
}

static int dial(struct member *m, struct place *p)
{
    const bool has_key = m->supervisors.public_key[0] && !strncmp(p->endpoint, "tcp://", 6);

    p->keys = m->keys;
    if (auth_dial(p->socket, &m->own, has_key ? m->supervisors.public_key : NULL) == 0 &&
        zmq_connect(p->socket, p->endpoint) == 0)
        return 0;
    log_error("farm", "cannot connect to a supervisor", "endpoint=\"%s\" error=\"%s\"", p->endpoint,
              zmq_strerror(errno));
    return -EINVAL;
}

void member_dial_again(struct member *m, struct place *p)
{
    const uint64_t now = clock_ns();

    if (now > m->keys_ns + NS_PER_S) {
        m->keys_ns = now;
        look_at_keys(m);
    }
    if (p->keys == m->keys)
        return;
    zmq_disconnect(p->socket, p->endpoint);
    log_info("farm", "connects with other keys", "supervisor=\"%s\"", p->endpoint);
    dial(m, p);
}

static int open_place(struct member *m, const char *endpoint)
{
    struct place *p = &m->place[m->n];
    const struct {
        int option, value;
    } table[] = {{ZMQ_LINGER, LINGER_MS}, {ZMQ_SNDHWM, BEATS_UNSENT_MAX}, {ZMQ_IMMEDIATE, 1}};

    if (m->n == SUPERVISORS_MAX || strlen(endpoint) >= sizeof p->endpoint) {
        log_error("farm", "too many supervisors, or too long", "most=%u", SUPERVISORS_MAX);
        return -EINVAL;
    }
    snprintf(p->endpoint, sizeof p->endpoint, "%s", endpoint);
    p->socket = zmq_socket(m->context, ZMQ_DEALER);
    if (!p->socket)
        return -errno;
    m->n++;
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (zmq_setsockopt(p->socket, table[i].option, &table[i].value, sizeof(int)) < 0)
            return -errno;
    return dial(m, p);
}

int member_open_places(struct member *m)
{
    char list[1024], *state = NULL;
    int r = look_at_keys(m);

    snprintf(list, sizeof list, "%s", m->config->supervisor.endpoints);
    for (const char *e = strtok_r(list, ", ", &state); r == 0 && e;
         e = strtok_r(NULL, ", ", &state))
        r = open_place(m, e);
    return r;
}

/* Where supervisors reach it: what is configured, or the first endpoint that has frames. */
int member_find_endpoint(struct member *m)
{
    const struct config *c = m->config;
    const char *e = c->supervisor.reach[0] ? c->supervisor.reach : NULL;

    for (uint32_t i = 0; !e && i < c->n_endpoints; i++)
        if (strncmp(c->endpoints[i], "shm://", 6) != 0)
            e = c->endpoints[i];
    if (!e || strstr(e, "://*") || strstr(e, "://0.0.0.0") || strlen(e) >= sizeof m->endpoint) {
        log_error("farm", "supervisors cannot reach this daemon",
                  "endpoint=\"%s\" wanted=\"supervisor.reach: tcp://ADDRESS:PORT\"", e ? e : "");
        return -EINVAL;
    }
    snprintf(m->endpoint, sizeof m->endpoint, "%s", e);
    return 0;
}

int member_find_name(struct member *m)
{
    const char *name = m->config->supervisor.name;

    if (!name[0])
        return gethostname(m->name, sizeof m->name - 1) < 0 ? -errno : 0;
    snprintf(m->name, sizeof m->name, "%s", name);
    return 0;
}
