/* SPDX-License-Identifier: Apache-2.0 */
/* menu_build.h - a menu on its way from file to memory: shared by menu.c, menu_steps.c,
 * menu_cut.c, menu_regions.c, menu_expected.c and menu_histograms.c. */
#ifndef TRIGD_MENU_BUILD_H
#define TRIGD_MENU_BUILD_H
#include "config/yamlfile.h"
#include "menu/menu.h"
#include "menu/menu_file.h"

#define WHERE_BYTES 128
#define WHY_BYTES   512

struct builder {
    struct yamlfile *f;
    const struct menu_file *file;
    struct menu *m;
    struct plugin_host *host;
};

/* Names stand in log fields, metrics and commands: letters, digits and _ - . : only. */
void menu_check_name(struct builder *b, const char *where, const char *name);

/* The step's number, or -1. */
int32_t menu_find_step(const struct menu *m, const char *name);
/* The number of a value that the plugin reports; -1 (noted): it reports none of that name. */
int32_t menu_find_value(struct builder *b, const struct plugin *p, const char *where,
                        const char *name);
/* Makes a cut on a value of a step. */
void menu_build_cut(struct builder *b, const struct menu_step *s, const struct menu_file_cut *fc,
                    const char *where, struct menu_cut *cut);
/* The regions of a chain; problems are noted.  -ENOMEM. */
int menu_build_regions(struct builder *b, struct menu_chain *c, uint32_t chain);
/* The band in which a chain's rate is expected; problems are noted. */
void menu_build_expected(struct builder *b, struct menu_chain *c, uint32_t chain);
/* Makes the histograms; after steps and chains.  -ENOMEM. */
int menu_build_histograms(struct builder *b);
/* Makes step `number` of the file the next one of the menu.  -EINVAL when its plugin cannot be
 * loaded, -ENOMEM; other problems are noted in the file. */
int menu_build_step(struct builder *b, uint32_t number);
/* Notes which products are read by steps with batches of their own, or kept by streams. */
void menu_mark_wanted(struct menu *m);
#endif
