/* SPDX-License-Identifier: Apache-2.0 */
/* source.h - events with truth from the generator and from RoI files; where they hold hits, a
 * plugin that finds tracks runs in front. */
#ifndef VX_SOURCE_H
#define VX_SOURCE_H
#include "driver.h"

/* A plugin from hits to tracks (hough), or from hits and the doublets of the plugin doublets
 * (paths), on one device, an event at a time. */
struct finder;
/* Settings: "key", "value", ..., NULL; NULL for none. */
int finder_open(const struct algo_host *h, const char *plugin, struct trg_device *device,
                const char *const *settings, struct finder **ret_finder);
void finder_close(struct finder *f); /* NULL is fine */

/* Events first .. first + n - 1 of a generator preset (velo with a finder, velo-tracks without).
 * -ENOENT: no such preset; -ENOTSUP: it makes hits and there is no finder. */
int source_generate(const char *preset, uint64_t seed, uint32_t first, uint32_t n, struct finder *f,
                    struct event *ret_events);
/* All events of an RoI file; the caller frees them.  Negative errno, with a printed reason. */
int source_read(const char *path, struct finder *f, struct event **ret_events, uint32_t *ret_n);
void source_free(struct event *events, uint32_t n);
#endif
