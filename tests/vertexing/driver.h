/* SPDX-License-Identifier: Apache-2.0 */
/* driver.h - runs the vertexing plugin on a device as a lane does, for tests and measurements. */
#ifndef VX_DRIVER_H
#define VX_DRIVER_H
#include <stdint.h>

#include "event.h"
#include "parameters.h"
#include "plugin_host.h"

#define DRIVER_SLOTS 3u
#define ANSWER_ROOM  128u /* vertices of one answer: 64 primary and 64 secondary ones */

/* The backends and plugins of the build (TRIGD_BUILD); log lines of level warn and up are printed.
 */
struct vx_host {
    struct trg_host host;
    struct backends *backends;
    struct plugin_host *plugins;
    const struct plugin *plugin; /* vertexing */
};
int vx_host_open(struct vx_host *h);
void vx_host_close(struct vx_host *h);
/* Defaults, a preset unless NULL, then "key", "value", ..., NULL; -EINVAL with a printed reason. */
int vx_configure(const struct vx_host *h, const char *preset, const char *const *settings,
                 struct vx_config *ret_config);

/* What the plugin said of one event. */
struct vx_answer {
    struct trg_result result;
    uint32_t n;                    /* vertices */
    void *column[TRG_COLUMNS_MAX]; /* TRG_VERTICES, room for ANSWER_ROOM each */
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

struct driver;
/* `config` outlives the driver; batches hold up to max_rois events and max_items tracks. */
int driver_open(const struct vx_host *h, struct trg_device *device, const struct vx_config *config,
                uint32_t max_rois, uint32_t max_items, struct driver **ret_driver);
void driver_close(struct driver *d);
/* Runs all events in batches, the slots in turn.  With `answers` NULL only the way there and back
 * is gone. */
int driver_run(struct driver *d, const struct event *events, uint32_t n, struct vx_answer *answers);
#endif
