/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "replay.h"

static const char *const status_name[] = {"ok",       "truncated", "algo_failed", "timeout",
                                          "shutdown", "too_late",  "skipped"};
#define N_STATUS (sizeof status_name / sizeof *status_name)

static double percent(uint64_t part, uint64_t whole)
{
    return whole ? 100.0 * (double)part / (double)whole : 0;
}

static double quantile_us(const struct latency *l, double q)
{
    double ns = latency_quantile_ns(l, q), most = (double)l->max_ns;

    return (ns < most ? ns : most) *
           1e-3; /* the middle of the last bucket may be past the last one */
}

static void print_outcomes(const struct tally *t, FILE *out)
{
    fprintf(out, "accepted    %llu (%.2f %%)\nrejected    %llu (%.2f %%)\n",
            (unsigned long long)t->accepted, percent(t->accepted, t->decided),
            (unsigned long long)t->rejected, percent(t->rejected, t->decided));
    for (size_t i = 1; i < N_STATUS; i++)
        if (t->status[i])
            fprintf(out, "  %-9s %llu\n", status_name[i], (unsigned long long)t->status[i]);
    if (t->events_sent)
        fprintf(out, "events      %llu: %llu accepted, %llu rejected, %llu failed, %llu lost\n",
                (unsigned long long)t->events_sent, (unsigned long long)t->events_accepted,
                (unsigned long long)t->events_rejected, (unsigned long long)t->events_failed,
                (unsigned long long)t->events_lost);
}

/* Ends other than a decision, and detours. */
static void print_others(const struct replay_result *r, FILE *out)
{
    const struct tally *t = &r->sum;
    const struct {
        const char *name;
        uint64_t n;
        const char *what;
    } rows[] = {{"to nodes", t->to_nodes, "past the supervisor"},
                {"resent", t->resent, "in flight when the daemon went away"},
                {"refused", t->refused, "for good"},
                {"not sent", r->not_sent, "without credits"},
                {"not taken", t->not_taken, "answered Busy to the end"}};

    fprintf(out, "busy        %llu (sent again)\nerrors      %llu%s%s\n",
            (unsigned long long)t->busy, (unsigned long long)t->errors,
            t->first_error[0] ? ", first: " : "", t->first_error);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i].n)
            fprintf(out, "%-11s %llu RoIs, %s\n", rows[i].name, (unsigned long long)rows[i].n,
                    rows[i].what);
    fprintf(out, "lost        %llu\nduplicated  %llu\n", (unsigned long long)t->lost,
            (unsigned long long)(t->duplicates + t->unknown));
}

static void print_latency(const struct replay_options *o, const struct tally *t, FILE *out)
{
    fprintf(
        out, "latency     p50 %.0f us, p90 %.0f us, p99 %.0f us, p99.9 %.0f us, max %.0f us%s\n",
        quantile_us(&t->latency, 0.5), quantile_us(&t->latency, 0.9),
        quantile_us(&t->latency, 0.99), quantile_us(&t->latency, 0.999),
        (double)t->latency.max_ns * 1e-3, strcmp(o->pace, "max") ? "" : " (all credits in flight)");
    if (o->settle_s > 0)
        fprintf(out, "  of the RoIs after the first %g s\n", o->settle_s);
    if (t->added.count)
        fprintf(out, "  outside of the daemon's lanes  p50 %.0f us, p99 %.0f us, p99.9 %.0f us\n",
                quantile_us(&t->added, 0.5), quantile_us(&t->added, 0.99),
                quantile_us(&t->added, 0.999));
    fprintf(out, "  on the way there and back      p50 %.0f us, p99 %.0f us, p99.9 %.0f us\n",
            quantile_us(&t->way, 0.5), quantile_us(&t->way, 0.99), quantile_us(&t->way, 0.999));
}

void report_print(const struct replay_options *o, const struct replay_result *r, FILE *out)
{
    const struct tally *t = &r->sum;
    double s = r->seconds > 0 ? r->seconds : 1;

    fprintf(out, "replay      %s, seed %llu, %.0f items an RoI, pace %s, %u connections\n",
            o->file ? o->file : o->preset, (unsigned long long)o->seed, r->mean_items, o->pace,
            o->connections);
    fprintf(out, "sent        %llu RoIs in %.2f s: %.0f RoIs/s, %.1f MB/s\n",
            (unsigned long long)t->sent, r->seconds, (double)t->sent / s,
            (double)t->bytes_out / s * 1e-6);
    print_outcomes(t, out);
    print_others(r, out);
    if (t->latency.count)
        print_latency(o, t, out);
    for (uint32_t i = 0; i < r->n_chains; i++)
        fprintf(out, "chain       %-24s %llu (%.2f %%)\n", r->chains[i],
                (unsigned long long)t->chain[i], percent(t->chain[i], t->decided));
    for (uint32_t i = 0; i < r->n_streams && i < 64; i++)
        fprintf(out, "stream      %-24s %llu (%.2f %%)\n", r->streams[i],
                (unsigned long long)t->stream[i], percent(t->stream[i], t->decided));
    if (t->with_truth)
        fprintf(out, "physics     hard-scatter vertex within 1 mm: %.2f %% of %llu\n",
                percent(t->within_1mm, t->with_truth), (unsigned long long)t->with_truth);
}

