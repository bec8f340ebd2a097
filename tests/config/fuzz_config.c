/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as a configuration and as a menu: taken or refused, never a crash or a leak. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "config/config.h"
#include "log.h"
#include "memfile.h"
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
    struct memfile f = memfile_new(data, n);

    log_set_level(TRG_ERROR);
    if (!host)
        host = open_host();
    WANT(host);
    if (config_load(f.path, &config) == 0)
        config_free(config);
    if (menu_load(f.path, host, &menu) == 0)
        menu_free(menu);
    memfile_close(&f);
    return 0;
}
