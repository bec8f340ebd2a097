/* SPDX-License-Identifier: Apache-2.0 */
/* Menus: what a good one becomes, what is said of wrong ones, and the prescale. */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "capture.h"
#include "menu/prescales.h"
#include "seed.h"

static struct plugin_host *host;

static int setup(void **state)
{
    char folder[4096];
    char *paths[] = {folder};
    const char *build = getenv("TRIGD_BUILD");

    (void)state;
    if (!build)
        fail_msg("TRIGD_BUILD is not set: run this through ctest");
    snprintf(folder, sizeof folder, "%s/config-plugins", build);
    return plugin_host_new(paths, 1, &host);
}

static int teardown(void **state)
{
    (void)state;
    plugin_host_free(host);
    return 0;
}

static const char whole[] = "name: test\n"
                            "streams: [physics, express]\n"
                            "l1_items: [{name: L1_MU, bit: 0}, {name: L1_JET, bit: 3}]\n"
                            "steps:\n"
                            "  - {name: a, plugin: good, params: {n: 5, preset: big, r_mm: 2.5}}\n"
                            "  - {name: m, plugin: maker}\n"
                            "  - {name: e, plugin: eater, inputs: [m]}\n"
                            "chains:\n"
                            "  - name: first\n"
                            "    id: 7\n"
                            "    seeds: [L1_JET, 31]\n"
                            "    steps:\n"
                            "      - step: a\n"
                            "        cuts: [{value: z_mm, absolute: true, max: 150}]\n"
                            "      - step: e\n"
                            "    prescale: 2.5\n"
                            "    expected: {of: run, min: 0.25}\n"
                            "    streams: [express]\n"
                            "  - {name: second, id: 8, steps: [{step: a}], prescale: 0,\n"
                            "     pass_through: true, streams: [physics, express]}\n";

/* A menu that must be good. */
static struct menu *load(const char *path)
{
    struct menu *m = NULL;
    const char *log;
    int r;

    capture_start(2);
    r = menu_load(path, host, &m);
    log = capture_end();
    if (r < 0)
        fail_msg("refused: %s", log);
    return m;
}

/* A collection that two plugins declare, and trigd does not. */
static void a_declared_collection_feeds_a_step(void **state)
{
    const char *path = capture_file("menu.yaml", "name: test\n"
                                                 "streams: [physics]\n"
                                                 "steps:\n"
                                                 "  - {name: t, plugin: towers}\n"
                                                 "  - {name: j, plugin: jets, inputs: [t]}\n"
                                                 "chains:\n"
                                                 "  - {name: c, id: 1, steps: [{step: j}], "
                                                 "streams: [physics]}\n");
    uint32_t n_in[TRG_INPUTS_MAX] = {7}, n_out[TRG_OUTPUTS_MAX];
    struct menu *m = load(path);

    (void)state;
    assert_int_equal(m->steps[1].input[0], 0);
    assert_int_equal(m->steps[0].plugin->produces[0], m->steps[1].plugin->consumes[0]);
    assert_true(m->steps[0].plugin->produces[0] >= TRG_KIND_COUNT);
    assert_string_equal(kind_info(m->steps[0].plugin->produces[0])->name, "towers");
    room_items(&m->steps[0].room, n_in, n_out);
    assert_int_equal(n_out[0], 100); /* as declared */
    menu_free(m);
}

