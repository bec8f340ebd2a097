/* SPDX-License-Identifier: Apache-2.0 */
/* The library trigd::testing: what trigd/testing.h declares, on top of the drive. */
#include "trigd/testing.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "algohost.h"
#include "batches.h"
#include "conditions/condition_file.h"
#include "config/yamlfile.h"
#include "exec/sample.h"
#include "log.h"
#include "rois.h"

#define DEVICES_MAX 64u
#define BATCH       40u
#define SLOTS       2u

struct device {
    char name[32];
    struct trg_device *device;
};

struct trg_testing {
    struct algo_host host; /* its plugins and backends are opened here, not by algo_host_open */
    struct device device[DEVICES_MAX];
    uint32_t n_devices;
    struct sample *sample;
    struct trg_testing_roi *random;
    struct testing_rois file;
    struct products *products;
    struct trg_result *results;
    uint32_t n_products;
    struct condition_list conditions;
};

static int tell(const char *what, int r)
{
    if (r < 0)
        fprintf(stderr, "testing: %s: %s\n", what, strerror(-r));
    return r;
}

/* ---------------------------------------------------------------- plugin and devices */

/* The folder of the backends: beside this library where trigd was built or installed. */
static int backends_folder(char *ret_path, size_t bytes)
{
    Dl_info info;
    char *slash;

    if (!dladdr((void *)(uintptr_t)&trg_testing_open, &info) || !realpath(info.dli_fname, ret_path))
        return tell("the library does not find its own file", -ENOENT);
    slash = strrchr(ret_path, '/');
    snprintf(slash, bytes - (size_t)(slash - ret_path), "/trigd/backends");
    if (access(ret_path, F_OK) < 0)
        snprintf(slash, bytes - (size_t)(slash - ret_path), "/../backends");
    return 0;
}

static int add_devices(struct trg_testing *t, const char *backend)
{
    const uint32_t n = backends_devices(t->host.backends, backend);
    int r = 0;

    for (uint32_t i = 0; r == 0 && i < n && t->n_devices < DEVICES_MAX; i++) {
        struct device *d = &t->device[t->n_devices];

        snprintf(d->name, sizeof d->name, "%.16s:%u", backend, i);
        r = tell(d->name, backends_device(t->host.backends, backend, i, &d->device));
        t->n_devices += r == 0;
    }
    return r;
}

static int open_devices(struct trg_testing *t)
{
    char folder[PATH_MAX], words[64], *save = NULL;
    int r = backends_folder(folder, sizeof folder);

    if (r == 0)
        r = tell(folder, backends_open(folder, NULL, &t->host.host, &t->host.backends));
    snprintf(words, sizeof words, "%s", t->host.plugin->d.backends);
    for (char *w = strtok_r(words, " ", &save); r == 0 && w; w = strtok_r(NULL, " ", &save))
        r = add_devices(t, w);
    if (r == 0 && !t->n_devices)
        r = tell("no backend of the plugin has a device here", -ENODEV);
    return r;
}

int trg_testing_open(const char *file, struct trg_testing **ret_testing)
{
    struct trg_testing *t = calloc(1, sizeof *t);
    char why[512] = "";
    int r;

    if (!t)
        return tell(file, -ENOMEM);
    log_set_level(TRG_WARN);
    t->host.host = (struct trg_host){.size = sizeof t->host.host, .log = algo_host_log};
    r = tell(file, plugin_host_new(NULL, 0, &t->host.plugins));
    if (r == 0) {
        r = plugin_host_open(t->host.plugins, file, &t->host.plugin, why, sizeof why);
        if (r < 0)
            fprintf(stderr, "testing: %s\n", why);
    }
    if (r == 0)
        r = open_devices(t);
    if (r == 0)
        *ret_testing = t;
    else
        trg_testing_close(t);
    return r;
}

void trg_testing_close(struct trg_testing *t)
{
    if (!t)
        return;
    products_free(t->products, t->n_products);
    free(t->results);
    testing_rois_fini(&t->file);
    conditions_release(&t->conditions);
    sample_free(t->sample);
    free(t->random);
    algo_host_close(&t->host);
    free(t);
}

const struct trg_plugin *trg_testing_plugin(const struct trg_testing *t)
{
    return &t->host.plugin->d;
}

uint32_t trg_testing_devices(const struct trg_testing *t)
{
    return t->n_devices;
}

const char *trg_testing_device(const struct trg_testing *t, uint32_t device)
{
    return t->device[device].name;
}

/* ---------------------------------------------------------------- RoIs */

static uint64_t fresh_seed(void)
{
    const char *given = getenv("TRIGD_SEED");
    uint64_t seed = 0;

    if (given)
        seed = strtoull(given, NULL, 0);
    else if (getrandom(&seed, sizeof seed, 0) != sizeof seed)
        seed = (uint64_t)getpid();
    printf("TRIGD_SEED=%llu\n", (unsigned long long)seed);
    return seed;
}

int trg_testing_random(struct trg_testing *t, uint32_t n, uint32_t most,
                       struct trg_testing_roi **ret_rois, uint32_t *ret_n)
{
    const struct plugin *p = t->host.plugin;
    const struct sample_setup setup = {.kinds = p->consumes,
                                       .n_inputs = p->n_inputs,
                                       .n_random = n > SAMPLE_CASES ? n - SAMPLE_CASES : 0,
                                       .max_items = most,
                                       .max_layer = 31,
                                       .seed = fresh_seed()};

