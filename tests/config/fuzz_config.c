/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as a configuration and as a menu: taken or refused, never a crash or a leak. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "config/config.h"
#include "log.h"
#include "menu/menu.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static struct plugin_host *open_host(void)
{
    char folder[4096];
    char *paths[] = {folder};
    const char *build = getenv("TRIGD_BUILD");
    struct plugin_host *h = NULL;

    snprintf(folder, sizeof folder, "%s/config-plugins", build ? build : ".");
    if (plugin_host_new(paths, 1, &h) < 0)
        return NULL;
    return h;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    static struct plugin_host *host; /* plugins load once; lives as long as the process */
    struct config *config;
    struct menu *menu;
    char path[64];
    int fd = memfd_create("fuzz", MFD_CLOEXEC);

    log_set_level(TRG_ERROR);
    if (!host)
        host = open_host();
    if (fd < 0 || !host || write(fd, data, n) != (ssize_t)n)
        abort(); /* lint: a fuzz target has no other way to say so */
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    if (config_load(path, &config) == 0)
        config_free(config);
    if (menu_load(path, host, &menu) == 0)
        menu_free(menu);
    close(fd);
    return 0;
}
