/* SPDX-License-Identifier: Apache-2.0 */
/* Histograms in a running daemon: read through the socket, over reloads, in files. */
#include <glob.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "harness.h"

static const char config[] = "devices: [{backend: cpu, index: 0, lanes: 1, slots: 2}]\n";
#define MENU                                                                              \
    "streams: [physics]\n"                                                                \
    "steps: [{name: c, plugin: copying}]\n"                                               \
    "chains: [{name: many, id: 1, steps: [{step: c, cuts: [{value: n, min: 100}]}],"      \
    " streams: [physics]}]\n"                                                             \
    "histograms:\n"                                                                       \
    "  - {name: layer, step: c, collection: spacepoints, column: layer, bins: 8, min: 0," \
    " max: 8}\n"
static const char menu[] =
    MENU "  - {name: n, step: c, value: n, chain: many, bins: 4, min: 0, max: 400}\n";
static const char other[] =
    MENU "  - {name: n, step: c, value: n, chain: many, bins: 2, min: 0, max: 400}\n";

static void send_all(struct link *l, uint32_t n, uint32_t points)
{
    static uint64_t token = 1;
    static uint8_t by_token[256];
    struct roi_spec specs[32];

    for (uint32_t i = 0; i < n; i++)
        specs[i] = (struct roi_spec){.token = token + i, .l1id = i, .l1_bits = 1, .n = points};
    link_send_rois(l, specs, n);
    link_collect(l, token, n, by_token);
    token += n;
}

static void expect(const char *text, const char *part)
{
    if (!text || !strstr(text, part))
        fail_msg("\"%s\" is not in: %s", part, text ? text : "nothing");
}

/* The text of the n-th file. */
static char *file_of(const struct server *s, size_t n_files)
{
    char pattern[256], *text = NULL;
    size_t room = 0;
    glob_t found;
    FILE *f;

    snprintf(pattern, sizeof pattern, "%s/state/histograms/histograms-*.json", s->folder);
    for (int i = 0; i < 100 && (glob(pattern, 0, NULL, &found) != 0 || found.gl_pathc < n_files);
         i++)
        usleep(50000);
    assert_int_equal(found.gl_pathc, n_files);
    f = fopen(found.gl_pathv[n_files - 1], "r");
    assert_non_null(f);
    assert_true(getdelim(&text, &room, '\0', f) > 0);
    fclose(f);
    globfree(&found);
    return text;
}

static void they_are_filled_and_written(void **state)
{
    struct link l, second;
    struct server s;
    char *text;

    (void)state;
    server_start(&s, config, menu);
    link_open(&l, &s);
    link_open(&second, &s); /* of another shard, where there are several */
    link_hello(&l, "histograms", 0);
    link_hello(&second, "others", 0);
    send_all(&l, 20, 8);
    send_all(&second, 10, 250);
    send_all(&l, 5, 400);
    /* 20 * 1 + 10 * 32 or 31 + 5 * 50 of each layer */
    server_expect(&s, "dump histograms", "\"counts\": [590, 590, 580, 580, 580, 580, 580, 580]}");
    server_expect(&s, "dump histograms", "\"underflow\": 0, \"overflow\": 5, \"nan\": 0,");
    server_expect(&s, "dump histograms", "\"counts\": [0, 0, 10, 0]}");
    server_expect(&s, "dump histograms", "\"runs\": [1, 1]");
    server_expect(&s, "show histograms csv", "\nn,4,0,400,15,0,5,0,250\n");
    server_expect(&s, "reload", "menu reloaded"); /* they go on */
    send_all(&second, 1, 250);
    server_expect(&s, "dump histograms", "\"counts\": [0, 0, 11, 0]}");
    server_menu(&s, other); /* one with other bins begins anew, beside the one of before */
    server_expect(&s, "reload", "menu reloaded");
    send_all(&l, 1, 250);
    server_expect(&s, "dump histograms", "\"counts\": [0, 0, 11, 0]}");
    server_expect(&s, "dump histograms", "\"counts\": [0, 1]}");
    server_expect(&s, "drain", "");
    text = file_of(&s, 1);
    expect(text, "\"counts\": [0, 0, 11, 0]}");
    expect(text, "\"counts\": [0, 1]}");
    expect(text, "{\"name\": \"n\", \"key\": \"");
    expect(text,
           "\"step\": \"c\", \"plugin\": \"copying\", \"value\": \"n\", \"unit\": \"\", \"chain\": "
           "\"many\", \"cuts\": [], \"bins\": 4, \"min\": 0, \"max\": 400,");
    free(text);
    server_expect(&s, "resume", "");
    send_all(&l, 3, 250);
    link_close(&l);
    link_close(&second);
    assert_int_equal(server_end(&s, 15, 20), 0);
    text = file_of(&s, 2); /* each RoI in one file */
    expect(text, "\"counts\": [0, 3]}");
    assert_null(strstr(text, "\"bins\": 4"));
    free(text);
    server_clean(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(they_are_filled_and_written)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
