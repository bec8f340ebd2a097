/* SPDX-License-Identifier: Apache-2.0 */
#include "decisions.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "blockfile.h"
#include "trigd.pb-c.h"

#define LEVEL         3   /* of compression */
#define KEPT_DECISION 5u  /* number of the field in trigd.proto */
#define LENGTH_MAX    10u /* bytes of a varint */

struct buffer {
    unsigned char *at;
    size_t room;
};

struct decisions {
    char *path;
    pthread_mutex_t lock; /* of what follows */
    struct blockfile_writer *file;
    struct buffer decision, packed;
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

/* The Welcome of the daemon, which the caller frees; NULL: no memory. */
static Trigd__V1__Welcome *welcome_of(const struct trg_client *client)
{
    const size_t n = trg_client_names_message(client, NULL, 0);
    unsigned char *bytes = malloc(n + 1);
    Trigd__V1__Welcome *w = NULL;

    if (bytes) {
        trg_client_names_message(client, bytes, n);
        w = trigd__v1__welcome__unpack(NULL, n, bytes);
    }
    free(bytes);
    return w;
}

static int create(const char *path, const Trigd__V1__Welcome *w, struct blockfile_writer **ret_file)
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
    return blockfile_create(path, &h, LEVEL, ret_file);
}

void decisions_begin(struct decisions *d, const struct trg_client *client)
{
    Trigd__V1__Welcome *w = welcome_of(client);

    pthread_mutex_lock(&d->lock);
    if (!d->file && !d->error)
        d->error = w ? create(d->path, w, &d->file) : -ENOMEM;
    pthread_mutex_unlock(&d->lock);
    if (w)
        trigd__v1__welcome__free_unpacked(w, NULL);
}

/* Makes room for so many bytes. */
static int grow(struct buffer *b, size_t bytes)
{
    unsigned char *more;

    if (bytes <= b->room)
        return 0;
    more = realloc(b->at, 2 * bytes);
    if (!more)
        return -ENOMEM;
    b->at = more;
    b->room = 2 * bytes;
    return 0;
}

/* The decision's bytes as the library gives them, behind their length: a field of Kept. */
static int take_message(struct decisions *d, const struct trg_client_end *end,
                        ProtobufCMessageUnknownField *ret_field)
{
    const size_t n = trg_client_end_message(end, NULL, 0);
    size_t head = 0, left = n;

    if (grow(&d->decision, n + LENGTH_MAX) < 0)
        return -ENOMEM;
    do {
        d->decision.at[head++] = (uint8_t)(left < 0x80 ? left : (left | 0x80));
        left >>= 7;
    } while (left);
    trg_client_end_message(end, d->decision.at + head, n);
    *ret_field = (ProtobufCMessageUnknownField){.tag = KEPT_DECISION,
                                                .wire_type = PROTOBUF_C_WIRE_TYPE_LENGTH_PREFIXED,
                                                .len = head + n,
                                                .data = d->decision.at};
    return 0;
}

/* Under the lock. */
static int add(struct decisions *d, const struct trg_client_end *end)
{
    Trigd__V1__RoiBatch batch = TRIGD__V1__ROI_BATCH__INIT;
    Trigd__V1__Roi roi = TRIGD__V1__ROI__INIT, *list = &roi;
    Trigd__V1__Kept kept = TRIGD__V1__KEPT__INIT;
    ProtobufCMessageUnknownField decision;
    size_t n;
    int r = take_message(d, end, &decision);

    if (r < 0)
        return r;
    roi.run = end->run;
    roi.l1id = end->l1id;
    roi.roi_id = end->roi_id;
    roi.kept = &kept;
    kept.status = (Trigd__V1__Status)end->status;
    kept.menu_key = end->menu_key;
    kept.base.n_unknown_fields = 1;
    kept.base.unknown_fields = &decision;
    batch.n_rois = 1;
    batch.rois = &list;
    n = trigd__v1__roi_batch__get_packed_size(&batch);
    if (grow(&d->packed, n) < 0)
        return -ENOMEM;
    trigd__v1__roi_batch__pack(&batch, d->packed.at);
    r = blockfile_add(d->file, d->packed.at, n, 1);
    return r == 0 && blockfile_gathered(d->file) >= BLOCKFILE_BLOCK ? blockfile_flush(d->file) : r;
}

void decisions_add(struct decisions *d, const struct trg_client_end *end)
{
    pthread_mutex_lock(&d->lock);
    if (d->file && !d->error)
        d->error = add(d, end);
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
    free(d->decision.at);
    free(d->packed.at);
    free(d->path);
    free(d);
    return r < 0 ? r : finished;
}
