/* SPDX-License-Identifier: Apache-2.0 */
#include "config/config_table.h"

#include <stdio.h>

#include "config/config.h"

#define ROW_OF(of, name, kind, ...) {#name, CONFIG_##kind, offsetof(struct of, name), __VA_ARGS__},
#define ROW_IN(of, name, kind, ...) \
    {#of "." #name, CONFIG_##kind, offsetof(struct config, of.name), __VA_ARGS__},
#define SECTION(section, list) list(ROW_IN, section)

const struct config_key config_keys[] = {CONFIG_TOP(ROW_OF, config) CONFIG_SECTIONS(SECTION){0}};
const struct config_key config_batching_keys[] = {CONFIG_BATCHING(ROW_OF, config_batching){0}};
const struct config_key config_device_keys[] = {CONFIG_DEVICE(ROW_OF, config_device){0}};
const struct config_key config_stream_keys[] = {CONFIG_STREAM(ROW_OF, config_stream){0}};
const struct config_key config_guest_keys[] = {CONFIG_GUEST(ROW_OF, config_guest){0}};

static void print_table(const char *prefix, const struct config_key *table)
{
    for (const struct config_key *k = table; k->name; k++) {
        const char *dflt =
            k->type == CONFIG_BOOL ? (k->dflt[0] == '1' ? "true" : "false") : k->dflt;

        printf("| `%s%s` | %s | ", prefix, k->name, dflt[0] ? dflt : "empty");
        if (k->type == CONFIG_U32 || k->type == CONFIG_U16)
            printf("%lu .. %lu", k->min, k->max);
        else
            printf("%s", k->type == CONFIG_BOOL ? "true, false" : "text");
        printf(" | %s |\n", k->help);
    }
}

void config_print_keys(void)
{
    printf("| key | default | allowed | meaning |\n| --- | --- | --- | --- |\n");
    printf("| `endpoints` | tcp://127.0.0.1:5700 | list | to bind: tcp, ipc (ZeroMQ), shm (shared "
           "memory) |\n");
    printf("| `menu` | must be given | text | file of the trigger menu |\n");
    printf(
        "| `plugin_path` | where trigd was built or installed | list | folders with plugins; the "
        "first match wins; `+FOLDER` comes before the default, which stays |\n");
    print_table("", config_keys);
    print_table("batching.", config_batching_keys);
    printf("| `devices[].backend` | cpu | text | `cpu`, `opencl` or `cuda` |\n");
    print_table("devices[].", config_device_keys);
    printf(
        "| `steps[].step` | must be given | text | a step of the menu, for its own settings |\n");
    printf("| `steps[].backends` | all | list | backends it may use |\n");
    printf("| `steps[].batching` | as `batching` | keys as there | its own batching |\n");
    printf("| `streams[].stream` | must be given | text | a stream of the menu, whose RoIs go to "
           "files |\n");
    print_table("streams[].", config_stream_keys);
    printf(
        "| `guests[].guest` | must be given | text | a name, for a plugin that gets slices of work "
        "|\n");
    printf("| `guests[].plugin` | must be given | text | its plugin |\n");
    printf("| `guests[].backend` | must be given | text | `cpu`, `opencl` or `cuda` |\n");
    printf("| `guests[].params` | the plugin's defaults | keys of the plugin | its parameters |\n");
    print_table("guests[].", config_guest_keys);
}
