/* SPDX-License-Identifier: Apache-2.0 */
/* config_table.h - the keys of config_keys.h as tables that the loader, `trigd --keys` and the test
 * of the documentation walk. */
#ifndef TRIGD_CONFIG_TABLE_H
#define TRIGD_CONFIG_TABLE_H
#include <stddef.h>

enum config_type { CONFIG_U32, CONFIG_U16, CONFIG_BOOL, CONFIG_STRING, CONFIG_PATH };

struct config_key { /* tables end with a NULL name */
    const char *name;
    enum config_type type;
    size_t offset;
    const char *dflt;
    unsigned long min, max; /* numbers: allowed range */
    const char *help;
};

extern const struct config_key config_keys[];          /* of struct config */
extern const struct config_key config_batching_keys[]; /* of struct config_batching */
extern const struct config_key config_device_keys[];   /* of struct config_device */
extern const struct config_key config_stream_keys[];   /* of struct config_stream */
extern const struct config_key config_guest_keys[];    /* of struct config_guest */
/* Prints all keys as a Markdown table. */
void config_print_keys(void);
#endif
