/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon.h"

#include <errno.h>
#include <ftw.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "process.h"
#include "talk.h"

#define ANSWER_S 10

static int write_files(const struct bench_daemon *d, const char *bench, const char *params,
                       const char *config)
{
    char text[4000];
    int r;

    snprintf(text, sizeof text,
             "name: bench\nstreams: [physics]\n"
             "steps: [{name: step, plugin: zfinder, params: {%s}}]\n"
             "chains: [{name: all, id: 1, steps: [{step: step}], streams: [physics]}]\n",
             params);
    r = process_write_file(d->folder, "menu.yaml", text);
    snprintf(text, sizeof text,
             "endpoints: [\"%s\"]\nmenu: menu.yaml\n"
             "plugin_path: [\"%s/../plugins\"]\nbackend_path: \"%s/../backends\"\n"
             "control: {socket: control}\nhttp: {address: \"\"}\nlog: {level: error}\n"
             "state_dir: \"\"\naccounts_dir: \"\"\nhistograms_dir: \"\"\n"
             "debug_stream: {folder: \"\"}\n"
             "limits: {soft_ms: 500, hard_ms: 5000}\nclients: {credits: 4096}\n%s",
             d->endpoint, bench, bench, config);
    return r < 0 ? r : process_write_file(d->folder, "trigd.yaml", text);
}

static void run_daemon(const struct bench_daemon *d, const char *bench)
{
    char program[1100], config[128];

    prctl(PR_SET_PDEATHSIG, SIGKILL); /* none outlives the benchmark */
    snprintf(program, sizeof program, "%s/../bin/trigd", bench);
    snprintf(config, sizeof config, "%s/trigd.yaml", d->folder);
    execl(program, program, "--config", config, (char *)NULL);
    fprintf(stderr, "bench: %s: %s\n", program, strerror(errno));
    _exit(127);
}

int bench_daemon_start(const char *params, const char *config, struct bench_daemon *d)
{
    char bench[1000];
    int r = process_folder(bench, sizeof bench);

    *d = (struct bench_daemon){.pid = 0};
    if (r < 0)
        return r;
    snprintf(d->folder, sizeof d->folder, "/tmp/trigd-bench-XXXXXX");
    if (!mkdtemp(d->folder)) {
        d->folder[0] = '\0';
        return -errno;
    }
    snprintf(d->endpoint, sizeof d->endpoint, "ipc://%s/ipc", d->folder);
    snprintf(d->control, sizeof d->control, "%s/control", d->folder);
    r = write_files(d, bench, params, config);
    if (r < 0)
        return r;
    d->pid = fork();
    if (d->pid == 0)
        run_daemon(d, bench);
    return d->pid < 0 ? -errno : 0;
}

static int remove_one(const char *path, const struct stat *s, int flag, struct FTW *ftw)
{
    (void)s, (void)flag, (void)ftw;
    return remove(path);
}

void bench_daemon_stop(struct bench_daemon *d)
{
    process_end(d->pid);
    if (d->folder[0])
        nftw(d->folder, remove_one, 8, FTW_DEPTH | FTW_PHYS);
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
