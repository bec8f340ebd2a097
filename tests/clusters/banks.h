/* SPDX-License-Identifier: Apache-2.0 */
/* banks.h - raw banks of RoIs, and the clusters that the plugin makes of them. */
#ifndef CLUSTERS_BANKS_H
#define CLUSTERS_BANKS_H
#include "../../plugins/clusters/parameters.h"
#include "batches.h"

struct banks { /* of one RoI */
    uint32_t n, room;
    uint16_t *sensor;
    uint32_t *word;
};

/* A word of a bank; pixels as in collections/banks.yaml. */
#define BANK_WORD(column, row, pixels) ((uint32_t)(column) << 14 | (uint32_t)(row) << 8 | (pixels))
#define BANK_ALONE                     0x80000000u

/* Appends a super-pixel.  -ENOMEM. */
int banks_add(struct banks *b, uint32_t sensor, uint32_t word);
void banks_free(struct banks *b);
/* Reads a file of LHCb's: docs/replay.md.  Ends the test with a sentence when it cannot. */
void banks_read(const char *path, struct banks *ret_banks);

/* `ret_results` and `found` as in struct batches_work. */
int clusters_run(struct batches *b, const struct banks *banks, uint32_t n,
                 struct trg_result *ret_results, struct products *found);

/* The columns of hits, of[0], and of clusters, of[1]. */
static inline const float *hit_place(const struct products *p, uint32_t axis)
{
    return p->of[0].column[axis];
}
static inline const uint16_t *hit_layer(const struct products *p)
{
    return p->of[0].column[3];
}
static inline const uint32_t *hit_id(const struct products *p)
{
    return p->of[0].column[4];
}
static inline const uint16_t *cluster_size(const struct products *p)
{
    return p->of[1].column[0];
}
static inline const uint16_t *cluster_columns(const struct products *p)
{
    return p->of[1].column[1];
}
static inline const uint16_t *cluster_rows(const struct products *p)
{
    return p->of[1].column[2];
}
static inline const float *cluster_var(const struct products *p, uint32_t k) /* xx, yy, xy */
{
    return p->of[1].column[4 + k];
}
#endif
