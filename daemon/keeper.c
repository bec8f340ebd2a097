/* SPDX-License-Identifier: Apache-2.0 */
#include "keeper.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "log.h"

#define RETIRED_MAX (4u * SHARDS_MAX) /* engines to be left; each dispatch holds three at most */

struct keeper {
    struct engine_setup setup;
    struct keeper_hooks hooks;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool stop;
    struct engine *retired[RETIRED_MAX];
    uint32_t n_retired;
    uint64_t asked, ended;  /* reloads: number asked for, number of the last that ended */
    int result;             /* of the last reload, */
    char why[OPENING_TEXT]; /* and why it was refused */
    uint32_t generation;
    bool is_accounting; /* accounts are to be written */
    bool has_run_work;
};

static int reload(struct keeper *k)
{
    struct generation *g;
    int r;

    opening_begin(k->setup.base.opening);
    r = generation_open(&k->setup, k->generation + 1, &g);

    if (r == 0) {
        opening_say(k->setup.base.opening, "moving the shards to the new menu");
        r = k->hooks.swap(k->hooks.ctx, g);
    }
    if (r == 0) {
        k->generation++;
        stats_add(&k->setup.base.shard[0].stats->g.reloads, 1);
        log_info("keeper", "menu reloaded", "generation=%u", k->generation);
    } else {
        stats_add(&k->setup.base.shard[0].stats->g.reload_failures, 1);
        log_error("keeper", "reload failed, the running menu stays", "error=\"%s\"", strerror(-r));
    }
    return r;
}

/* The next thing to do, with the lock held; false when there is nothing. */
static bool do_one(struct keeper *k)
{
    if (k->n_retired) {
        struct engine *e = k->retired[--k->n_retired];

        pthread_mutex_unlock(&k->lock);
        engine_leave(e);
        pthread_mutex_lock(&k->lock);
        return true;
    }
    if (k->is_accounting) {
        k->is_accounting = false;
        pthread_mutex_unlock(&k->lock);
        k->hooks.write_accounts(k->hooks.ctx);
        pthread_mutex_lock(&k->lock);
        return true;
    }
    if (k->has_run_work) {
        k->has_run_work = false;
        pthread_mutex_unlock(&k->lock);
        k->hooks.run(k->hooks.ctx);
        pthread_mutex_lock(&k->lock);
        return true;
    }
    if (k->ended < k->asked && !k->stop) {
        uint64_t number = k->asked; /* one reload serves all that asked before it began */
        int r;

        pthread_mutex_unlock(&k->lock);
        r = reload(k);
        pthread_mutex_lock(&k->lock);
        k->result = r;
        opening_why(k->setup.base.opening, k->why, sizeof k->why);
        k->ended = number;
        pthread_cond_broadcast(&k->changed);
        return true;
    }
    return false;
}

static void *run(void *arg)
{
    struct keeper *k = arg;

    pthread_mutex_lock(&k->lock);
    for (;;) {
        if (do_one(k))
            continue;
        if (k->stop)
            break;
        pthread_cond_wait(&k->changed, &k->lock);
    }
    pthread_mutex_unlock(&k->lock);
    return NULL;
}

int keeper_start(const struct engine_setup *setup, const struct keeper_hooks *hooks,
                 struct keeper **ret_keeper)
{
    struct keeper *k = calloc(1, sizeof *k);
    int r;

    if (!k)
        return -ENOMEM;
    k->setup = *setup;
    k->hooks = *hooks;
    k->generation = 1; /* the engine of the start */
    pthread_mutex_init(&k->lock, NULL);
    pthread_cond_init(&k->changed, NULL);
    r = -pthread_create(&k->thread, NULL, run, k);
    if (r < 0) {
        free(k);
        return r;
    }
    *ret_keeper = k;
    return 0;
}

void keeper_stop(struct keeper *k)
{
    if (!k)
        return;
    pthread_mutex_lock(&k->lock);
    k->stop = true;
    pthread_cond_broadcast(&k->changed);
    pthread_mutex_unlock(&k->lock);
    pthread_join(k->thread, NULL);
    pthread_cond_destroy(&k->changed);
    pthread_mutex_destroy(&k->lock);
    free(k);
}

uint64_t keeper_ask_reload(struct keeper *k)
{
    uint64_t number;

    pthread_mutex_lock(&k->lock);
    number = ++k->asked;
    pthread_cond_broadcast(&k->changed);
    pthread_mutex_unlock(&k->lock);
    return number;
}

int keeper_look(struct keeper *k, uint64_t number, char *text, size_t bytes)
{
    char why[OPENING_TEXT];
    int r;

    pthread_mutex_lock(&k->lock);
    r = k->ended >= number ? k->result : -EINPROGRESS;
    snprintf(why, sizeof why, "%s", k->why);
    pthread_mutex_unlock(&k->lock);
    if (r == -EINPROGRESS)
        opening_text(k->setup.base.opening, text, bytes);
    else if (r == 0)
        snprintf(text, bytes, "menu reloaded");
    else if (r == -EINTR)
        snprintf(text, bytes, "reload given up, since the daemon ends");
    else if (why[0])
        snprintf(text, bytes, "reload failed, the running menu stays: %s", why);
    else
        snprintf(text, bytes, "reload failed, the running menu stays: see the log (%s)",
                 strerror(-r));
    return r;
}

bool keeper_is_reloading(struct keeper *k)
{
    bool is_reloading;

    pthread_mutex_lock(&k->lock);
    is_reloading = k->ended < k->asked;
    pthread_mutex_unlock(&k->lock);
    return is_reloading;
}

void keeper_ask_accounts(struct keeper *k)
{
    pthread_mutex_lock(&k->lock);
    k->is_accounting = true;
    pthread_cond_broadcast(&k->changed);
    pthread_mutex_unlock(&k->lock);
}

void keeper_ask_run(struct keeper *k)
{
    pthread_mutex_lock(&k->lock);
    k->has_run_work = true;
    pthread_cond_broadcast(&k->changed);
    pthread_mutex_unlock(&k->lock);
}

void keeper_retire(struct keeper *k, struct engine *e)
{
    pthread_mutex_lock(&k->lock);
    k->retired[k->n_retired++] = e;
    pthread_cond_broadcast(&k->changed);
    pthread_mutex_unlock(&k->lock);
}
