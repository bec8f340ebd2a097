/* SPDX-License-Identifier: Apache-2.0 */
#include "decisions.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "blockfile.h"

#define LEVEL 3 /* of compression */

struct decisions {
    char *path;
    pthread_mutex_t lock; /* of what follows */
    struct blockfile_writer *file;
    unsigned char *packed;
    size_t room;
    int error; /* the first */
};

int decisions_open(const char *path, struct decisions **ret_decisions)
{
    struct decisions *d = calloc(1, sizeof *d);

    if (!d)
        return -ENOMEM;
    d->path = strdup(path);
    if (!d->path || access(path, F_OK) == 0) {
        const int r = d->path ? -EEXIST : -ENOMEM;

        free(d->path);
        free(d);
        return r;
    }
    pthread_mutex_init(&d->lock, NULL);
    *ret_decisions = d;
    return 0;
}

void decisions_begin(struct decisions *d, const Trigd__V1__Welcome *w)
{
    Trigd__V1__FileHeader h = TRIGD__V1__FILE_HEADER__INIT;

    h.version = 2;
    h.creator = (char *)"trigreplay run " TRIGD_VERSION;
    h.created_unix_s = (uint64_t)time(NULL);
    h.stream = (char *)"decisions";
    h.menu_key = w->menu_key;
    h.n_chains = w->n_chains;
    h.chains = w->chains;
    h.n_streams = w->n_streams;
    h.streams = w->streams;
    h.n_steps = w->n_steps;
    h.steps = w->steps;
    pthread_mutex_lock(&d->lock);
    if (!d->file && !d->error)
        d->error = blockfile_create(d->path, &h, LEVEL, &d->file);
    pthread_mutex_unlock(&d->lock);
}

/* Under the lock. */
static int add(struct decisions *d, const Trigd__V1__RoiBatch *batch)
{
    const size_t n = trigd__v1__roi_batch__get_packed_size(batch);
    int r;

    if (n > d->room) {
        unsigned char *more = realloc(d->packed, 2 * n);

        if (!more)
            return -ENOMEM;
        d->packed = more;
        d->room = 2 * n;
    }
    trigd__v1__roi_batch__pack(batch, d->packed);
    r = blockfile_add(d->file, d->packed, n, 1);
    return r == 0 && blockfile_gathered(d->file) >= BLOCKFILE_BLOCK ? blockfile_flush(d->file) : r;
}

void decisions_add(struct decisions *d, const Trigd__V1__Decision *decision)
{
    Trigd__V1__RoiBatch batch = TRIGD__V1__ROI_BATCH__INIT;
    Trigd__V1__Roi roi = TRIGD__V1__ROI__INIT, *list = &roi;
    Trigd__V1__Kept kept = TRIGD__V1__KEPT__INIT;

    roi.token = decision->token;
    roi.run = decision->run;
    roi.l1id = decision->l1id;
    roi.roi_id = decision->roi_id;
    roi.kept = &kept;
    kept.status = decision->status;
    kept.menu_key = decision->menu_key;
    kept.decision = (Trigd__V1__Decision *)(uintptr_t)decision;
    batch.n_rois = 1;
    batch.rois = &list;
    pthread_mutex_lock(&d->lock);
    if (d->file && !d->error)
        d->error = add(d, &batch);
    pthread_mutex_unlock(&d->lock);
}

int decisions_close(struct decisions *d)
{
    int r, finished;

    if (!d)
        return 0;
    r = d->error;
    if (r == 0 && d->file)
        r = blockfile_flush(d->file);
    finished = blockfile_finish(d->file);
    pthread_mutex_destroy(&d->lock);
    free(d->packed);
    free(d->path);
    free(d);
    return r < 0 ? r : finished;
}
