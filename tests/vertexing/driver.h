/* SPDX-License-Identifier: Apache-2.0 */
/* driver.h - runs events through the vertexing plugin, and what it said of them. */
#ifndef VX_DRIVER_H
#define VX_DRIVER_H
#include "algohost.h"
#include "batches.h"
#include "event.h"
#include "parameters.h"

/* What the plugin said of one event. */
struct vx_answer {
    struct trg_result result;
    uint32_t n, room;              /* vertices */
    void *column[TRG_COLUMNS_MAX]; /* TRG_VERTICES */
};
int vx_answers_new(uint32_t n, struct vx_answer **ret_answers);
void vx_answers_free(struct vx_answer *a, uint32_t n);
static inline float *vx_floats(const struct vx_answer *a, uint32_t column)
{
    return a->column[column];
}
static inline uint32_t vx_type(const struct vx_answer *a, uint32_t i)
{
    return ((const uint32_t *)a->column[12])[i];
}
static inline uint32_t vx_tracks(const struct vx_answer *a, uint32_t i)
{
    return ((const uint32_t *)a->column[11])[i];
}

/* Three slots; `config` outlives the batches, of up to max_rois events and max_items tracks. */
int vx_open(const struct algo_host *h, struct trg_device *device, const struct vx_config *config,
            uint32_t max_rois, uint32_t max_items, struct batches **ret_batches);
/* Runs all events; `answers` are new or of a run before.  With NULL only the way there and back is
 * gone. */
int vx_run(struct batches *b, const struct event *events, uint32_t n, struct vx_answer *answers);
#endif