void report_print_open(const struct replay_result *r, FILE *out)
{
    const struct tally *t = &r->sum;
    const char *why = r->was_stopped && t->gone ? "stopped while the daemon was gone: "
                      : r->was_stopped          ? "stopped: "
                      : t->gone                 ? "the daemon went away and did not come back: "
                                                : "";

    fprintf(out,
            "trigreplay: %s%llu RoIs were lost, %llu events, %llu not taken, %llu not sent; "
            "%llu answers came twice or unasked\n",
            why, (unsigned long long)t->lost, (unsigned long long)t->events_lost,
            (unsigned long long)t->not_taken, (unsigned long long)r->not_sent,
            (unsigned long long)(t->duplicates + t->unknown));
}

static void json_string(FILE *out, const char *text)
{
    putc('"', out);
    for (; *text; text++) {
        if (*text == '"' || *text == '\\')
            fprintf(out, "\\%c", *text);
        else if ((unsigned char)*text < 0x20)
            fprintf(out, "\\u%04x", (unsigned)*text);
        else
            putc(*text, out);
    }
    putc('"', out);
}

static void json_names(FILE *out, const char *key, char *const *names, const uint64_t *counts,
                       uint32_t n)
{
    fprintf(out, ",\"%s\":{", key);
    for (uint32_t i = 0; i < n; i++) {
        if (i)
            putc(',', out);
        json_string(out, names[i]);
        fprintf(out, ":%llu", (unsigned long long)counts[i]);
    }
    putc('}', out);
}

void report_json(const struct replay_options *o, const struct replay_result *r, FILE *out)
{
    const struct tally *t = &r->sum;
    const struct {
        const char *name;
        uint64_t value;
    } list[] = {{"sent", t->sent},
                {"decided", t->decided},
                {"accepted", t->accepted},
                {"rejected", t->rejected},
                {"late", t->late},
                {"busy", t->busy},
                {"resent", t->resent},
                {"repeated", t->repeated},
                {"errors", t->errors},
                {"refused", t->refused},
                {"not_taken", t->not_taken},
                {"not_sent", r->not_sent},
                {"lost", t->lost},
                {"duplicates", t->duplicates},
                {"unknown", t->unknown},
                {"events_sent", t->events_sent},
                {"events_accepted", t->events_accepted},
                {"events_rejected", t->events_rejected},
                {"events_failed", t->events_failed},
                {"events_refused", t->events_refused},
                {"events_lost", t->events_lost},
                {"bytes_out", t->bytes_out},
                {"to_nodes", t->to_nodes},
                {"with_truth", t->with_truth},
                {"within_1mm", t->within_1mm}};

    fputs("{\"source\":", out);
    json_string(out, o->file ? o->file : o->preset);
    fputs(",\"pace\":", out);
    json_string(out, o->pace);
    fputs(",\"first_error\":", out);
    json_string(out, t->first_error);
    fprintf(out, ",\"connections\":%u,\"batch\":%u,\"mean_items\":%.2f", o->connections, o->batch,
            r->mean_items);
    fprintf(out, ",\"seconds\":%.6f,\"rois_per_s\":%.1f,\"seed\":%llu,\"settle_s\":%g", r->seconds,
            r->seconds > 0 ? (double)t->decided / r->seconds : 0, (unsigned long long)o->seed,
            o->settle_s);
    for (size_t i = 0; i < sizeof list / sizeof *list; i++)
        fprintf(out, ",\"%s\":%llu", list[i].name, (unsigned long long)list[i].value);
    for (size_t i = 0; i < N_STATUS; i++)
        fprintf(out, ",\"status_%s\":%llu", status_name[i], (unsigned long long)t->status[i]);
    fprintf(out,
            ",\"p50_us\":%.1f,\"p90_us\":%.1f,\"p99_us\":%.1f,\"p999_us\":%.1f,\"max_us\":%.1f",
            quantile_us(&t->latency, 0.5), quantile_us(&t->latency, 0.9),
            quantile_us(&t->latency, 0.99), quantile_us(&t->latency, 0.999),
            (double)t->latency.max_ns * 1e-3);
    fprintf(out, ",\"added_p50_us\":%.1f,\"added_p99_us\":%.1f,\"added_p999_us\":%.1f",
            quantile_us(&t->added, 0.5), quantile_us(&t->added, 0.99),
            quantile_us(&t->added, 0.999));
    fprintf(out, ",\"way_p50_us\":%.1f,\"way_p99_us\":%.1f,\"way_p999_us\":%.1f",
            quantile_us(&t->way, 0.5), quantile_us(&t->way, 0.99), quantile_us(&t->way, 0.999));
    json_names(out, "chains", r->chains, t->chain, r->n_chains);
    json_names(out, "streams", r->streams, t->stream, r->n_streams);
    fputs("}\n", out);
}
