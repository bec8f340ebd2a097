/* SPDX-License-Identifier: Apache-2.0 */
/* admit.c - who may be a node: what is wrong with one that may not is a sentence. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "farm.h"
#include "member.h"
#include "shard_endpoint.h"

#define LINE_BYTES 256
#define MENU_MAX   (4 << 20)

int admit_menu_key(const char *path, uint64_t *ret_key)
{
    FILE *file = fopen(path, "r");
    char *text = malloc(MENU_MAX);
    int r = file && text ? 0 : file ? -ENOMEM : -errno;

    if (r == 0) {
        const size_t n = fread(text, 1, MENU_MAX, file);

        r = ferror(file) ? -EIO : n == MENU_MAX ? -EFBIG : n ? 0 : -ENODATA;
        *ret_key = hash_bytes(text, n);
    }
    if (file)
        fclose(file);
    free(text);
    return r;
}

__attribute__((format(printf, 2, 3))) static bool say(char *why, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    vsnprintf(why, FARM_SENTENCE, format, args);
    va_end(args);
    return false;
}

/* Whether a node is on the list; an empty path: there is none. */
static bool is_listed(const char *path, const char *name, char *why)
{
    char line[LINE_BYTES];
    bool is_found = false;
    FILE *file;

    if (!path[0])
        return true;
    file = fopen(path, "r");
    if (!file)
        return say(why, "the list of nodes cannot be read: %s: %s", path, strerror(errno));
    while (!is_found && fgets(line, sizeof line, file)) {
        char *state = NULL;
        const char *word = strtok_r(line, " \t\r\n", &state);

        is_found = word && word[0] != '#' && !strcmp(word, name);
    }
    fclose(file);
    return is_found || say(why, "node %s is not on the list of nodes, %s", name, path);
}

/* Releases beside each other work together: 1.4 with 1.3 and 1.5. */
static bool is_near_version(const char *version, char *why)
{
    unsigned major, minor, own_major, own_minor;

    if (sscanf(TRIGD_VERSION, "%u.%u", &own_major, &own_minor) != 2 ||
        sscanf(version, "%u.%u", &major, &minor) != 2 || major != own_major ||
        minor + 1 < own_minor || minor > own_minor + 1)
        return say(why,
                   "it runs trigd %.40s; this is trigsup %s: releases one minor number apart "
                   "work together",
                   version, TRIGD_VERSION);
    return true;
}

/* The menu that its file holds now is the farm's next one: another supervisor has the nodes load
 * it. */
bool admit_menu(struct farm *f, uint64_t key, char *why)
{
    uint64_t next;

    if (key == f->menu_key || (f->next_menu_key && key == f->next_menu_key))
        return true;
    if (!f->next_menu_key && admit_menu_key(f->config->menu, &next) == 0 && next == key) {
        f->next_menu_key = next;
        return true;
    }
    return say(why, "its menu has the key %016llx; the farm's, %.150s, has %016llx",
               (unsigned long long)key, f->config->menu, (unsigned long long)f->menu_key);
}

/* The plugins of the first node are the farm's, until all are renewed. */
static bool has_right_plugins(const struct farm *f, const Trigd__Farm__V1__Enlist *e, char *why)
{
    if (!f->n_plugins || f->roll.kind != ROLL_NONE)
        return true;
    if (e->n_plugins != f->n_plugins)
        return say(why, "its menu has %zu steps; the farm's has %u", e->n_plugins, f->n_plugins);
    for (uint32_t i = 0; i < f->n_plugins; i++) {
        const struct rundoc_plugin *own = &f->plugin[i];
        const Trigd__Farm__V1__StepPlugin *p = e->plugins[i];

        if (strcmp(p->plugin, own->plugin) != 0 || strcmp(p->version, own->version) != 0)
            return say(why, "step %s runs plugin %s %s there; the farm's is %s %s", own->step,
                       p->plugin, p->version, own->plugin, own->version);
    }
    return true;
}

static bool is_name_free(const struct farm *f, const Trigd__Farm__V1__Enlist *e, char *why)
{
    const uint32_t node = node_find(f, e->name);
    const struct node *n = &f->node[node == FARM_NODES_NONE ? 0 : node];

    if (node == FARM_NODES_NONE || n->instance == e->instance || n->is_lost)
        return true;
    return say(why, "a node is called %s already, at %.150s; names of nodes are unique", e->name,
               n->endpoint);
}

/* Two links to one endpoint could not be told apart when one ends. */
static bool is_endpoint_free(const struct farm *f, const Trigd__Farm__V1__Enlist *e,
                             const char *endpoint, char *why)
{
    for (uint32_t i = 0; i < f->n_links; i++) {
        const struct node *n = &f->node[f->link[i].node];

        if (f->link[i].is_used && strcmp(n->name, e->name) != 0 &&
            !strcmp(f->link[i].endpoint, endpoint))
            return say(why, "its endpoint %.100s is that of node %s already", endpoint, n->name);
    }
    return true;
}

static bool are_endpoints_free(const struct farm *f, const Trigd__Farm__V1__Enlist *e, char *why)
{
    char endpoint[FARM_SENTENCE];

    if (e->shards > SHARDS_MAX)
        return say(why, "it has %u shards; %u are allowed", e->shards, SHARDS_MAX);
    for (uint32_t k = 0; k == 0 || k < e->shards; k++)
        if (shard_endpoint(e->endpoint, k, endpoint, sizeof endpoint) < 0)
            return say(why, "its endpoint %.100s has no place for shard %u", e->endpoint, k);
        else if (!is_endpoint_free(f, e, endpoint, why))
            return false;
    return true;
}

/* A node enlists under the name of its key, and is reached over tcp by its key. */
static bool has_right_key(const struct farm *f, const struct farm_peer *peer,
                          const Trigd__Farm__V1__Enlist *e, char *why)
{
    if (peer->key[0] && strcmp(peer->name, e->name) != 0)
        return say(why, "it is called %s, and its key is that of node %s in %.100s", e->name,
                   peer->name, f->config->farm.keys_file);
    if (f->auth && !peer->key[0] && !strncmp(e->endpoint, "tcp://", 6))
        return say(why, "its endpoint %.100s asks for keys, and it enlisted without one",
                   e->endpoint);
    return true;
}

bool admit(struct farm *f, const struct farm_peer *peer, const Trigd__Farm__V1__Enlist *e,
           char *why)
{
    struct wire_error error;

    if (e->protocol + 1 < MEMBER_PROTOCOL || e->protocol > MEMBER_PROTOCOL + 1 || !e->protocol)
        return say(why,
                   "it speaks protocol %u of farms; this supervisor speaks %u and those "
                   "beside it",
                   e->protocol, MEMBER_PROTOCOL);
    if (wire_check_name(e->name, &error) < 0)
        return say(why, "its name is not 1 to 63 printable ASCII characters without quotes and "
                        "backslashes");
    if (!e->endpoint[0] || strlen(e->endpoint) >= FARM_SENTENCE ||
        (strncmp(e->endpoint, "tcp://", 6) != 0 && strncmp(e->endpoint, "ipc://", 6) != 0))
        return say(why, "its endpoint is %.100s; tcp://ADDRESS:PORT and ipc://FILE are allowed",
                   e->endpoint);
    return has_right_key(f, peer, e, why) && is_near_version(e->version, why) &&
           is_listed(f->config->farm.nodes_file, e->name, why) && admit_menu(f, e->menu_key, why) &&
           has_right_plugins(f, e, why) && is_name_free(f, e, why) && are_endpoints_free(f, e, why);
}
