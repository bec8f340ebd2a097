/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "process.h"
#include "talk.h"

#define ANSWER_S 10

int bench_daemon_new(struct bench_daemon *d)
{
    int r;

    *d = (struct bench_daemon){.pid = 0};
    r = process_new_folder(d->folder);
    snprintf(d->endpoint, sizeof d->endpoint, "ipc://%s/ipc", d->folder);
    snprintf(d->control, sizeof d->control, "%s/control", d->folder);
    return r;
}

static int write_files(const struct bench_daemon *d, const struct bench_daemon_setup *s)
{
    char bench[1000], text[4000];
    int r = process_folder(bench, sizeof bench);

    if (r < 0)
        return r;
    snprintf(text, sizeof text,
             "name: bench\nstreams: [physics]\n"
             "steps: [{name: step, plugin: %s, params: {%s}}]\n"
             "chains: [{name: all, id: 1, steps: [{step: step}], streams: [physics]}]\n",
             s->plugin, s->params ? s->params : "");
    r = process_write_file(d->folder, "menu.yaml", text);
    snprintf(text, sizeof text,
             "endpoints: [\"%s\"%s]\nmenu: menu.yaml\n"
             "plugin_path: [\"%s/../plugins\"]\nbackend_path: \"%s/../backends\"\n"
             "control: {socket: control}\nhttp: {address: \"\"}\n%s",
             d->endpoint, s->endpoints ? s->endpoints : "", bench, bench, s->config);
    return r < 0 ? r : process_write_file(d->folder, "trigd.yaml", text);
}

int bench_daemon_start(struct bench_daemon *d, const struct bench_daemon_setup *setup)
{
    char config[128];
    const char *const args[] = {"trigd", "--config", config, NULL};
    int r = d->folder[0] ? 0 : bench_daemon_new(d);

    if (r == 0)
        r = write_files(d, setup);
    snprintf(config, sizeof config, "%s/trigd.yaml", d->folder);
    return r < 0 ? r : process_start("../bin/trigd", args, setup->env, &d->pid);
}

void bench_daemon_stop(struct bench_daemon *d)
{
    process_end(d->pid);
    process_remove_folder(d->folder);
    *d = (struct bench_daemon){.pid = 0};
}

/* The i-th cell of a row without quotes. */
static const char *cell(const char *row, int i)
{
    for (; i > 0 && row; i--) {
        row = strchr(row, ',');
        row += row != NULL;
    }
    return row;
}

static int find_column(const char *head, const char *column)
{
    const size_t n = strlen(column);

    for (int i = 0;; i++) {
        const char *at = cell(head, i);

        if (!at)
            return -1;
        if (!strncmp(at, column, n) && (at[n] == ',' || at[n] == '\0'))
            return i;
    }
}

double bench_daemon_number(const struct bench_daemon *d, const char *command, const char *row,
                           const char *column)
{
    char line[256], *answer = NULL, *at, *next = NULL;
    double value = -1;
    int i;

    snprintf(line, sizeof line, "%s csv", command);
    if (talk(d->control, line, ANSWER_S, &answer) < 0)
        return -1;
    at = strtok_r(answer, "\n", &next);
    i = at ? find_column(at, column) : -1;
    while (i >= 0 && (at = strtok_r(NULL, "\n", &next)) != NULL)
        if (!strncmp(at, row, strlen(row)) && cell(at, i)) {
            value = strtod(cell(at, i), NULL);
            break;
        }
    free(answer);
    return value;
}

double bench_daemon_behind(const struct bench_daemon *d, const char *command, const char *text)
{
    char *answer = NULL;
    const char *at;
    double value = -1;

    if (talk(d->control, command, ANSWER_S, &answer) < 0)
        return -1;
    at = strstr(answer, text);
    if (at)
        value = strtod(at + strlen(text), NULL);
    free(answer);
    return value;
}

int bench_daemon_order(const struct bench_daemon *d, const char *command)
{
    char *answer = NULL;
    int r = talk(d->control, command, ANSWER_S, &answer);

    if (r == 0 && !strncmp(answer, "error", 5)) {
        fprintf(stderr, "bench: %s: %s\n", command, answer);
        r = -EIO;
    }
    free(answer);
    return r;
}
