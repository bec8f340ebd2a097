/* SPDX-License-Identifier: Apache-2.0 */
/* check_guest.c - a guest by its functions: slices, checkpoints, a budget of memory. */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "check_inner.h"
#include "clock.h"
#include "exec/guest_device.h"
#include "folder.h"
#include "watch.h"

#define SLICES      40u
#define SLICE_US    50.0
#define LONGEST_US  100000.0
#define MEMORY      (UINT64_C(4) << 30)
#define LINE_BYTES  160u
#define MAKINGS_MAX 500u

struct visit { /* one guest, open */
    struct check *c;
    const struct trg_guest *of;
    struct trg_device *device;
    struct trg_queue *queue;
    struct trg_algo *algo;
    char folder[32];
    int answer; /* of open or the last collect */
};

static void leave(struct visit *v)
{
    v->of->close(v->algo);
    v->algo = NULL;
    trg_queue_free(v->queue);
    trg_device_close(v->device);
    v->queue = NULL;
    v->device = NULL;
}

/* Opens it in its folder, with so much memory. */
static int enter(struct visit *v, uint64_t memory)
{
    const struct trg_guest_setup setup = {
        .size = sizeof setup, .folder = v->folder, .memory_bytes = memory};
    int r = guest_device_new(v->c->device, &v->c->host, memory, &v->device);

    if (r == 0)
        r = trg_queue_new(v->device, &v->queue);
    if (r == 0)
        r = v->of->open(&v->c->host, v->c->config, v->device, v->queue, &setup, &v->algo);
    v->answer = r;
    if (r < 0) {
        trg_queue_free(v->queue);
        trg_device_close(v->device);
        v->queue = NULL;
        v->device = NULL;
    }
    return r;
}

/* The names and bytes of all files in its folder; 0: there are none. */
static uint64_t folder_hash(const struct visit *v)
{
    struct dirent **entry;
    int n = scandir(v->folder, &entry, NULL, alphasort);
    uint64_t hash = 0;

    for (int i = 0; i < n; i++) {
        char path[400], bytes[4096];
        FILE *f;
        size_t got;

        snprintf(path, sizeof path, "%s/%s", v->folder, entry[i]->d_name);
        f = entry[i]->d_name[0] == '.' ? NULL : fopen(path, "rb");
        if (f)
            hash = hash_more(hash + 1, entry[i]->d_name, strlen(entry[i]->d_name));
        while (f && (got = fread(bytes, 1, sizeof bytes, f)) > 0)
            hash = hash_more(hash, bytes, got);
        if (f)
            fclose(f);
        free(entry[i]);
    }
    if (n >= 0)
        free(entry);
    return hash;
}

/* ---------------------------------------------------------------- checks */

/* Little memory: open refuses, and leaves nothing. */
static void check_budget(struct visit *v)
{
    int r = enter(v, 1);

    if (r >= 0) {
        leave(v);
        check_line(v->c, true, "it needs no memory of the device", "%s", "");
        return;
    }
    check_line(v->c, r == -ENOMEM && !v->algo && !watch_counts().live,
               "open without memory is undone",
               "it returned %d (%s), set its output or left %u objects", r, strerror(-r),
               watch_counts().live);
    v->algo = NULL;
}

/* Each making fails once: open undoes what it has made. */
static void check_failing_open(struct visit *v)
{
    const char *wrong = NULL;
    uint32_t n = 0;
    int r;

    do {
        watch_fail(++n);
        r = enter(v, MEMORY);
        if (r >= 0)
            leave(v);
        if (watch_counts().failed_at[0])
            wrong = r >= 0                ? "it went on when a making failed"
                    : watch_counts().live ? "it left objects when a making failed"
                                          : NULL;
    } while (!wrong && watch_counts().failed_at[0] && n < MAKINGS_MAX);
    watch_fail(0);
    v->algo = NULL;
    check_line(v->c, !wrong && n < MAKINGS_MAX, "open undoes everything when a making fails",
               "%s (making %u)", wrong ? wrong : "there is no end of them", n);
}

static int one_slice(struct visit *v, double *ret_us)
{
    const uint64_t from = clock_ns();
    int r = v->of->submit(v->algo, v->queue, SLICE_US);

    if (r == 0)
        r = trg_finish(v->queue);
    *ret_us = (double)(clock_ns() - from) * 1e-3;
    return r < 0 ? r : v->of->collect(v->algo, *ret_us);
}

static int compare(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static bool check_slices(struct visit *v)
{
    double us[SLICES];
    char what[96];
    uint32_t n = 0;
    int r = v->answer;

    while (r == TRG_GUEST_MORE && n < SLICES)
        r = one_slice(v, &us[n++]);
    if (r < 0 || !n) {
        check_line(v->c, r >= 0, n ? "slices" : "it is done before its first slice",
                   "slice %u returned %d (%s)", n, r, strerror(-r));
        return r >= 0;
    }
    qsort(us, n, sizeof *us, compare);
    snprintf(what, sizeof what, "slices: %u of %.0f us took %.0f us (median), %.0f us at most", n,
             SLICE_US, us[n / 2], us[n - 1]);
    check_line(v->c, r <= TRG_GUEST_DONE && us[n / 2] <= LONGEST_US, what,
               "the last answered %d; a slice may take %.0f ms at most", r, LONGEST_US * 1e-3);
    v->answer = r;
    return true;
}

static void check_progress(struct visit *v)
{
    char text[LINE_BYTES];

    memset(text, 1, sizeof text);
    v->of->progress(v->algo, text, sizeof text);
    check_line(v->c, memchr(text, 0, sizeof text) && text[0] > 1, "progress is a line", "%s",
               "it wrote none, or one without an end");
}

/* What a checkpoint holds is all that there is: opened and saved again it is the same. */
static void check_checkpoint(struct visit *v)
{
    uint64_t before, after = 0;
    int r = v->of->save(v->algo, v->queue);

    before = folder_hash(v);
    leave(v);
    if (r == 0)
        r = enter(v, MEMORY);
    if (r >= 0) {
        r = v->of->save(v->algo, v->queue);
        after = folder_hash(v);
        leave(v);
    }
    check_line(v->c, r == 0 && before && before == after,
               "a checkpoint that is opened and saved again is the same, to the byte", "%s",
               r < 0     ? strerror(-r)
               : !before ? "there is no file in its folder"
                         : "the files of its folder differ");
}

void check_guest(struct check *c)
{
    struct visit v = {.c = c, .of = c->plugin->d.guest, .folder = "/tmp/trigctl-guest-XXXXXX"};

    if (!mkdtemp(v.folder)) {
        check_line(c, false, "a folder", "%s", strerror(errno));
        return;
    }
    v.of->close(NULL);
    check_line(c, true, "close(NULL)", "%s", "");
    check_budget(&v);
    check_failing_open(&v);
    check_line(c, enter(&v, MEMORY) >= 0, "open", "it returned %d (%s)", v.answer,
               strerror(-v.answer));
    if (v.answer >= 0) {
        if (check_slices(&v))
            check_progress(&v);
        check_checkpoint(&v);
    }
    folder_remove(v.folder);
}
