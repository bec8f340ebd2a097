/* SPDX-License-Identifier: Apache-2.0 */
/* yamlfile.h - a YAML file twice over: as structs by a libcyaml schema, and as a document that
 * knows the line of every key, for error messages and for mappings with free keys. */
#ifndef TRIGD_YAMLFILE_H
#define TRIGD_YAMLFILE_H
#include <cyaml/cyaml.h>
#include <stdbool.h>
#include <stdint.h>

struct yamlfile;
/* Reads a file.  *ret_data is freed with cyaml_free.  -EINVAL with the problem logged: file, line,
 * what is allowed; -errno when it cannot be read. */
int yamlfile_load(const char *path, const cyaml_schema_value_t *schema, void **ret_data,
                  struct yamlfile **ret_file);
void yamlfile_free(struct yamlfile *f);     /* NULL is fine */
extern const cyaml_config_t yamlfile_cyaml; /* to free with */

/* Where something stands: "pool.rois", "devices[1].slots". */
bool yamlfile_has(const struct yamlfile *f, const char *where);
/* Its text if it is a scalar, else NULL. */
const char *yamlfile_scalar(const struct yamlfile *f, const char *where);
/* The i-th key of a mapping and its scalar value (NULL for other values); false past the end. */
bool yamlfile_pair(const struct yamlfile *f, const char *where, uint32_t i, const char **ret_key,
                   const char **ret_value);
/* Entries of a list; -1: it is none. */
int64_t yamlfile_count(const struct yamlfile *f, const char *where);
/* Logs one problem with the file and the line of `where` (or of the nearest thing around it). */
void yamlfile_problem(struct yamlfile *f, const char *where, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
uint32_t yamlfile_problems(const struct yamlfile *f);
/* The first problem of the last file that this thread has read: "FILE:LINE: TEXT". */
const char *yamlfile_why(void);
#endif