static void a_good_menu_is_understood(void **state)
{
    struct menu *m = load(capture_file("menu.yaml", whole));
    const struct menu_chain *c;
    char text[32];

    (void)state;
    assert_string_equal(m->name, "test");
    assert_true(m->n_steps == 3 && m->n_chains == 2 && m->n_streams == 3);
    assert_string_equal(m->streams[m->debug_stream].name, "debug");
    assert_true(m->streams[m->debug_stream].is_debug);
    plugin_get(m->steps[0].plugin, 1, m->steps[0].params, text, sizeof text);
    assert_string_equal(text, "5"); /* a key beats the preset, wherever it stands */
    plugin_get(m->steps[0].plugin, 3, m->steps[0].params, text, sizeof text);
    assert_string_equal(text, "two");
    assert_int_equal(m->steps[0].input[0], -1);
    assert_int_equal(m->steps[2].input[0], 1);
    c = &m->chains[0];
    assert_true(c->id == 7 && c->l1_mask == (1u << 3 | 1u << 31) && c->n_steps == 2);
    assert_true(c->steps[0].n_cuts == 1 && c->steps[0].cuts[0].value == 1);
    assert_true(c->steps[0].cuts[0].absolute && c->steps[0].cuts[0].max == 150.0f);
    assert_true(isinf(c->steps[0].cuts[0].min) && c->steps[0].cuts[0].min < 0);
    assert_true(c->expected.of == MENU_OF_RUN && c->expected.min == 0.25);
    assert_true(isinf(c->expected.max) && c->expected.max > 0);
    assert_true(c[1].expected.of == MENU_OF_NOTHING);
    assert_true(c->prescale == 2.5 && !c->pass_through && c->streams == 2);
    c = &m->chains[1];
    assert_true(c->l1_mask == 0 && c->prescale == 0 && c->pass_through && c->streams == 3);
    menu_free(m);
    menu_free(NULL);
}

/* Two products of one step; a step that takes them on the device runs in its batches. */
static void steps_on_the_device_form_a_group(void **state)
{
    const char *path =
        capture_file("menu.yaml", "streams: [physics]\n"
                                  "steps:\n"
                                  "  - {name: r, plugin: relay}\n"
                                  "  - {name: t, plugin: taker, inputs: [r], on_device: true}\n"
                                  "  - {name: u, plugin: taker, inputs: [r]}\n"
                                  "chains:\n"
                                  "  - {name: c, id: 1, steps: [{step: t}, {step: u}],\n"
                                  "     streams: [physics]}\n");
    struct menu *m = load(path);

    (void)state;
    for (uint32_t i = 1; i < 3; i++) {
        assert_true(m->steps[i].input[0] == 0 && m->steps[i].product[0] == 1); /* tracks */
        assert_true(m->steps[i].input[1] == 0 && m->steps[i].product[1] == 0); /* doublets */
    }
    assert_true(m->steps[0].head == 0 && m->steps[1].head == 0 && m->steps[2].head == 2);
    assert_true(m->steps[0].members == 3 && m->steps[1].members == 0 && m->steps[2].members == 4);
    assert_true(m->steps[0].wanted == 3 && !m->steps[1].wanted); /* by u */
    menu_free(m);
}

/* A menu in three parts, of which each row breaks one; lines count from the top of the file. */
#define TOP   "name: t\nstreams: [physics]\n"
#define STEP  "steps:\n  - {name: a, plugin: good}\n"
#define CHAIN "chains:\n  - {name: c, id: 1, steps: [{step: a}], streams: [physics]}\n"

