/* SPDX-License-Identifier: Apache-2.0 */
/* show.h - the tables that the operator can look at, made from statistics and descriptors. */
#ifndef TRIGD_SHOW_H
#define TRIGD_SHOW_H
#include "monitor/table.h"
#include "monitor/view.h"

void show_info(const struct control_view *v, struct table *t);
void show_chains(const struct control_view *v, struct table *t);
void show_steps(const struct control_view *v, struct table *t);
void show_lanes(const struct control_view *v, struct table *t);
void show_workers(const struct control_view *v, struct table *t);
void show_streams(const struct control_view *v, struct table *t);
void show_clients(const struct control_view *v, struct table *t);
void show_latency(const struct control_view *v, struct table *t);
void show_ledger(const struct control_view *v, struct table *t);
void show_devices(const struct control_view *v, struct table *t);
void show_guests(const struct control_view *v, struct table *t);
/* RoIs that ended a worker. */
void show_poison(const struct control_view *v, struct table *t);
void show_conditions(const struct control_view *v, struct table *t);
void show_histograms(const struct control_view *v, struct table *t);
void show_plugins(const struct control_view *v, struct table *t);
/* Parameters, presets, values and collections of one plugin. */
void show_plugin(const struct plugin *p, enum table_format format, FILE *out);
/* Announces one of several tables of an answer: a line, or a member of one JSON object. */
void show_title(const char *name, bool first, enum table_format format, FILE *out);
#endif
