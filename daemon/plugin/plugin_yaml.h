/* SPDX-License-Identifier: Apache-2.0 */
/* plugin_yaml.h - parameters of a plugin in a YAML file: of a step in a menu, of a guest. */
#ifndef TRIGD_PLUGIN_YAML_H
#define TRIGD_PLUGIN_YAML_H
#include "config/yamlfile.h"
#include "plugin/plugin_host.h"

/* Fills a config struct of the plugin: defaults, the preset of the file, then its keys.  Problems
 * are the file's; `label` says whose parameters they are: step "NAME". */
void plugin_read_params(struct yamlfile *f, const char *where, const char *label,
                        const struct plugin *p, void *params);
#endif
