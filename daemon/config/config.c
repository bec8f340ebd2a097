/* SPDX-License-Identifier: Apache-2.0 */
#include "config/config.h"

#include <errno.h>
#include <limits.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/beside.h"
#include "config/config_guests.h"
#include "config/config_shard.h"
#include "config/config_table.h"
#include "config/weights.h"
#include "config/yamlfile.h"
#include "log.h"
#include "trigd/event.h"

#define WHERE_BYTES 128
#define GUESTS_MAX  16
#define STREAMS_MAX 63 /* as a menu has them, without that of failed RoIs */

/* ---------------------------------------------------------------- the schema */

#define OPT                  CYAML_FLAG_OPTIONAL
#define FIELD_U32(of, name)  CYAML_FIELD_UINT(#name, OPT, of, name)
#define FIELD_U16(of, name)  CYAML_FIELD_UINT(#name, OPT, of, name)
#define FIELD_BOOL(of, name) CYAML_FIELD_BOOL(#name, OPT, of, name)
#define FIELD_STRING(of, name) \
    CYAML_FIELD_STRING_PTR(#name, CYAML_FLAG_POINTER | OPT, of, name, 0, CYAML_UNLIMITED)
#define FIELD_PATH(of, name)       FIELD_STRING(of, name)
#define FIELD(of, name, kind, ...) FIELD_##kind(of, name),
#define STRUCT_OF(member)          __typeof__(((struct config *)0)->member)
#define SECTION_FIELDS(section, list)                                                       \
    static const cyaml_schema_field_t section##_fields[] = {list(FIELD, STRUCT_OF(section)) \
                                                                CYAML_FIELD_END};
