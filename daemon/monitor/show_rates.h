/* SPDX-License-Identifier: Apache-2.0 */
/* show_rates.h - tables of the rates in a window, and of the slowest RoIs. */
#ifndef TRIGD_SHOW_RATES_H
#define TRIGD_SHOW_RATES_H
#include "monitor/table.h"
#include "monitor/view.h"
#include "monitor/windows.h"

#define SHOW_ALL_WINDOWS WINDOWS_N

/* A row for each entry of the kind; with SHOW_ALL_WINDOWS one for each window of each. */
void show_rates(const struct control_view *v, enum windows_kind kind, uint32_t window,
                struct table *t);
/* The slowest RoI of each of the last seconds, of all shards, with the parts of its time. */
void show_slow(const struct control_view *v, struct table *t);
/* The same as trace events, which Perfetto and Chromium show: a row for each RoI, its time in
 * batches and between them. */
void show_slow_trace(const struct control_view *v, FILE *out);
/* Histograms of the windows as JSON; those of several nodes can be added up bucket by bucket. */
void show_latency_buckets(const struct control_view *v, FILE *out);
#endif
