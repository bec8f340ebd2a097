/* SPDX-License-Identifier: Apache-2.0 */
/* config.h - the daemon's settings (YAML, checked against a schema with libcyaml). */
#ifndef TRIGD_CONFIG_H
#define TRIGD_CONFIG_H
#include "config/config_keys.h"

struct config_batching {
    CONFIG_BATCHING(CONFIG_MEMBER, )
};

struct config_device {
    char *backend; /* "cpu", "opencl", "cuda" */
    CONFIG_DEVICE(CONFIG_MEMBER, )
};

struct config_step { /* overrides for one step of the menu */
    char *step;
    char **backends; /* subset of the backends in `devices`; n_backends 0 = all */
    uint32_t n_backends;
    struct config_batching *batching; /* NULL: the default */
};

struct config_stream {
    char *stream; /* of the menu */
    CONFIG_STREAM(CONFIG_MEMBER, )
};

struct config_guest {
    char *guest; /* its name */
    char *plugin;
    char *backend;
    CONFIG_GUEST(CONFIG_MEMBER, )
};

struct yamlfile;
struct config {
    struct yamlfile *file; /* for parameters of guests, which their plugins know */
    char **endpoints;      /* to bind: tcp:// and ipc:// (ZeroMQ), shm:// (shared memory) */
    uint32_t n_endpoints;
    char *menu;         /* file of the trigger menu; relative to the config file */
    char **plugin_path; /* folders with plugins; first match wins */
    uint32_t n_plugin_path;
    struct config_batching batching;
    struct config_device *devices;
    uint32_t n_devices;
    struct config_step *steps;
    uint32_t n_steps;
    struct config_stream *streams;
    uint32_t n_streams;
    struct config_guest *guests;
    uint32_t n_guests;
    CONFIG_TOP(CONFIG_MEMBER, )
#define CONFIG_SECTION(section, list) \
    struct {                          \
        list(CONFIG_MEMBER, )         \
    } section;
    CONFIG_SECTIONS(CONFIG_SECTION)
#undef CONFIG_SECTION
};

/* Reads, checks and completes a file; paths come out absolute (relative ones are taken from the
 * file's own folder).  0, or -EINVAL with every problem found logged as file, line, key, what is
 * allowed. */
int config_load(const char *path, struct config **ret_config);
void config_free(struct config *c); /* NULL is fine */
/* The overrides for a step of the menu; NULL: none. */
const struct config_step *config_find_step(const struct config *c, const char *name);
#endif
