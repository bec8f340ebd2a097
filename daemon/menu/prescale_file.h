/* SPDX-License-Identifier: Apache-2.0 */
/* prescale_file.h - prescales from a YAML file. */
#ifndef TRIGD_PRESCALE_FILE_H
#define TRIGD_PRESCALE_FILE_H
#include "menu/change_book.h"

/* Reads a file with prescales.  0 and a list that the caller frees; -EINVAL with every problem
 * logged, and the first one in yamlfile_why(); -errno. */
int prescales_read(const char *path, struct change **ret_list, uint32_t *ret_n);
#endif
