/* SPDX-License-Identifier: Apache-2.0 */
/* Inputs, lanes, traces and pictures of trigbench, on the CPU. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "algotest.h"
#include "inputs.h"
#include "lanes.h"
#include "timeline.h"

#define LANES   2u
#define SLOTS   2u
#define BATCH   4u
#define BATCHES 6u

static void *config;
static struct inputs *inputs;

static struct lanes_setup setup_for(struct trace *trace)
{
    return (struct lanes_setup){.host = &host.host,
                                .device = cpu(),
                                .plugin = host.plugin,
                                .params = config,
                                .rois = inputs_rois(inputs),
                                .n_rois = 10,
                                .lanes = LANES,
                                .slots = SLOTS,
                                .batch = BATCH,
                                .trace = trace};
}

/* RoIs of a preset for a plugin, after others have run. */
static int make_inputs(const char *plugin, const char *preset, const char *const *after,
                       uint32_t n_after, struct inputs **ret, char *why, size_t bytes)
{
    struct inputs_setup setup = {.host = &host.host,
                                 .plugins = host.plugins,
                                 .device = cpu(),
                                 .preset = preset,
                                 .seed = 1,
                                 .n_rois = 10,
                                 .after = after,
                                 .n_after = n_after};

    assert_int_equal(plugin_host_get(host.plugins, plugin, &setup.plugin, why, bytes), 0);
    return inputs_open(&setup, ret, why, bytes);
}

static int prepare(void **state)
{
    char why[256];

    (void)state;
    if (algo_host_open(&host, "zfinder") < 0)
        return -1;
    config = calloc(1, host.plugin->d.config_size);
    assert_non_null(config);
    configure(config, "pure", NULL);
    return make_inputs("zfinder", "lowlum", NULL, 0, &inputs, why, sizeof why);
}

static int clean(void **state)
{
    inputs_close(inputs);
    free(config);
    return close_host(state);
}

static void rates_are_measured(void **state)
{
    struct lanes_setup s = setup_for(NULL);
    struct lanes_rate rate;
    struct lanes *l;

    (void)state;
    for (s.copies = LANES_GATHER; s.copies <= LANES_DEVICE; s.copies++) {
        assert_int_equal(lanes_open(&s, &l), 0);
        assert_int_equal(lanes_run(l, 0.01, &rate), 0);
        assert_true(rate.rois_per_s > 0 && rate.bytes_per_s > 1000 * rate.rois_per_s);
        assert_true(rate.batch_us > 0);
        lanes_close(l);
    }
}

static void too_many_slots_are_refused(void **state)
{
    struct lanes_setup s = setup_for(NULL);
    struct lanes *l;

    (void)state;
    s.slots = TRG_SLOTS_MAX + 1;
    assert_int_equal(lanes_open(&s, &l), -EINVAL);
}

static void missing_inputs_are_refused(void **state)
{
    static const char *const after[] = {"doublets"};
    struct inputs *in;
    char why[256];

    (void)state;
    assert_true(make_inputs("zfinder", "no such preset", NULL, 0, &in, why, sizeof why) < 0);
    assert_non_null(strstr(why, "no such preset"));
    assert_int_equal(make_inputs("zfinder", "pixel", NULL, 0, &in, why, sizeof why), -EINVAL);
    assert_non_null(strstr(why, "spacepoints"));
    assert_int_equal(make_inputs("paths", "pixel", NULL, 0, &in, why, sizeof why), -EINVAL);
    assert_non_null(strstr(why, "doublets"));
    assert_int_equal(make_inputs("paths", "lowlum", after, 1, &in, why, sizeof why), -EINVAL);
    assert_non_null(strstr(why, "hits"));
}

/* A plugin with two inputs, of which another plugin makes one, runs on its lanes. */
static void products_of_other_plugins_are_inputs(void **state)
{
    static const char *const after[] = {"doublets"};
    const struct plugin *paths;
    struct lanes_setup s = setup_for(NULL);
    struct lanes_rate rate;
    struct inputs *in;
    struct lanes *l;
    uint32_t doublets = 0;
    char why[256];
    void *params;

    (void)state;
    assert_int_equal(plugin_host_get(host.plugins, "paths", &paths, why, sizeof why), 0);
    params = calloc(1, paths->d.config_size);
    assert_non_null(params);
    plugin_defaults(paths, params);
    assert_int_equal(make_inputs("paths", "pixel", after, 1, &in, why, sizeof why), 0);
    for (uint32_t i = 0; i < 10; i++)
        for (uint32_t k = 0; k < paths->n_inputs; k++)
            if (paths->consumes[k] == TRG_DOUBLETS)
                doublets += inputs_rois(in)[i].input[k].n;
    assert_true(doublets > 100);
    s.plugin = paths;
    s.params = params;
    s.rois = inputs_rois(in);
    assert_int_equal(lanes_open(&s, &l), 0);
    assert_int_equal(lanes_run(l, 0.01, &rate), 0);
    assert_true(rate.rois_per_s > 0 && rate.bytes_per_s > 1000 * rate.rois_per_s);
    lanes_close(l);
    inputs_close(in);
    free(params);
}

