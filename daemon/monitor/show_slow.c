/* SPDX-License-Identifier: Apache-2.0 */
/* show_slow.c - the slowest RoIs: as a table, and as trace events. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "json.h"
#include "monitor/show_rates.h"
#include "trigd.pb-c.h"

static double us(uint64_t from_ns, uint64_t to_ns)
{
    return to_ns > from_ns ? (double)(to_ns - from_ns) * 1e-3 : 0;
}

/* A copy of what a shard has, oldest first; the caller frees it.  NULL: none, or no memory. */
static struct slow_roi *copy_slow(const struct stats *shard, uint32_t *ret_n)
{
    struct slow *slow = (struct slow *)(uintptr_t)&shard->slow;
    struct slow_roi *list = calloc(SLOW_ROIS, sizeof *list);

    *ret_n = 0;
    if (!list)
        return NULL;
    pthread_mutex_lock(&slow->lock);
    for (uint32_t k = slow->n > SLOW_ROIS ? slow->n - SLOW_ROIS : 0; k < slow->n; k++)
        list[(*ret_n)++] = slow->roi[k % SLOW_ROIS];
    pthread_mutex_unlock(&slow->lock);
    return list;
}

static const char *status_of(const struct slow_roi *r)
{
    const ProtobufCEnumValue *value =
        protobuf_c_enum_descriptor_get_value(&trigd__v1__status__descriptor, r->status);

    return value ? value->name : "?";
}

/* ---------------------------------------------------------------- the table */

static void slow_row(struct table *t, uint32_t shard, const struct slow_roi *r)
{
    double wait = 0, begin = 0, lane = 0, back = 0;
    uint64_t at = r->received_ns;

    for (uint32_t i = 0; i < r->n_spans; i++) {
        const struct slow_span *s = &r->span[i];

        wait += us(at, s->closed_ns);
        begin += us(s->closed_ns, s->begun_ns);
        lane += us(s->begun_ns, s->ended_ns);
        back += us(s->ended_ns, s->taken_ns);
        at = s->taken_ns > at ? s->taken_ns : at; /* batches of two steps may overlap */
    }
    table_cell(t, "%.1f", us(r->decided_ns, clock_ns()) * 1e-6);
    table_cell(t, "%u", shard);
    table_cell(t, "%u", r->run);
    table_cell(t, "%u", r->lumi_block);
    table_cell(t, "%u", r->l1id);
    table_cell(t, "%u", r->roi_id);
    table_cell(t, "%s", r->client);
    table_cell(t, "%s", status_of(r));
    table_cell(t, "%u", r->n_spans + r->n_left_out);
    table_cell(t, "%.1f", us(r->received_ns, r->decided_ns));
    table_cell(t, "%.1f", wait);
    table_cell(t, "%.1f", begin);
    table_cell(t, "%.1f", lane);
    table_cell(t, "%.1f", back);
    table_cell(t, "%.1f", us(at, r->decided_ns));
}

void show_slow(const struct control_view *v, struct table *t)
{
    static const struct {
        const char *name;
        bool is_number;
    } column[] = {{"ago_s", true},   {"shard", true},    {"run", true},      {"lumi_block", true},
                  {"l1id", true},    {"roi", true},      {"client", false},  {"status", false},
                  {"batches", true}, {"total_us", true}, {"queue_us", true}, {"begin_us", true},
                  {"lane_us", true}, {"back_us", true},  {"end_us", true}};

    for (size_t i = 0; i < sizeof column / sizeof *column; i++)
        table_column(t, column[i].name, column[i].is_number);
    for (uint32_t shard = 0; shard < v->shards->n; shard++) {
        uint32_t n;
        struct slow_roi *list = copy_slow(v->shards->of[shard], &n);

        for (uint32_t i = n; list && i--;)
            slow_row(t, shard, &list[i]);
        free(list);
    }
}

/* ---------------------------------------------------------------- trace events */

struct row { /* of the trace */
    FILE *out;
    uint32_t shard, number;
    bool is_first;
};

/* An event of a duration; `args` is JSON. */
static void event(struct row *row, const char *name, const char *what, uint64_t from, uint64_t to,
                  const char *args)
{
    fprintf(row->out, "%s\n{\"name\": ", row->is_first ? "" : ",");
    json_string(name, row->out);
    fprintf(row->out,
            ", \"cat\": \"%s\", \"ph\": \"X\", \"pid\": %u, \"tid\": %u, \"ts\": %.3f, "
            "\"dur\": %.3f, \"args\": {%s}}",
            what, row->shard + 1, row->number, (double)from * 1e-3, us(from, to), args);
    row->is_first = false;
}

static void name_row(struct row *row, const struct slow_roi *r)
{
    fprintf(row->out,
            "%s\n{\"name\": \"thread_name\", \"ph\": \"M\", \"pid\": %u, \"tid\": %u, \"args\": "
            "{\"name\": \"RoI %u of run %u l1id %u\"}}",
            row->is_first ? "" : ",", row->shard + 1, row->number, r->roi_id, r->run, r->l1id);
    row->is_first = false;
}

static void span_events(struct row *row, const struct slow_span *s, uint64_t waits_since)
{
    char args[160];

    snprintf(args, sizeof args, "\"rois\": %u, \"error\": %d", s->rois, s->error);
    if (s->closed_ns > waits_since)
        event(row, "queue", "wait", waits_since, s->closed_ns, "");
    if (s->begun_ns > s->closed_ns)
        event(row, "begin", "wait", s->closed_ns, s->begun_ns, "");
    event(row, s->lane, "lane", s->begun_ns, s->ended_ns, args);
    event(row, "back", "wait", s->ended_ns, s->taken_ns, "");
}

static void roi_events(struct row *row, const struct slow_roi *r)
{
    uint64_t at = r->received_ns;
    char name[64], args[160];

    name_row(row, r);
    snprintf(name, sizeof name, "RoI %u", r->roi_id);
    snprintf(args, sizeof args,
             "\"run\": %u, \"lumi_block\": %u, \"l1id\": %u, \"status\": \"%s\", \"accepted\": %s, "
             "\"batches\": %u",
             r->run, r->lumi_block, r->l1id, status_of(r), r->is_accepted ? "true" : "false",
             r->n_spans + r->n_left_out);
    event(row, name, "roi", r->received_ns, r->decided_ns, args);
    for (uint32_t i = 0; i < r->n_spans; i++) {
        span_events(row, &r->span[i], at);
        at = r->span[i].taken_ns > at ? r->span[i].taken_ns : at;
    }
}

void show_slow_trace(const struct control_view *v, FILE *out)
{
    struct row row = {.out = out, .is_first = true};

    fputs("{\"displayTimeUnit\": \"ms\", \"traceEvents\": [", out);
    for (row.shard = 0; row.shard < v->shards->n; row.shard++) {
        uint32_t n;
        struct slow_roi *list = copy_slow(v->shards->of[row.shard], &n);

        for (uint32_t i = 0; list && i < n; i++) {
            row.number = i + 1;
            roi_events(&row, &list[i]);
        }
        free(list);
    }
    fputs("\n]}\n", out);
}
