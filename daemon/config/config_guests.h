/* SPDX-License-Identifier: Apache-2.0 */
/* config_guests.h - the guests of a configuration, as far as they can be judged without plugins. */
#ifndef TRIGD_CONFIG_GUESTS_H
#define TRIGD_CONFIG_GUESTS_H
#include "config/config.h"
#include "config/yamlfile.h"

/* Problems are the file's. */
void config_check_guests(struct yamlfile *f, const struct config *c);
#endif