static const struct {
    const char *text;
    unsigned line;
    const char *says;
} broken[] = {
    {TOP STEP, 1, "\\\"chains\\\" is missing"},
    {TOP STEP "chains: []\n", 5, "chains has 0 entries"},
    {TOP "keep: [{stream: express}]\n" STEP CHAIN, 3,
     "keep[0].stream is \\\"express\\\", which is none of `streams`"},
    {TOP "keep: [{stream: debug}]\n" STEP CHAIN, 3, "which is none of `streams`"},
    {TOP "keep: [{stream: physics}, {stream: physics}]\n" STEP CHAIN, 3, "is listed twice"},
    {TOP "keep: [{stream: physics, products: [b]}]\n" STEP CHAIN, 3,
     "stream \\\"physics\\\": there is no step \\\"b\\\""},
    {TOP "chain: 1\n" STEP CHAIN, 3, "did you mean \\\"chains\\\"?"},
    {TOP "steps:\n  - {name: a, plugin: good, parms: {}}\n" CHAIN, 4,
     "did you mean \\\"params\\\"?"},
    {TOP "steps:\n  - {name: a}\n" CHAIN, 4, "\\\"plugin\\\" is missing in steps[0]"},
    {TOP "steps:\n  - {name: a, plugin: nosuch}\n" CHAIN, 4, "there is no plugin 'nosuch'"},
    {TOP "steps:\n  - {name: a, plugin: wrong_abi}\n" CHAIN, 4, "plugin ABI 77"},
    {TOP "steps:\n  - {name: \"a b\", plugin: good}\n" CHAIN, 4, "steps[0].name is \\\"a b\\\""},
    {TOP STEP "  - {name: a, plugin: good}\n" CHAIN, 5, "step \\\"a\\\" is listed twice"},
    {TOP STEP "  - {name: b, plugin: good}\n" CHAIN, 5, "no chain uses step \\\"b\\\""},
    {TOP "steps:\n  - name: a\n    plugin: good\n    params:\n      n: 65\n" CHAIN, 7,
     "'n' is '65'; allowed: a whole number from 1 to 64"},
    {TOP "steps:\n  - name: a\n    plugin: good\n    params:\n      r_m: 65\n" CHAIN, 7,
     "did you mean 'r_mm'?"},
    {TOP "steps:\n  - name: a\n    plugin: good\n    params: {preset: huge}\n" CHAIN, 6,
     "no preset 'huge'; it has: big"},
    {TOP "steps:\n  - name: a\n    plugin: good\n    params: {flag: false, n: 40}\n" CHAIN, 6,
     "n above 32 needs flag: true"},
    {TOP "steps:\n  - name: a\n    plugin: good\n    params: {n: 4, n: 5}\n" CHAIN, 6,
     "the key \\\"n\\\" stands twice in steps[0].params"},
    {TOP "steps:\n  - name: a\n    plugin: good\n    params: {n: [4]}\n" CHAIN, 6,
     "n: one value is wanted"},
    {TOP "steps:\n  - name: a\n    plugin: good\n    params: {\"[x\": 4}\n" CHAIN, 6,
     "has no parameter '[x'"},
    {TOP "steps:\n  - name: a\n    plugin: good\n    params: {\"a.b[\": 4}\n" CHAIN, 6,
     "has no parameter 'a.b['"},
    {TOP "steps:\n  - name: a\n    plugin: good\n    params: {preset: [big]}\n" CHAIN, 6,
     "preset: one value is wanted"},
    {TOP "steps:\n  - name: a\n    plugin: good\n    params: [n, 4]\n" CHAIN, 6,
     "steps[0].params is not a mapping"},
    {TOP "roi_types: [{name: x, number: 64}]\n" STEP CHAIN, 3,
     "roi_types[0].number is 64; 0 to 63 are allowed"},
    {TOP "roi_types: [{name: x, number: 1}, {name: x, number: 2}]\n" STEP CHAIN, 3,
     "RoI type \\\"x\\\" is listed twice"},
    {TOP "roi_types: [{name: x, number: 1}, {name: y, number: 1}]\n" STEP CHAIN, 3,
     "RoI types \\\"x\\\" and \\\"y\\\" have the same number 1"},
    {TOP
     "roi_types: [{name: x, number: 1}]\n" STEP
     "chains:\n  - {name: c, id: 1, types: [x, 63, z], steps: [{step: a}], streams: [physics]}\n",
     7, "type \\\"z\\\" is neither one of roi_types nor a number from 0 to 63"},
    {TOP STEP
     "chains:\n  - {name: c, id: 1, types: [64], steps: [{step: a}], streams: [physics]}\n",
     6, "type \\\"64\\\" is neither"},
    {TOP STEP "chains:\n  - {name: c, id: 1, regions: [{}], steps: [{step: a}], "
              "streams: [physics]}\n",
     6, "chain \\\"c\\\": the region has limits neither in eta nor phi"},
    {TOP STEP "chains:\n  - {name: c, id: 1, regions: [{eta_min: 2, eta_max: 1}],\n"
              "     steps: [{step: a}], streams: [physics]}\n",
     6, "the region is empty: eta_min is 2 and eta_max 1"},
    {TOP STEP "chains:\n  - {name: c, id: 1, regions: [{eta_min: 0}, {phi_min_rad: 1}],\n"
              "     steps: [{step: a}], streams: [physics]}\n",
     6, "the region has phi_min_rad and no phi_max_rad"},
    {TOP STEP "chains:\n  - {name: c, id: 1, regions: [{phi_min_rad: 3, phi_max_rad: 3.4}],\n"
              "     steps: [{step: a}], streams: [physics]}\n",
     6, "phi_max_rad of the region is 3.4; -pi to pi is allowed (a region across pi"},
    {TOP STEP "chains:\n  - {name: c, id: 1, regions: [{phi_min_rad: 1, phi_max_rad: 1}],\n"
              "     steps: [{step: a}], streams: [physics]}\n",
     6, "the region is empty: both ends in phi are 1"},
    {TOP "steps:\n  - {name: a, plugin: eater}\n" CHAIN, 4,
     "consumes doublets, which no RoI holds and none of its inputs makes"},
    {TOP "steps:\n  - {name: t, plugin: towers}\n  - {name: a, plugin: jets}\n" CHAIN, 5,
     "step \\\"a\\\" would read towers from the RoI, and step \\\"t\\\" makes them: name it among"},
    {TOP "steps:\n  - {name: t, plugin: other_towers}\n"
         "  - {name: a, plugin: jets, inputs: [t]}\n" CHAIN,
     5, "plugin jets declares towers otherwise than plugin other_towers of step \\\"t\\\" does"},
    {TOP "steps:\n  - {name: a, plugin: guest}\n" CHAIN, 4,
     "plugin guest is a guest: it gets slices of work, and no RoIs"},
    {TOP "steps:\n  - {name: a, plugin: eater, inputs: [m]}\n  - {name: m, plugin: maker}\n" CHAIN,
     4, "no step \\\"m\\\" above step \\\"a\\\""},
    {TOP "steps:\n  - {name: m, plugin: good}\n  - {name: a, plugin: good, inputs: [m]}\n" CHAIN, 5,
     "step \\\"a\\\" does not consume what \\\"m\\\" makes"},
    {TOP "steps:\n  - {name: a, plugin: eater, inputs: [a]}\n" CHAIN, 4,
     "no step \\\"a\\\" above step \\\"a\\\""},
    {TOP "steps:\n  - {name: m, plugin: maker}\n"
         "  - {name: a, plugin: eater, inputs: [m], on_device: true}\n" CHAIN,
     5, "plugin eater reads it on the host"},
    {TOP "steps:\n  - {name: m, plugin: maker}\n"
         "  - {name: a, plugin: taker, inputs: [m], on_device: true}\n" CHAIN,
     5, "plugin maker of step \\\"m\\\" does not hand it on there"},
    {TOP "steps:\n  - {name: m, plugin: relay}\n  - {name: n, plugin: relay}\n"
         "  - {name: t, plugin: taker, inputs: [m], on_device: true}\n"
         "  - {name: a, plugin: taker, inputs: [n, t], on_device: true}\n" CHAIN,
     7, "plugin taker of step \\\"t\\\" does not hand it on there"},
    {"streams: [physics, physics]\n" STEP CHAIN, 1, "stream \\\"physics\\\" is listed twice"},
    {"streams: [physics, debug]\n" STEP CHAIN, 1, "\\\"debug\\\" always exists"},
    {"streams: [physics, \"a,b\"]\n" STEP CHAIN, 1, "streams[1] is \\\"a,b\\\""},
    {TOP "l1_items: [{name: x, bit: 32}]\n" STEP CHAIN, 3, "l1_items[0].bit is 32; 0 to 31"},
    {TOP "l1_items: [{name: x, bit: 1}, {name: x, bit: 2}]\n" STEP CHAIN, 3, "listed twice"},
    {TOP "l1_items: [{name: x}]\n" STEP CHAIN, 3, "\\\"bit\\\" is missing in l1_items[0]"},
    {TOP STEP "chains:\n  - {id: 1, steps: [{step: a}], streams: [physics]}\n", 6,
     "\\\"name\\\" is missing in chains[0]"},
    {TOP STEP "chains:\n  - {name: c, steps: [{step: a}], streams: [physics]}\n", 6,
     "\\\"id\\\" is missing in chains[0]"},
    {TOP STEP CHAIN "  - {name: c, id: 2, steps: [{step: a}], streams: [physics]}\n", 7,
     "chain \\\"c\\\" is listed twice"},
    {TOP STEP CHAIN "  - {name: d, id: 1, steps: [{step: a}], streams: [physics]}\n", 7,
     "chains \\\"c\\\" and \\\"d\\\" have the same id 1"},
    {TOP STEP "chains:\n  - {name: c, id: 1, steps: [{step: b}], streams: [physics]}\n", 6,
     "there is no step \\\"b\\\""},
    {TOP STEP "chains:\n  - {name: c, id: 1, steps: [{step: a}], streams: []}\n", 6,
     "chains[0].streams has 0 entries"},
    {TOP STEP "chains:\n  - {name: c, id: 1, steps: [{step: a}], streams: [express]}\n", 6,
     "there is no stream \\\"express\\\""},
    {TOP STEP "chains:\n  - {name: c, id: 1, steps: [{step: a}], streams: [debug]}\n", 6,
     "the debug stream is for what failed"},
    {TOP STEP "chains:\n  - name: c\n    id: 1\n    seeds: [L1_X]\n    steps: [{step: a}]\n"
              "    streams: [physics]\n",
     8, "seed \\\"L1_X\\\" is neither"},
    {TOP STEP "chains:\n  - name: c\n    id: 1\n    seeds: [32]\n    steps: [{step: a}]\n"
              "    streams: [physics]\n",
     8, "seed \\\"32\\\" is neither"},
    {TOP STEP "chains:\n  - name: c\n    id: 1\n    prescale: 0.5\n    steps: [{step: a}]\n"
              "    streams: [physics]\n",
     8, "prescale 0.5; 0 (off) or a number >= 1"},
    {TOP STEP "chains:\n  - name: c\n    id: 1\n    prescale: -1\n    steps: [{step: a}]\n"
              "    streams: [physics]\n",
     8, "prescale -1; 0 (off)"},
    {TOP STEP "chains:\n  - name: c\n    id: 1\n    prescale: nan\n    steps: [{step: a}]\n"
              "    streams: [physics]\n",
     8, "chains[0].prescale is \\\"nan\\\"; a finite number"},
    {TOP STEP "chains:\n  - name: c\n    id: 1\n    streams: [physics]\n    steps:\n"
              "      - step: a\n        cuts: [{value: zmm, min: 1}]\n",
     11, "reports no value \\\"zmm\\\"; did you mean \\\"z_mm\\\"?"},
    {TOP STEP "chains:\n  - name: c\n    id: 1\n    streams: [physics]\n    steps:\n"
              "      - step: a\n        cuts: [{value: z_mm}]\n",
     11, "neither min nor max"},
    {TOP STEP "chains:\n  - name: c\n    id: 1\n    streams: [physics]\n    steps:\n"
              "      - step: a\n        cuts: [{value: z_mm, min: 2, max: 1}]\n",
     11, "has min above max"},
    {TOP STEP "chains:\n  - name: c\n    id: 1\n    streams: [physics]\n    steps:\n"
              "      - step: a\n        cuts: [{value: z_mm, min: inf}]\n",
     11, "min is \\\"inf\\\"; a finite number"},
    {TOP STEP "chains:\n  - name: c\n    id: 1\n    pass_through: on\n    streams: [physics]\n"
              "    steps: [{step: a}]\n",
     8, "pass_through is \\\"on\\\"; true or false"},
    {TOP STEP "chains:\n  - name: c\n    id: 1\n    truncated: keep\n    streams: [physics]\n"
              "    steps: [{step: a}]\n",
     8, "truncated is \\\"keep\\\"; pass and cut are allowed"},
    {TOP STEP "chains:\n  - {name: c, id: 1, streams: [physics]}\n", 6,
     "chain \\\"c\\\" has neither steps nor combine"},
    {TOP STEP "chains:\n  - {name: c, id: 1, steps: [{step: a}], multiplicity: 17,\n"
              "     streams: [physics]}\n",
     6, "chain \\\"c\\\": multiplicity 17; 1 to 16 are allowed"},
    {TOP STEP "chains:\n  - {name: c, id: 1, steps: [{step: a}], multiplicity: 0,\n"
              "     streams: [physics]}\n",
     6, "multiplicity 0; 1 to 16"},
    {TOP STEP "chains:\n  - {name: and, id: 1, steps: [{step: a}], streams: [physics]}\n", 6,
     "no chain may be named \\\"and\\\""},
    {TOP STEP CHAIN "  - {name: d, id: 2, combine: c, steps: [{step: a}], streams: [physics]}\n", 7,
     "chain \\\"d\\\" combines others and has no steps of its own"},
    {TOP STEP CHAIN "  - {name: d, id: 2, combine: c, types: [1], streams: [physics]}\n", 7,
     "has no types of its own"},
    {TOP STEP CHAIN "  - {name: d, id: 2, combine: c, regions: [{eta_min: 0}],\n"
                    "     streams: [physics]}\n",
     7, "has no regions of its own"},
    {TOP STEP CHAIN "  - {name: d, id: 2, combine: c, multiplicity: 2, streams: [physics]}\n", 7,
     "has no multiplicity of its own"},
    {TOP STEP CHAIN "  - {name: d, id: 2, combine: c and e, streams: [physics]}\n"
                    "  - {name: e, id: 3, steps: [{step: a}], streams: [physics]}\n",
     7, "cannot be read: character 7: there is no chain \\\"e\\\" above it"},
    {TOP STEP CHAIN "  - {name: d, id: 2, combine: d, streams: [physics]}\n", 7,
     "character 1: there is no chain \\\"d\\\" above it"},
    {TOP STEP CHAIN "  - {name: d, id: 2, combine: c c, streams: [physics]}\n", 7,
     "character 3: \\\"and\\\" or \\\"or\\\" is missing before \\\"c\\\""},
    {TOP STEP CHAIN "  - {name: d, id: 2, combine: c and, streams: [physics]}\n", 7,
     "a chain is missing at its end"},
    {TOP STEP CHAIN "  - {name: d, id: 2, combine: c or or c, streams: [physics]}\n", 7,
     "character 6: a chain is missing before \\\"or\\\""},
    {TOP STEP CHAIN "  - {name: d, id: 2, combine: not (c, streams: [physics]}\n", 7,
     "character 7: \\\")\\\" is missing"},
    {TOP STEP CHAIN "  - {name: d, id: 2, combine: c), streams: [physics]}\n", 7,
     "is missing before \\\")\\\""},
    {TOP STEP CHAIN "  - {name: d, id: 2, combine: not not not not not not not not not not not not "
                    "not not not not not c,\n     streams: [physics]}\n",
     7, "it is nested more than 16 deep"},
    {TOP STEP "chains:\n  - name: c\n    id: 1\n    priority: 1\n    streams: [physics]\n"
              "    steps: [{step: a}]\n",
     8, "chains[0].priority is \\\"1\\\"; high, normal and low are allowed"},
    {TOP STEP "chains:\n  - name: c\n    id: 1\n    fallback: accept\n    streams: [physics]\n"
              "    steps: [{step: a}]\n",
     8, "chains[0].fallback is \\\"accept\\\"; debug and skip are allowed"},
    {TOP STEP "chains:\n  - name: c\n    id: 1\n    streams: [physics]\n"
              "    steps: [{step: a}]\n    expected: {of: second}\n",
     10, "chain \\\"c\\\": expected has neither min nor max"},
    {TOP STEP "chains:\n  - name: c\n    id: 1\n    streams: [physics]\n"
              "    steps: [{step: a}]\n    expected: {of: minute, min: 1}\n",
     10, "chain \\\"c\\\": expected has of: minute; second and run are allowed"},
    {TOP STEP "chains:\n  - name: c\n    id: 1\n    streams: [physics]\n"
              "    steps: [{step: a}]\n    expected: {of: run, max: 1.5}\n",
     10, "min and max of expected are parts from 0 to 1, of: run"},
    {TOP STEP "chains:\n  - name: c\n    id: 1\n    streams: [physics]\n"
              "    steps: [{step: a}]\n    expected: {min: -1}\n",
     10, "min and max of expected are rates from 0 on, in RoIs a second"},
    {TOP STEP "chains:\n  - name: c\n    id: 1\n    streams: [physics]\n"
              "    steps: [{step: a}]\n    expected: {min: 3, max: 2}\n",
     10, "chain \\\"c\\\": expected has min above max"},
    {TOP STEP
     "decision: early\nchains:\n  - {name: c, id: 1, steps: [{step: a}], streams: [physics]}\n",
     5, "decision is \\\"early\\\"; complete, streams and accept are allowed"},
    {TOP STEP "decision: accept\n" CHAIN
              "  - {name: d, id: 2, combine: not c, streams: [physics]}\n",
     5, "decision is \\\"accept\\\", and chain \\\"d\\\" has combine: only complete is allowed"},
};

