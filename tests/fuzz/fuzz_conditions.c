/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as a file of conditions and as one of prescales: a refusal names its first problem; a
 * condition that was taken has the same key when it is printed, as `dump conditions` does, and read
 * again. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "conditions/condition_file.h"
#include "config/yamlfile.h"
#include "log.h"
#include "memfile.h"
#include "menu/prescale_file.h"
#include "tables.collections.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static const struct condition_need needs[] = {{"scale", &trg_scales, false},
                                              {"dead", &trg_dead_channels, true},
                                              {"voxel_models", &trg_voxel_models, true}};
#define NEEDS 3u

static char *print(const struct condition_list *list, size_t *ret_n)
{
    char *text = NULL;
    FILE *out = open_memstream(&text, ret_n);

    WANT(out);
    fputs("conditions:\n", out);
    for (uint32_t i = 0; i < list->n; i++)
        condition_print(list->of[i], out);
    WANT(fclose(out) == 0);
    return text;
}

static void take(struct condition_list *list)
{
    struct condition_list again;
    struct trg_span span;
    struct memfile f;
    size_t n;
    char *text = print(list, &n);

    f = memfile_new(text, n);
    WANT(conditions_read(f.path, needs, NEEDS, &again) == 0 && again.n == list->n);
    for (uint32_t i = 0; i < list->n; i++) {
        const struct condition *c = list->of[i];
        unsigned char *room = malloc(condition_bytes(c->table, c->n) + 64);

        WANT(room && again.of[i]->key == c->key && again.of[i]->n == c->n);
        WANT(condition_lay_out(c, room, &span) <= condition_bytes(c->table, c->n));
        free(room);
    }
    conditions_release(&again);
    memfile_close(&f);
    free(text);
}

static void read_prescales(const char *path)
{
    struct change *list = NULL;
    uint32_t n = 0;

    if (prescales_read(path, &list, &n) < 0)
        return;
    for (uint32_t i = 0; i < n; i++)
        WANT(list[i].name[0] && isfinite(list[i].prescale) && list[i].prescale >= 0);
    free(list);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct memfile f = memfile_new(data, n);
    struct condition_list list;

    log_set_level(TRG_ERROR);
    if (conditions_read(f.path, needs, NEEDS, &list) == 0) {
        if (list.n)
            take(&list);
        conditions_release(&list);
    } else {
        WANT(yamlfile_why()[0]);
    }
    read_prescales(f.path);
    memfile_close(&f);
    return 0;
}