#define SECTION(section, list) \
    CYAML_FIELD_MAPPING(#section, OPT, struct config, section, section##_fields),

static const cyaml_schema_value_t string = {
    CYAML_VALUE_STRING(CYAML_FLAG_POINTER, char, 0, CYAML_UNLIMITED)};

static const cyaml_schema_field_t batching_fields[] = {
    CONFIG_BATCHING(FIELD, struct config_batching) CYAML_FIELD_END};

static const cyaml_schema_field_t device_fields[] = {
    CYAML_FIELD_STRING_PTR("backend", CYAML_FLAG_POINTER, struct config_device, backend, 1, 15),
    CONFIG_DEVICE(FIELD, struct config_device) CYAML_FIELD_END};
static const cyaml_schema_value_t device = {
    CYAML_VALUE_MAPPING(CYAML_FLAG_DEFAULT, struct config_device, device_fields)};

static const cyaml_schema_field_t step_fields[] = {
    CYAML_FIELD_STRING_PTR("step", CYAML_FLAG_POINTER, struct config_step, step, 1, 63),
    CYAML_FIELD_SEQUENCE_COUNT("backends", CYAML_FLAG_POINTER | OPT, struct config_step, backends,
                               n_backends, &string, 0, CYAML_UNLIMITED),
    CYAML_FIELD_MAPPING_PTR("batching", CYAML_FLAG_POINTER | OPT, struct config_step, batching,
                            batching_fields),
    CYAML_FIELD_END};
static const cyaml_schema_value_t step = {
    CYAML_VALUE_MAPPING(CYAML_FLAG_DEFAULT, struct config_step, step_fields)};

static const cyaml_schema_field_t stream_fields[] = {
    CYAML_FIELD_STRING_PTR("stream", CYAML_FLAG_POINTER, struct config_stream, stream, 1, 63),
    CONFIG_STREAM(FIELD, struct config_stream) CYAML_FIELD_END};
static const cyaml_schema_value_t stream = {
    CYAML_VALUE_MAPPING(CYAML_FLAG_DEFAULT, struct config_stream, stream_fields)};

static const cyaml_schema_field_t guest_fields[] = {
    CYAML_FIELD_STRING_PTR("guest", CYAML_FLAG_POINTER, struct config_guest, guest, 1, 63),
    CYAML_FIELD_STRING_PTR("plugin", CYAML_FLAG_POINTER, struct config_guest, plugin, 1, 63),
    CYAML_FIELD_STRING_PTR("backend", CYAML_FLAG_POINTER, struct config_guest, backend, 1, 15),
    CYAML_FIELD_IGNORE("params", OPT), /* read from the document: their keys are the plugin's */
    CONFIG_GUEST(FIELD, struct config_guest) CYAML_FIELD_END};
static const cyaml_schema_value_t guest = {
    CYAML_VALUE_MAPPING(CYAML_FLAG_DEFAULT, struct config_guest, guest_fields)};

CONFIG_SECTIONS(SECTION_FIELDS)

static const cyaml_schema_field_t fields[] = {
    CYAML_FIELD_SEQUENCE_COUNT("endpoints", CYAML_FLAG_POINTER | OPT, struct config, endpoints,
                               n_endpoints, &string, 1, CYAML_UNLIMITED),
    CYAML_FIELD_STRING_PTR("menu", CYAML_FLAG_POINTER, struct config, menu, 1, CYAML_UNLIMITED),
    CYAML_FIELD_SEQUENCE_COUNT("plugin_path", CYAML_FLAG_POINTER | OPT, struct config, plugin_path,
                               n_plugin_path, &string, 1, CYAML_UNLIMITED),
    CYAML_FIELD_MAPPING("batching", OPT, struct config, batching, batching_fields),
    CYAML_FIELD_SEQUENCE_COUNT("devices", CYAML_FLAG_POINTER | OPT, struct config, devices,
                               n_devices, &device, 1, CYAML_UNLIMITED),
    CYAML_FIELD_SEQUENCE_COUNT("steps", CYAML_FLAG_POINTER | OPT, struct config, steps, n_steps,
                               &step, 0, CYAML_UNLIMITED),
    CYAML_FIELD_SEQUENCE_COUNT("streams", CYAML_FLAG_POINTER | OPT, struct config, streams,
                               n_streams, &stream, 0, STREAMS_MAX),
    CYAML_FIELD_SEQUENCE_COUNT("guests", CYAML_FLAG_POINTER | OPT, struct config, guests, n_guests,
                               &guest, 0, GUESTS_MAX),
    CONFIG_TOP(FIELD, struct config) CONFIG_SECTIONS(SECTION) CYAML_FIELD_END};
static const cyaml_schema_value_t schema = {
    CYAML_VALUE_MAPPING(CYAML_FLAG_POINTER, struct config, fields)};

/* ---------------------------------------------------------------- defaults and ranges */

static int set_default(const struct config_key *k, void *at)
{
    unsigned long n = strtoul(k->dflt, NULL, 10);

    switch (k->type) {
    case CONFIG_U32:
        *(uint32_t *)at = (uint32_t)n;
        break;
    case CONFIG_U16:
        *(uint16_t *)at = (uint16_t)n;
        break;
    case CONFIG_BOOL:
        *(bool *)at = n != 0;
        break;
    case CONFIG_STRING:
    case CONFIG_PATH:
        *(char **)at = strdup(k->dflt);
        return *(char **)at ? 0 : -ENOMEM;
    }
    return 0;
}

static void check_range(struct yamlfile *f, const struct config_key *k, const void *at,
                        const char *where)
{
    unsigned long n = k->type == CONFIG_U32   ? *(const uint32_t *)at
                      : k->type == CONFIG_U16 ? *(const uint16_t *)at
                                              : k->min;

    if (n < k->min || n > k->max)
        yamlfile_problem(f, where, "%s is %lu; %lu to %lu are allowed", where, n, k->min, k->max);
}

/* Walks a table over one struct, which stands at `prefix` in the file. */
static int complete(struct yamlfile *f, const struct config_key *table, void *base,
                    const char *prefix)
{
    int r = 0;

    for (const struct config_key *k = table; k->name; k++) {
        char where[WHERE_BYTES];
        void *at = (char *)base + k->offset;

        snprintf(where, sizeof where, "%s%s", prefix, k->name);
        if (!yamlfile_has(f, where))
            r = r < 0 ? r : set_default(k, at);
        else
            check_range(f, k, at, where);
    }
    return r;
}

/* A step's own batching: what it does not say is as for all steps. */
static void complete_batching(struct yamlfile *f, const struct config *c, uint32_t i)
{
    struct config_batching all = c->batching, *own = c->steps[i].batching;

    for (const struct config_key *k = config_batching_keys; k->name; k++) {
        char where[WHERE_BYTES];
        void *at = (char *)own + k->offset;

        snprintf(where, sizeof where, "steps[%u].batching.%s", i, k->name);
        if (!yamlfile_has(f, where))
            memcpy(at, (char *)&all + k->offset,
                   k->type == CONFIG_BOOL ? sizeof(bool) : sizeof(uint32_t));
        else
            check_range(f, k, at, where);
    }
}

static int add_string(char ***list, uint32_t *n, const char *text)
{
    char **more = realloc(*list, (*n + 1) * sizeof *more);

    if (!more)
        return -ENOMEM;
    *list = more;
    more[*n] = strdup(text);
    if (!more[*n])
        return -ENOMEM;
    ++*n;
    return 0;
}

/* Takes the + from the folders that are added to those of trigd; whether there is one. */
static bool take_plus(char **list, uint32_t n)
{
    bool adds = false;

    for (uint32_t i = 0; i < n; i++)
        if (list[i][0] == '+') {
            memmove(list[i], list[i] + 1, strlen(list[i]));
            adds = true;
        }
    return adds;
}

static int complete_lists(struct config *c)
{
    const bool adds = take_plus(c->plugin_path, c->n_plugin_path);
    char path[PATH_MAX];
    int r = 0;

    if (!c->n_endpoints)
        r = add_string(&c->endpoints, &c->n_endpoints, "tcp://127.0.0.1:5700");
    if (r == 0 && (adds || !c->n_plugin_path)) {
        beside_program("plugins", path, sizeof path);
        r = add_string(&c->plugin_path, &c->n_plugin_path, path);
    }
    if (r == 0 && !c->backend_path[0]) {
        beside_program("backends", path, sizeof path);
        free(c->backend_path);
        c->backend_path = strdup(path);
        if (!c->backend_path)
            return -ENOMEM;
    }
    if (r < 0 || c->n_devices)
        return r;
    c->devices = calloc(1, sizeof *c->devices);
    if (!c->devices)
        return -ENOMEM;
    c->n_devices = 1;
    c->devices[0] = (struct config_device){.backend = strdup("cpu"), .slots = 2};
    return c->devices[0].backend ? 0 : -ENOMEM;
}

/* ---------------------------------------------------------------- checks of words and several keys
 */

static bool is_backend(const char *word)
{
    return !strcmp(word, "cpu") || !strcmp(word, "opencl") || !strcmp(word, "cuda");
}

static void check_endpoints(struct yamlfile *f, const struct config *c)
{
    for (uint32_t i = 0; i < c->n_endpoints; i++) {
        const char *e = c->endpoints[i];
        char where[WHERE_BYTES];

        snprintf(where, sizeof where, "endpoints[%u]", i);
        if ((strncmp(e, "tcp://", 6) != 0 && strncmp(e, "ipc://", 6) != 0 &&
             strncmp(e, "shm://", 6) != 0) ||
            !e[6])
            yamlfile_problem(f, where,
                             "%s is \"%s\"; tcp://ADDRESS:PORT, ipc://FILE and shm://FILE are "
                             "allowed",
                             where, e);
        for (uint32_t k = 0; k < i; k++)
            if (!strcmp(e, c->endpoints[k]))
                yamlfile_problem(f, where, "endpoint \"%s\" is listed twice", e);
    }
}

static bool is_loopback(const char *endpoint)
{
    return !strncmp(endpoint, "tcp://127.", 10) || !strncmp(endpoint, "tcp://localhost:", 16) ||
           !strncmp(endpoint, "tcp://[::1]:", 12);
}

/* Keys between the nodes of a farm and its supervisors. */
static void check_farm_keys(struct yamlfile *f, const struct config *c)
{
    const char *e = c->supervisor.endpoints;

    if (c->farm.keys_file[0] && !c->security.key_file[0])
        yamlfile_problem(f, "farm.keys_file",
                         "farm.keys_file is given and security.key_file is not: the supervisor "
                         "has no keys of its own");
    if (c->supervisor.key_file[0] && !c->security.key_file[0])
        yamlfile_problem(f, "supervisor.key_file",
                         "supervisor.key_file is given and security.key_file is not: the node has "
                         "no keys of its own");
    if (c->security.allow_plain_tcp)
        return;
    if (!c->farm.keys_file[0] && !strncmp(c->farm.endpoint, "tcp://", 6) &&
        !is_loopback(c->farm.endpoint))
        yamlfile_problem(f, "farm.endpoint",
                         "\"%s\" is open to the network without keys; farm.keys_file and "
                         "security.key_file are wanted, or security.allow_plain_tcp: true",
                         c->farm.endpoint);
    for (e = strstr(e, "tcp://"); e && !c->supervisor.key_file[0]; e = strstr(e + 1, "tcp://"))
        if (!is_loopback(e)) {
            yamlfile_problem(f, "supervisor.endpoints",
                             "\"%s\" is reached over the network without keys; "
                             "supervisor.key_file and security.key_file are wanted, or "
                             "security.allow_plain_tcp: true",
                             c->supervisor.endpoints);
            return;
        }
}

/* Nobody opens the farm's network to everybody by a short endpoint. */
static void check_security(struct yamlfile *f, const struct config *c)
{
    if (c->security.key_file[0] && !c->security.clients_file[0])
        yamlfile_problem(f, "security.key_file",
                         "security.key_file is given and security.clients_file is not: nobody "
                         "could connect");
    check_farm_keys(f, c);
    if (c->security.key_file[0] || c->security.allow_plain_tcp)
        return;
    for (uint32_t i = 0; i < c->n_endpoints; i++) {
        char where[WHERE_BYTES];

        snprintf(where, sizeof where, "endpoints[%u]", i);
        if (!strncmp(c->endpoints[i], "tcp://", 6) && !is_loopback(c->endpoints[i]))
            yamlfile_problem(f, where,
                             "\"%s\" is open to the network without keys; security.key_file and "
                             "security.clients_file are wanted, or security.allow_plain_tcp: true",
                             c->endpoints[i]);
    }
}

static bool has_backend(const struct config *c, const char *backend)
{
    for (uint32_t i = 0; i < c->n_devices; i++)
        if (!strcmp(c->devices[i].backend, backend))
            return true;
    return false;
}

/* That a step of that name exists is known only with the menu. */
static void check_steps(struct yamlfile *f, const struct config *c)
{
    for (uint32_t i = 0; i < c->n_steps; i++) {
        char where[WHERE_BYTES];

        snprintf(where, sizeof where, "steps[%u].step", i);
        for (uint32_t k = 0; k < i; k++)
            if (!strcmp(c->steps[i].step, c->steps[k].step))
                yamlfile_problem(f, where, "step \"%s\" is listed twice", c->steps[i].step);
        for (uint32_t k = 0; k < c->steps[i].n_backends; k++) {
            snprintf(where, sizeof where, "steps[%u].backends[%u]", i, k);
            if (!has_backend(c, c->steps[i].backends[k]))
                yamlfile_problem(f, where,
                                 "step \"%s\" wants the backend \"%s\", which none of "
                                 "`devices` has",
                                 c->steps[i].step, c->steps[i].backends[k]);
        }
    }
}

/* That a stream of that name exists is known only with the menu. */
static void check_streams(struct yamlfile *f, const struct config *c)
{
    for (uint32_t i = 0; i < c->n_streams; i++) {
        const struct config_stream *s = &c->streams[i];
        char where[WHERE_BYTES];

        snprintf(where, sizeof where, "streams[%u].stream", i);
        if (!strcmp(s->stream, "debug"))
            yamlfile_problem(f, where,
                             "the files of the stream \"debug\" are those of debug_stream");
        for (uint32_t k = 0; k < i; k++)
            if (!strcmp(s->stream, c->streams[k].stream))
                yamlfile_problem(f, where, "stream \"%s\" is listed twice", s->stream);
        snprintf(where, sizeof where, "streams[%u].folder", i);
        if (!s->folder[0])
            yamlfile_problem(f, where, "%s is empty; a folder is wanted", where);
        snprintf(where, sizeof where, "streams[%u].when_full", i);
        if (strcmp(s->when_full, "drop") != 0 && strcmp(s->when_full, "stop") != 0)
            yamlfile_problem(f, where, "%s is \"%s\"; drop and stop are allowed", where,
                             s->when_full);
    }
}

static void check_devices(struct yamlfile *f, const struct config *c)
{
    for (uint32_t i = 0; i < c->n_devices; i++) {
        char where[WHERE_BYTES];

        snprintf(where, sizeof where, "devices[%u].backend", i);
        if (!is_backend(c->devices[i].backend))
            yamlfile_problem(f, where, "%s is \"%s\"; cpu, opencl and cuda are allowed", where,
                             c->devices[i].backend);
        snprintf(where, sizeof where, "devices[%u].lanes", i);
        if (!c->devices[i].lanes && strcmp(c->devices[i].backend, "cpu") != 0)
            yamlfile_problem(f, where,
                             "lanes 0 means one for each core and is for cpu only; "
                             "%s wants 1 to 512",
                             c->devices[i].backend);
        for (uint32_t k = 0; k < i; k++)
            if (!strcmp(c->devices[i].backend, c->devices[k].backend) &&
                (c->devices[i].index == c->devices[k].index || c->devices[i].all ||
                 c->devices[k].all))
                yamlfile_problem(f, where, "device %s:%u is listed twice; give it more lanes",
                                 c->devices[i].backend, c->devices[i].index);
    }
}

static void check_relations(struct yamlfile *f, const struct config *c)
{
    uint64_t largest = config_largest(c);

    if (c->limits.hard_ms && c->limits.soft_ms > c->limits.hard_ms)
        yamlfile_problem(f, "limits.soft_ms",
                         "limits.soft_ms is %u and limits.hard_ms %u; the "
                         "soft limit is not above the hard one",
                         c->limits.soft_ms, c->limits.hard_ms);
    if (c->pool.mbytes & (c->pool.mbytes - 1))
        yamlfile_problem(f, "pool.mbytes", "pool.mbytes is %u; a power of two is wanted",
                         c->pool.mbytes);
    if (c->threads.shards > 1 && !config_shard_fits(c, c->threads.shards))
        yamlfile_problem(
            f, "threads.shards",
            "threads.shards is %u: in that part of pool.mbytes (%u) and pool.rois (%u) "
            "the largest RoI, of clients.max_items (%u), does not fit twice",
            c->threads.shards, c->pool.mbytes, c->pool.rois, c->clients.max_items);
    if (largest > (uint64_t)c->pool.mbytes << 19)
        yamlfile_problem(f, "clients.max_items",
                         "clients.max_items is %u: one such RoI needs more "
                         "than half of pool.mbytes (%u)",
                         c->clients.max_items, c->pool.mbytes);
    if (!weights_are_good(c->clients.weights))
        yamlfile_problem(f, "clients.weights",
                         "clients.weights is \"%s\"; NAME=WEIGHT, ... with weights of 1 to %u is "
                         "allowed",
                         c->clients.weights, WEIGHTS_MOST);
    if (log_level_parse(c->log.level, &(enum trg_level){TRG_INFO}) < 0)
        yamlfile_problem(f, "log.level",
                         "log.level is \"%s\"; error, warn, info and debug are "
                         "allowed",
                         c->log.level);
    if (log_format_parse(c->log.format, &(enum log_format){LOG_LOGFMT}) < 0)
        yamlfile_problem(f, "log.format",
                         "log.format is \"%s\"; logfmt, json and journald are allowed",
                         c->log.format);
    if (strcmp(c->threads.pin, "auto") != 0 && strcmp(c->threads.pin, "none") != 0)
        yamlfile_problem(f, "threads.pin", "threads.pin is \"%s\"; auto and none are allowed",
                         c->threads.pin);
    if (strcmp(c->control.gpus, "auto") != 0 && strcmp(c->control.gpus, "on") != 0 &&
        strcmp(c->control.gpus, "off") != 0)
        yamlfile_problem(f, "control.gpus", "control.gpus is \"%s\"; auto, on and off are allowed",
                         c->control.gpus);
    if (strcmp(c->isolation, "process") != 0 && strcmp(c->isolation, "thread") != 0)
        yamlfile_problem(f, "isolation", "isolation is \"%s\"; process and thread are allowed",
                         c->isolation);
    check_endpoints(f, c);
    check_security(f, c);
    check_devices(f, c);
    check_steps(f, c);
    check_streams(f, c);
    config_check_guests(f, c);
}

/* ---------------------------------------------------------------- paths */

static int make_absolute(char **path, const char *folder)
{
    char *joined = NULL;

    if (!(*path)[0] || (*path)[0] == '/')
        return 0;
    if (asprintf(&joined, "%s/%s", folder, *path) < 0)
        return -ENOMEM;
    free(*path);
    *path = joined;
    return 0;
}

static int make_paths_absolute(struct config *c, const char *file)
{
    char folder[PATH_MAX], *slash;
    int r;

    if (!realpath(file, folder))
        return -errno;
    slash = strrchr(folder, '/');
    *slash = '\0';
    r = make_absolute(&c->menu, folder);
    for (const struct config_key *k = config_keys; r == 0 && k->name; k++)
        if (k->type == CONFIG_PATH)
            r = make_absolute((char **)((char *)c + k->offset), folder);
    for (uint32_t i = 0; r == 0 && i < c->n_plugin_path; i++)
        r = make_absolute(&c->plugin_path[i], folder);
    for (uint32_t i = 0; r == 0 && i < c->n_streams; i++)
        r = make_absolute(&c->streams[i].folder, folder);
    for (uint32_t i = 0; r == 0 && i < c->n_guests; i++)
        r = make_absolute(&c->guests[i].folder, folder);
    return r;
}

static int complete_all(struct yamlfile *f, struct config *c, const char *path)
{
    char prefix[WHERE_BYTES];
    int r;

    r = complete(f, config_keys, c, "");
    if (r == 0)
        r = complete(f, config_batching_keys, &c->batching, "batching.");
    for (uint32_t i = 0; r == 0 && i < c->n_devices; i++) {
        snprintf(prefix, sizeof prefix, "devices[%u].", i);
        r = complete(f, config_device_keys, &c->devices[i], prefix);
    }
    for (uint32_t i = 0; r == 0 && i < c->n_streams; i++) {
        snprintf(prefix, sizeof prefix, "streams[%u].", i);
        r = complete(f, config_stream_keys, &c->streams[i], prefix);
    }
    for (uint32_t i = 0; r == 0 && i < c->n_guests; i++) {
        snprintf(prefix, sizeof prefix, "guests[%u].", i);
        r = complete(f, config_guest_keys, &c->guests[i], prefix);
    }
    if (r < 0)
        return r;
    for (uint32_t i = 0; i < c->n_steps; i++)
        if (c->steps[i].batching)
            complete_batching(f, c, i);
    r = complete_lists(c);
    if (r < 0)
        return r;
    check_relations(f, c);
    if (yamlfile_problems(f))
        return -EINVAL;
    return make_paths_absolute(c, path);
}

/* Problems of the file were logged where they were found. */
static void say_error(const char *path, int error)
{
    if (error != -EINVAL)
        log_error("config", "cannot read a configuration", "file=\"%s\" error=\"%s\"", path,
                  strerror(-error));
}

int config_load(const char *path, struct config **ret_config)
{
    struct yamlfile *f;
    struct config *c;
    void *data;
    int r = yamlfile_load(path, &schema, &data, &f);

    if (r < 0) {
        if (r == -ENOMEM)
            say_error(path, r);
        return r;
    }
    c = data;
    c->file = f;
    r = complete_all(f, c, path);
    if (r < 0) {
        say_error(path, r);
        config_free(c);
        return r;
    }
    *ret_config = c;
    return 0;
}

void config_free(struct config *c)
{
    if (!c)
        return;
    yamlfile_free(c->file);
    cyaml_free(&yamlfile_cyaml, &schema, c, 0);
}

const struct config_step *config_find_step(const struct config *c, const char *name)
{
    for (uint32_t i = 0; i < c->n_steps; i++)
        if (!strcmp(c->steps[i].step, name))
            return &c->steps[i];
    return NULL;
}