    sample_free(t->sample);
    free(t->random);
    t->sample = NULL;
    t->random = NULL;
    if (sample_new(&setup, &t->sample) < 0)
        return tell("random RoIs", -ENOMEM);
    t->random = calloc(t->sample->n, sizeof *t->random);
    if (!t->random)
        return tell("random RoIs", -ENOMEM);
    for (uint32_t i = 0; i < t->sample->n; i++) {
        t->random[i].info = t->sample->info[i];
        for (uint32_t k = 0; k < p->n_inputs; k++) {
            const struct stage_source *s = sample_source(t->sample, k, i);

            t->random[i].in[k].n = s->n;
            memcpy(t->random[i].in[k].column, s->column, sizeof s->column);
        }
    }
    *ret_rois = t->random;
    *ret_n = t->sample->n;
    return 0;
}

int trg_testing_read(struct trg_testing *t, const char *path, struct trg_testing_roi **ret_rois,
                     uint32_t *ret_n)
{
    int r;

    testing_rois_fini(&t->file);
    r = testing_rois_read(&t->file, t->host.plugin, path);
    if (r < 0)
        return r;
    *ret_rois = t->file.rois;
    *ret_n = t->file.n;
    return 0;
}

/* ---------------------------------------------------------------- conditions */

int trg_testing_conditions(struct trg_testing *t, const char *path)
{
    struct condition_need needs[CONDITIONS_MAX];
    const uint32_t n = conditions_needed(t->host.plugins, needs, CONDITIONS_MAX);
    int r;

    conditions_release(&t->conditions);
    if (!path)
        return 0;
    r = conditions_read(path, needs, n, &t->conditions);
    if (r < 0)
        fprintf(stderr, "testing: %s\n", yamlfile_why());
    return r;
}

/* ---------------------------------------------------------------- runs */

static void input(const void *rois, uint32_t i, struct stage_source *ret_sources,
                  struct trg_roi_info *ret_info)
{
    const struct trg_testing_roi *r = (const struct trg_testing_roi *)rois + i;

    *ret_info = r->info;
    for (uint32_t k = 0; k < TRG_INPUTS_MAX; k++) {
        ret_sources[k].n = r->in[k].n;
        memcpy(ret_sources[k].column, r->in[k].column, sizeof r->in[k].column);
    }
}

static uint32_t most_items(const struct trg_testing_roi *rois, uint32_t n)
{
    uint32_t most = 1;

    for (uint32_t i = 0; i < n; i++)
        for (uint32_t k = 0; k < TRG_INPUTS_MAX; k++)
            most = rois[i].in[k].n > most ? rois[i].in[k].n : most;
    return most;
}

/* Room for the answers of n RoIs. */
static int reserve(struct trg_testing *t, uint32_t n)
{
    if (n <= t->n_products)
        return 0;
    products_free(t->products, t->n_products);
    free(t->results);
    t->n_products = 0;
    t->products = calloc(n, sizeof *t->products);
    t->results = calloc(n, sizeof *t->results);
    if (!t->products || !t->results)
        return -ENOMEM;
    t->n_products = n;
    return 0;
}

static void answer(const struct trg_testing *t, struct trg_testing_roi *rois, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        rois[i].result = t->results[i];
        for (uint32_t k = 0; k < TRG_OUTPUTS_MAX; k++) {
            const struct product *p = &t->products[i].of[k];

            rois[i].out[k].n = p->n;
            memcpy(rois[i].out[k].column, p->column, sizeof p->column);
        }
    }
}

static int run(struct trg_testing *t, uint32_t device, const void *config,
               struct trg_testing_roi *rois, uint32_t n)
{
    const struct batches_setup setup = {.host = &t->host.host,
                                        .plugin = &t->host.plugin->d,
                                        .config = config,
                                        .device = t->device[device].device,
                                        .conditions = &t->conditions,
                                        .slots = SLOTS,
                                        .max_rois = BATCH,
                                        .max_items = 4 * most_items(rois, n)};
    struct batches *b = NULL;
    int r = reserve(t, n);

    if (r == 0)
        r = batches_open(&setup, &b);
    if (r == 0)
        r = batches_run(b, &(struct batches_work){.n = n,
                                                  .input = input,
                                                  .rois = rois,
                                                  .results = t->results,
                                                  .products = t->products});
    batches_close(b);
    if (r == 0)
        answer(t, rois, n);
    return r;
}

int trg_testing_run(struct trg_testing *t, uint32_t device, const char *const *settings,
                    struct trg_testing_roi *rois, uint32_t n)
{
    void *config = calloc(1, t->host.plugin->d.config_size + 4);
    int r = config ? 0 : -ENOMEM;

    if (r == 0)
        r = algo_configure(t->host.plugin, NULL, settings, config);
    if (r == 0)
        r = tell(t->device[device].name, run(t, device, config, rois, n));
    free(config);
    return r;
}

int trg_testing_each(struct trg_testing *t, const char *const *settings,
                     struct trg_testing_roi *rois, uint32_t n, trg_testing_check *is_right)
{
    int r = 0;

    for (uint32_t d = 0; r == 0 && d < t->n_devices; d++) {
        r = trg_testing_run(t, d, settings, rois, n);
        if (r == 0 && !is_right(rois, n))
            r = tell(t->device[d].name, -EBADMSG);
    }
    return r;
}

int trg_testing_main(int argc, char **argv, const char *const *settings,
                     trg_testing_check *is_right)
{
    struct trg_testing *t = NULL;
    struct trg_testing_roi *rois;
    uint32_t n;
    int failed = argc != 2 || trg_testing_open(argv[1], &t) != 0 ||
                 trg_testing_random(t, 200, 500, &rois, &n) < 0 ||
                 trg_testing_each(t, settings, rois, n, is_right) < 0;

    trg_testing_close(t);
    return failed;
}
