/* SPDX-License-Identifier: Apache-2.0 */
#include "banks.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

int banks_add(struct banks *b, uint32_t sensor, uint32_t word)
{
    if (b->n == b->room) {
        const uint32_t room = b->room ? 2 * b->room : 1024;
        uint16_t *sensors = realloc(b->sensor, room * sizeof *sensors);
        uint32_t *words;

        if (!sensors)
            return -ENOMEM;
        b->sensor = sensors;
        words = realloc(b->word, room * sizeof *words);
        if (!words)
            return -ENOMEM;
        b->word = words;
        b->room = room;
    }
    b->sensor[b->n] = (uint16_t)sensor;
    b->word[b->n++] = word;
    return 0;
}

void banks_free(struct banks *b)
{
    free(b->sensor);
    free(b->word);
    *b = (struct banks){0};
}

static uint32_t take(FILE *f, const char *path)
{
    uint32_t word;

    if (fread(&word, sizeof word, 1, f) != 1) {
        fprintf(stderr, "%s: the file is too short\n", path);
        exit(1);
    }
    return word;
}

void banks_read(const char *path, struct banks *ret_banks)
{
    FILE *f = fopen(path, "rb");
    struct banks b = {0};
    uint32_t n;

    if (!f) {
        perror(path);
        exit(1);
    }
    n = take(f, path);
    for (uint32_t i = 0; i <= n; i++) /* where each bank begins: they lie in their order */
        take(f, path);
    for (uint32_t i = 0; i < n; i++) {
        const uint32_t sensor = take(f, path), words = take(f, path);

        for (uint32_t k = 0; k < words; k++)
            if (banks_add(&b, sensor, take(f, path)) < 0)
                exit(1);
    }
    fclose(f);
    *ret_banks = b;
}

static void input(const void *rois, uint32_t i, struct stage_source *ret_sources,
                  struct trg_roi_info *ret_info)
{
    const struct banks *b = (const struct banks *)rois + i;

    ret_sources[0] = (struct stage_source){.n = b->n, .column = {b->sensor, b->word}};
    *ret_info = (struct trg_roi_info){.run = 1, .l1id = i};
}

int clusters_run(struct batches *b, const struct banks *banks, uint32_t n,
                 struct trg_result *ret_results, struct products *found)
{
    return batches_run(
        b, &(struct batches_work){
               .n = n, .input = input, .rois = banks, .results = ret_results, .products = found});
}