/* Spans of one queue follow each other; every batch is there with all that it enqueued, so many
 * copies of results among it. */
static void check_spans(const struct trace_span *span, uint32_t n, uint32_t copies)
{
    double reached[LANES * SLOTS] = {0};
    uint32_t sorts = 0, peaks = 0, copies_out = 0, submits = 0;

    for (uint32_t i = 0; i < n; i++) {
        assert_true(span[i].to_us >= span[i].from_us);
        submits += span[i].kind == TRACE_HOST && !strcmp(span[i].name, "submit");
        if (span[i].kind == TRACE_HOST)
            continue;
        assert_true(span[i].row < LANES * SLOTS);
        assert_true(span[i].from_us >= reached[span[i].row]);
        reached[span[i].row] = span[i].to_us;
        sorts += span[i].kind == TRACE_KERNEL && !strcmp(span[i].name, "zf_sort");
        peaks += span[i].kind == TRACE_KERNEL && !strcmp(span[i].name, "zf_peaks");
        copies_out += span[i].kind == TRACE_COPY_OUT && span[i].bytes > 0;
    }
    assert_int_equal(sorts, LANES * BATCHES);
    assert_int_equal(peaks, LANES * BATCHES);
    assert_int_equal(copies_out, copies);
    assert_int_equal(submits, LANES * BATCHES);
}

static char *drawn(int (*draw)(const struct timeline *, FILE *), const struct timeline *t)
{
    char *text = NULL;
    size_t bytes;
    FILE *f = open_memstream(&text, &bytes);

    assert_non_null(f);
    assert_int_equal(draw(t, f), 0);
    fclose(f);
    return text;
}

static uint32_t count_of(const char *text, const char *what)
{
    uint32_t n = 0;

    while ((text = strstr(text, what)) != NULL) {
        n++;
        text++;
    }
    return n;
}

static void trace_queues(const void *params, uint32_t copies)
{
    const void *ops = ((struct trg_object *)(void *)cpu())->ops;
    struct timeline t = {.title = "test", .queues_a_lane = SLOTS};
    struct lanes_setup s;
    struct trace *trace, *second;
    struct lanes *l;
    uint32_t left_out;
    char *text;

    assert_int_equal(trace_open(cpu(), &trace), 0);
    assert_int_equal(trace_open(cpu(), &second), -EBUSY);
    s = setup_for(trace);
    s.params = params;
    assert_int_equal(lanes_open(&s, &l), 0);
    assert_int_equal(lanes_run_batches(l, 3), 0); /* not kept */
    assert_int_equal(trace_begin(trace, 1000), 0);
    assert_int_equal(lanes_run_batches(l, BATCHES), 0);
    assert_int_equal(trace_end(trace, &t.spans, &t.n, &left_out), 0);
    assert_int_equal(left_out, 0);
    check_spans(t.spans, t.n, copies);
    text = drawn(timeline_json, &t);
    assert_int_equal(count_of(text, "\"ph\":\"X\""), t.n);
    free(text);
    text = drawn(timeline_svg, &t);
    assert_int_equal(count_of(text, "<title>"), t.n);
    assert_int_equal(count_of(text, ">lane "), LANES * (SLOTS + 1));
    free(text);
    lanes_close(l);
    trace_close(trace);
    assert_ptr_equal(((struct trg_object *)(void *)cpu())->ops, ops);
}

/* The z-finder's results stay in pinned memory, but for those of the original's way. */
static void queues_are_traced(void **state)
{
    void *original = calloc(1, host.plugin->d.config_size);

    (void)state;
    assert_non_null(original);
    configure(original, "pure", (const char *const[]){"as_original", "true", NULL});
    trace_queues(original, LANES * BATCHES);
    trace_queues(config, 0);
    free(original);
}

static void a_full_trace_says_so(void **state)
{
    const struct trace_span *spans;
    struct lanes_setup s;
    struct trace *trace;
    struct lanes *l;
    uint32_t n, left_out;

    (void)state;
    assert_int_equal(trace_open(cpu(), &trace), 0);
    s = setup_for(trace);
    assert_int_equal(lanes_open(&s, &l), 0);
    assert_int_equal(trace_begin(trace, 5), 0);
    assert_int_equal(lanes_run_batches(l, 2), 0);
    assert_int_equal(trace_end(trace, &spans, &n, &left_out), 0);
    assert_int_equal(n, 5);
    assert_true(left_out > 5);
    lanes_close(l);
    trace_close(trace);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rates_are_measured),
        cmocka_unit_test(too_many_slots_are_refused),
        cmocka_unit_test(missing_inputs_are_refused),
        cmocka_unit_test(products_of_other_plugins_are_inputs),
        cmocka_unit_test(queues_are_traced),
        cmocka_unit_test(a_full_trace_says_so),
    };

    return cmocka_run_group_tests(tests, prepare, clean);
}
