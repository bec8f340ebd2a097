/* SPDX-License-Identifier: Apache-2.0 */
#include "races.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define ARGS_MAX  (2 * CHECK_LIST_MAX + 24)
#define RACES_MAX 16u
#define PLACE     160u

extern char **environ;

struct race {
    char memory[16];      /* "global", "local" */
    char kernel[64];      /* */
    char place[2][PLACE]; /* "mine/mine.kernel.c:15" */
    uint32_t n_places;
};

struct races {
    struct race list[RACES_MAX]; /* different ones */
    uint32_t n;
    char fatal[128];  /* why oclgrind gave up, or "" */
    char failed[256]; /* the check that failed in it, or "" */
};

bool races_is_device(struct trg_device *device)
{
    struct trg_device_info info;

    trg_device_info(device, &info);
    return strstr(info.name, "Oclgrind") != NULL;
}

/* ---------------------------------------------------------------- the log */

static bool is_same(const struct race *a, const struct race *b)
{
    const bool same = !strcmp(a->place[0], b->place[0]) && !strcmp(a->place[1], b->place[1]);
    const bool turned = !strcmp(a->place[0], b->place[1]) && !strcmp(a->place[1], b->place[0]);

    return !strcmp(a->kernel, b->kernel) && (same || turned);
}

/* Keeps a race whose two places are known, once. */
static void keep(struct races *all, const struct race *r)
{
    for (uint32_t i = 0; i < all->n; i++)
        if (is_same(&all->list[i], r))
            return;
    if (all->n < RACES_MAX)
        all->list[all->n++] = *r;
}

/* One line of oclgrind's log: the begin of a race, its kernel, or one of its places. */
static void take_line(struct races *all, struct race *r, const char *line)
{
    const char *at = strstr(line, "data race at ");
    char file[120];
    unsigned number;

    if (at) {
        *r = (struct race){.n_places = 0};
        sscanf(at, "data race at %15s", r->memory);
    } else if (sscanf(line, " Kernel: %63s", r->kernel) == 1) {
        return;
    } else if (r->n_places < 2 &&
               sscanf(line, " At line %u (column %*u) of %119[^:]", &number, file) == 2) {
        snprintf(r->place[r->n_places++], PLACE, "%s:%u", file, number);
        if (r->n_places == 2)
            keep(all, r);
    }
}

static int read_log(const char *path, struct races *all)
{
    struct race r = {.n_places = 2};
    bool is_fatal = false;
    FILE *f = fopen(path, "r");
    char *line = NULL;
    size_t room = 0;

    if (!f)
        return -errno;
    while (getline(&line, &room, f) >= 0) {
        take_line(all, &r, line);
        if (is_fatal && !all->fatal[0])
            snprintf(all->fatal, sizeof all->fatal, "%.*s", (int)strcspn(line, "\n"), line);
        if (!strncmp(line, "FAIL ", 5))
            snprintf(all->failed, sizeof all->failed, "%.*s", (int)strcspn(line, "\n"), line);
        is_fatal = strstr(line, "OCLGRIND FATAL ERROR") != NULL;
    }
    free(line);
    fclose(f);
    return 0;
}

/* ---------------------------------------------------------------- the run */

static void add(const char **args, uint32_t *n, const char *option, const char *value)
{
    args[(*n)++] = option;
    if (value)
        args[(*n)++] = value;
}

/* This program again under oclgrind.  Its exit code, 127 where there is no oclgrind, or a negative
 * errno. */
static int run(const struct check *c, const char *exe, const char *log)
{
    /* without its optimizer, whose intrinsics oclgrind does not know */
    const char *args[ARGS_MAX] = {"oclgrind", "--data-races",    "--max-errors",
                                  "200",      "--build-options", "-cl-opt-disable",
                                  exe};
    uint32_t n = 7;
    char seed[32];
    posix_spawn_file_actions_t actions;
    int r, status;
    pid_t child;

    snprintf(seed, sizeof seed, "%llu", (unsigned long long)c->o->seed);
    add(args, &n, "check-plugin", c->o->file);
    add(args, &n, "--race-run", NULL);
    add(args, &n, "--backend", "opencl");
    add(args, &n, "--seed", seed);
    if (c->o->preset)
        add(args, &n, "--preset", c->o->preset);
    if (c->o->conditions)
        add(args, &n, "--conditions", c->o->conditions);
    if (c->o->rois_file)
        add(args, &n, "--file", c->o->rois_file);
    if (c->o->folder)
        add(args, &n, "--backends", c->o->folder);
    for (uint32_t i = 0; i < c->o->n_params; i++)
        add(args, &n, "--param", c->o->param[i]);
    posix_spawn_file_actions_init(&actions);
    /* oclgrind's own --log stays empty */
    posix_spawn_file_actions_addopen(&actions, 1, log, O_WRONLY | O_APPEND, 0);
    posix_spawn_file_actions_adddup2(&actions, 1, 2);
    r = posix_spawnp(&child, args[0], &actions, NULL, (char *const *)(uintptr_t)args, environ);
    posix_spawn_file_actions_destroy(&actions);
    if (r != 0)
        return r == ENOENT ? 127 : -r;
    while (waitpid(child, &status, 0) < 0)
        if (errno != EINTR)
            return -errno;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static void report(struct check *c, const struct races *all)
{
    for (uint32_t i = 0; i < all->n; i++)
        check_line(c, false, "no data races",
                   "kernel %s: %s and %s use one place in %s memory, and one of them writes",
                   all->list[i].kernel, all->list[i].place[0], all->list[i].place[1],
                   all->list[i].memory);
    if (!all->n)
        check_line(c, true, "no data races between the work-items of a few RoIs", "%s", "");
}

static void skip(struct check *c, const char *why)
{
    printf("SKIP  %-9s data races are not looked for: %s\n", c->where, why);
    c->n_skipped++;
}

void races_check(struct check *c)
{
    char exe[PATH_MAX], log[] = "/tmp/trigctl-races-XXXXXX";
    struct races all = {.n = 0};
    ssize_t n = readlink("/proc/self/exe", exe, sizeof exe - 1);
    int fd = mkstemp(log), r;

    snprintf(c->where, sizeof c->where, "oclgrind");
    if (fd < 0 || n <= 0) {
        check_line(c, false, "looking for data races", "%s", strerror(errno));
        return;
    }
    close(fd);
    exe[n] = '\0';
    r = run(c, exe, log);
    if (r != 127 && read_log(log, &all) < 0)
        check_line(c, false, "looking for data races", "cannot read %s", log);
    else if (r == 127)
        skip(c, "oclgrind is not installed");
    else if (r < 0)
        check_line(c, false, "looking for data races", "%s", strerror(-r));
    else if (r != 0) /* what it cannot run says nothing about the plugin */
        skip(c, all.fatal[0] ? all.fatal : all.failed[0] ? all.failed : "oclgrind crashed");
    else
        report(c, &all);
    unlink(log);
}
