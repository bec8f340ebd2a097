/* SPDX-License-Identifier: Apache-2.0 */
#include "config/config_guests.h"

#include <stdio.h>
#include <string.h>

static void at(char where[64], uint32_t i, const char *key)
{
    snprintf(where, 64, "guests[%u].%s", i, key);
}

/* A name is that of a folder as well. */
static void check_name(struct yamlfile *f, const struct config *c, uint32_t i)
{
    static const char allowed[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-";
    const char *name = c->guests[i].guest;
    char where[64];

    at(where, i, "guest");
    if (name[strspn(name, allowed)])
        yamlfile_problem(f, where, "%s is \"%s\"; letters, digits, _ and - are allowed", where,
                         name);
    for (uint32_t k = 0; k < i; k++)
        if (!strcmp(name, c->guests[k].guest))
            yamlfile_problem(f, where, "guest \"%s\" is listed twice", name);
}

static void check_place(struct yamlfile *f, const struct config *c, uint32_t i)
{
    const struct config_guest *g = &c->guests[i];
    char where[64];

    at(where, i, "backend");
    if (strcmp(g->backend, "cpu") != 0 && strcmp(g->backend, "opencl") != 0 &&
        strcmp(g->backend, "cuda") != 0)
        yamlfile_problem(f, where, "%s is \"%s\"; cpu, opencl and cuda are allowed", where,
                         g->backend);
    for (uint32_t k = 0; k < i; k++)
        if (!strcmp(g->backend, c->guests[k].backend) && g->index == c->guests[k].index)
            yamlfile_problem(f, where, "device %s:%u has a guest already, \"%s\"; one is allowed",
                             g->backend, g->index, c->guests[k].guest);
    at(where, i, "when");
    if (strcmp(g->when, "idle") != 0 && strcmp(g->when, "partition") != 0)
        yamlfile_problem(f, where, "%s is \"%s\"; idle and partition are allowed", where, g->when);
    else if (!strcmp(g->when, "partition") && !strcmp(g->backend, "opencl"))
        yamlfile_problem(f, where,
                         "an OpenCL device cannot be divided; with opencl, idle is allowed");
    at(where, i, "folder");
    if (!g->folder[0])
        yamlfile_problem(f, where, "%s is empty; a folder is wanted", where);
}

void config_check_guests(struct yamlfile *f, const struct config *c)
{
    if (c->n_guests && !strcmp(c->isolation, "thread"))
        yamlfile_problem(f, "guests",
                         "guests run in worker processes; isolation: process is wanted");
    for (uint32_t i = 0; i < c->n_guests; i++) {
        check_name(f, c, i);
        check_place(f, c, i);
    }
}
