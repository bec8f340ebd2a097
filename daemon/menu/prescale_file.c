/* SPDX-License-Identifier: Apache-2.0 */
#include "menu/prescale_file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/yamlfile.h"

#define CHAINS_MAX 4096u

struct file { /* its keys are chains: they are read from the document */
    char *name;
};
static const cyaml_schema_field_t file_fields[] = {
    CYAML_FIELD_STRING_PTR("name", CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL, struct file, name, 1,
                           63),
    CYAML_FIELD_IGNORE("prescales", CYAML_FLAG_DEFAULT), CYAML_FIELD_END};
static const cyaml_schema_value_t file_schema = {
    CYAML_VALUE_MAPPING(CYAML_FLAG_POINTER, struct file, file_fields)};

static void read_pair(struct yamlfile *f, const char *chain, const char *value,
                      struct change *ret_change)
{
    char where[128], *end = NULL;
    const double v = value ? strtod(value, &end) : -1;

    snprintf(where, sizeof where, "prescales.%.100s", chain);
    if (strlen(chain) >= CHANGE_NAME)
        yamlfile_problem(f, where, "a chain has a name of 1 to %d characters", CHANGE_NAME - 1);
    else if (!value || end == value || *end || !prescale_is_allowed(v))
        yamlfile_problem(f, where,
                         "the prescale of %s is \"%s\"; 0 (off) or a number >= 1 is allowed", chain,
                         value ? value : "no number");
    ret_change->what = CHANGE_PRESCALE;
    snprintf(ret_change->name, sizeof ret_change->name, "%.63s", chain);
    ret_change->prescale = v;
}

int prescales_read(const char *path, struct change **ret_list, uint32_t *ret_n)
{
    struct change *list = calloc(CHAINS_MAX, sizeof *list);
    const char *chain, *value;
    struct yamlfile *f;
    uint32_t n = 0;
    void *data;
    int r = list ? yamlfile_load(path, &file_schema, &data, &f) : -ENOMEM;

    if (r < 0) {
        free(list);
        return r;
    }
    while (n < CHAINS_MAX && yamlfile_pair(f, "prescales", n, &chain, &value))
        read_pair(f, chain, value, &list[n++]);
    if (n == CHAINS_MAX)
        yamlfile_problem(f, "prescales", "at most %u chains are allowed", CHAINS_MAX - 1);
    if (yamlfile_problems(f))
        r = -EINVAL;
    cyaml_free(&yamlfile_cyaml, &file_schema, data, 0);
    yamlfile_free(f);
    if (r < 0) {
        free(list);
        return r;
    }
    *ret_list = list;
    *ret_n = n;
    return 0;
}