static void wrong_ones_are_refused_with_line_and_reason(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof broken / sizeof *broken; i++) {
        const char *path = capture_file("menu.yaml", broken[i].text), *log;
        struct menu *m = NULL;
        char place[200];
        int r;

        snprintf(place, sizeof place, "file=\"%s\" line=%u\n", path, broken[i].line);
        capture_start(2);
        r = menu_load(path, host, &m);
        log = capture_end();
        assert_null(m);
        if (r != -EINVAL || !strstr(log, broken[i].says) || !strstr(log, place))
            fail_msg("%s\ngave %d, %s\nwithout: %s, line %u", broken[i].text, r, log,
                     broken[i].says, broken[i].line);
    }
}

/* ---------------------------------------------------------------- prescales */

#define EVENTS 1000000u

/* Computed apart, from the formula in docs/configuration.md: these may never change. */
static void known_answers(void **state)
{
    static const struct {
        uint32_t id, run, l1id, bcid;
        double p;
        bool takes;
    } table[] = {
        {1934u, 159016u, 1701057193u, 634u, 2.0, false},
        {545u, 10390u, 3942586889u, 3278u, 2.0, false},
        {1819u, 272808u, 2305023086u, 1133u, 3.5, false},
        {870u, 137217u, 3983477513u, 3395u, 10.0, false},
        {1189u, 353255u, 839981761u, 1690u, 3.5, true},
        {3614u, 144864u, 789001160u, 1785u, 10.0, true},
        {4576u, 104183u, 3884003777u, 413u, 2.0, true},
        {3639u, 153090u, 585995143u, 1563u, 3.5, true},
    };

    (void)state;
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (prescale_takes(table[i].id, table[i].p, table[i].run, table[i].l1id, table[i].bcid) !=
            table[i].takes)
            fail_msg("row %zu is not %d", i, table[i].takes);
    assert_false(prescale_takes(1, 0, 1, 1, 1));
    assert_true(prescale_takes(1, 1, 1, 1, 1));
}

