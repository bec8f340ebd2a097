/* SPDX-License-Identifier: Apache-2.0 */
/* yamlcheck.h - checks a YAML document against a libcyaml schema and reports every problem with its
 * line, its place and the allowed values; libcyaml itself stops at the first and has no places. */
#ifndef TRIGD_YAMLCHECK_H
#define TRIGD_YAMLCHECK_H
#include <cyaml/cyaml.h>
#include <stddef.h>
#include <yaml.h>

typedef void yamlcheck_fn(void *ctx, size_t line, const char *text);

/* Calls `report` once for each problem.  Stricter than libcyaml: a boolean is true or false, a
 * whole number is decimal, a number is finite, a key occurs once. */
void yamlcheck(yaml_document_t *doc, const cyaml_schema_value_t *schema, yamlcheck_fn *report,
               void *ctx);
#endif