static void the_rate_is_one_in_p(void **state)
{
    static const double all[] = {2, 2.5, 10, 1000};
    uint32_t run = (uint32_t)fresh_seed();

    (void)state;
    for (size_t k = 0; k < sizeof all / sizeof *all; k++) {
        double q = 1 / all[k], sigma = sqrt(EVENTS * q * (1 - q));
        uint32_t n = 0;

        for (uint32_t i = 0; i < EVENTS; i++)
            n += prescale_takes(5, all[k], run, i, i % 3564);
        if (fabs(n - EVENTS * q) > 5 * sigma)
            fail_msg("prescale %g took %u of %u", all[k], n, EVENTS);
    }
}

static void chains_are_independent(void **state)
{
    uint32_t run = (uint32_t)fresh_seed(), both = 0, a = 0;
    double sigma = sqrt(EVENTS * 0.25 * 0.75);

    (void)state;
    for (uint32_t i = 0; i < EVENTS; i++) {
        bool first = prescale_takes(1, 2, run, i, 100);

        a += first;
        both += first && prescale_takes(2, 2, run, i, 100);
    }
    assert_true(fabs(a - EVENTS * 0.5) < 5 * sqrt(EVENTS * 0.25));
    assert_true(fabs(both - EVENTS * 0.25) < 5 * sigma);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_good_menu_is_understood),
        cmocka_unit_test(a_declared_collection_feeds_a_step),
        cmocka_unit_test(steps_on_the_device_form_a_group),
        cmocka_unit_test(wrong_ones_are_refused_with_line_and_reason),
        cmocka_unit_test(known_answers),
        cmocka_unit_test(the_rate_is_one_in_p),
        cmocka_unit_test(chains_are_independent)};

    return cmocka_run_group_tests(tests, setup, teardown);
}
