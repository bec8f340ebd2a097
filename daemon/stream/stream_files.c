/* SPDX-License-Identifier: Apache-2.0 */
#include "stream/stream_files.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

#include "blockfile.h"
#include "clock.h"
#include "log.h"
#include "stream/stream_folder.h"
#include "stream/stream_titles.h"

#define OPEN_MAX_FILES 4u
#define LOOK_NS        (100 * NS_PER_MS) /* between two looks at the folder when it is full */
#define PART           ".part"

struct file {
    struct blockfile_writer *writer; /* NULL: the place is free */
    const struct stream_titles *titles;
    uint32_t run, lumi_block;
    char path[PATH_MAX];
    uint64_t opened_ns, used_ns, synced_ns;
    uint64_t gathered_ns; /* when its block began */
    bool is_unsynced;
    uint32_t n[SHARDS_MAX]; /* gathered RoIs */
};

struct stream_files {
    struct stream_files_setup s;
    struct file file[OPEN_MAX_FILES];
    uint32_t number;      /* of files so far */
    uint64_t run_bytes;   /* written by this process */
    uint64_t quota_bytes; /* in the folder */
    uint64_t looked_ns;
};

int stream_files_new(const struct stream_files_setup *setup, struct stream_files **ret_files)
{
    struct stream_files *f = calloc(1, sizeof *f);

    if (!f)
        return -ENOMEM;
    f->s = *setup;
    *ret_files = f;
    return 0;
}

bool stream_files_is_full(int error)
{
    return error == -EDQUOT || error == -ENOSPC || error == -EFBIG;
}

void stream_files_recover(struct stream_files *f)
{
    stream_folder_recover(f->s.folder, f->s.name);
}

/* ---------------------------------------------------------------- room */

static int check_quota(struct stream_files *f, uint64_t bytes)
{
    const uint64_t now = clock_ns();

    if (!f->s.quota_bytes || f->quota_bytes + bytes <= f->s.quota_bytes)
        return 0;
    if (f->looked_ns && now < f->looked_ns + LOOK_NS)
        return -EDQUOT;
    f->looked_ns = now; /* somebody may have moved files away */
    f->quota_bytes = stream_folder_bytes(f->s.folder, f->s.name);
    return f->quota_bytes + bytes <= f->s.quota_bytes ? 0 : -EDQUOT;
}

/* Whether the disk may take so many bytes more. */
static int check_room(struct stream_files *f, uint64_t bytes)
{
    struct statvfs v;

    if (f->run_bytes + bytes > f->s.run_bytes)
        return -EDQUOT;
    if (statvfs(f->s.folder, &v) < 0)
        return -errno;
    if ((uint64_t)v.f_bavail * v.f_frsize < f->s.free_bytes + bytes)
        return -ENOSPC;
    return check_quota(f, bytes);
}

/* ---------------------------------------------------------------- one file */

static int flush(struct stream_files *f, struct file *file)
{
    const uint64_t before = blockfile_bytes(file->writer);
    uint64_t bytes;
    int r;

    if (!blockfile_gathered(file->writer))
        return 0;
    r = check_room(f, blockfile_gathered(file->writer));
    if (r == 0)
        r = blockfile_flush(file->writer);
    if (r < 0)
        return r;
    bytes = blockfile_bytes(file->writer) - before;
    f->run_bytes += bytes;
    f->quota_bytes += bytes;
    file->is_unsynced = true;
    f->s.settle(f->s.ctx, file->n, 0, bytes);
    memset(file->n, 0, sizeof file->n);
    return 0;
}

/* Completes a file without a gathered block; one without RoIs is removed. */
static void complete(struct stream_files *f, struct file *file)
{
    const bool is_empty = !blockfile_rois(file->writer);
    char path[PATH_MAX];
    int r = blockfile_finish(file->writer);

    file->writer = NULL;
    snprintf(path, sizeof path, "%.*s", (int)(strlen(file->path) - strlen(PART)), file->path);
    if (is_empty) {
        unlink(file->path);
        return;
    }
    if (r == 0 && rename(file->path, path) < 0)
        r = -errno;
    if (r < 0)
        log_error("stream", "a file of a stream cannot be completed: the next start does it",
                  "file=\"%s\" error=\"%s\"", file->path, strerror(-r));
    else
        f->s.complete(f->s.ctx);
}

/* ---------------------------------------------------------------- opening */

static void name_file(struct stream_files *f, const struct roi_message *m, char *ret_path)
{
    const time_t now = time(NULL);
    char stamp[32];
    struct tm tm;

    gmtime_r(&now, &tm);
    strftime(stamp, sizeof stamp, "%Y%m%dT%H%M%SZ", &tm);
    snprintf(ret_path, PATH_MAX, "%.3900s/%s-r%06u-b%04u-m%016" PRIx64 "-%s-%d-%04u.roi" PART,
             f->s.folder, f->s.name, m->run, m->lumi_block, m->titles->menu_key, stamp,
             (int)getpid(), ++f->number);
}

static int create(struct stream_files *f, const struct roi_message *m, struct file *file)
{
    Trigd__V1__FileHeader *h = stream_titles_header(m->titles);
    char *name;
    int r;

    if (!h)
        return -ENOMEM;
    name = strdup(f->s.name);
    if (name) {
        h->stream = name; /* freed with the header */
        h->created_unix_s = (uint64_t)time(NULL);
        h->run = m->run;
        h->has_lumi_block = f->s.by_lumi_block;
        h->lumi_block = f->s.by_lumi_block ? m->lumi_block : 0;
    }
    r = name ? blockfile_create(file->path, h, f->s.level, &file->writer) : -ENOMEM;
    trigd__v1__file_header__free_unpacked(h, NULL);
    return r;
}

static bool is_for(const struct stream_files *f, const struct file *file,
                   const struct roi_message *m)
{
    if (!file->writer || f->s.is_debug)
        return file->writer != NULL;
    return file->run == m->run && file->titles == m->titles &&
           (!f->s.by_lumi_block || file->lumi_block == m->lumi_block);
}

/* A free place; completes the file that was not used for the longest time. */
static int free_place(struct stream_files *f, struct file **ret_file)
{
    struct file *oldest = &f->file[0];
    int r;

    for (uint32_t i = 0; i < OPEN_MAX_FILES; i++) {
        if (!f->file[i].writer) {
            *ret_file = &f->file[i];
            return 0;
        }
        if (f->file[i].used_ns < oldest->used_ns)
            oldest = &f->file[i];
    }
    r = flush(f, oldest);
    if (r < 0)
        return r;
    complete(f, oldest);
    *ret_file = oldest;
    return 0;
}

static int open_file(struct stream_files *f, const struct roi_message *m, struct file **ret_file)
{
    struct file *file = NULL;
    int r = check_room(f, m->titles->bytes + m->bytes);

    if (r == 0)
        r = free_place(f, &file);
    if (r < 0)
        return r;
    memset(file, 0, sizeof *file);
    file->titles = m->titles;
    file->run = m->run;
    file->lumi_block = m->lumi_block;
    file->opened_ns = file->synced_ns = clock_ns();
    name_file(f, m, file->path);
    r = create(f, m, file);
    if (r < 0)
        return r;
    f->run_bytes += blockfile_bytes(file->writer);
    f->quota_bytes += blockfile_bytes(file->writer);
    *ret_file = file;
    return 0;
}

/* ---------------------------------------------------------------- RoIs */

static struct file *find(struct stream_files *f, const struct roi_message *m)
{
    for (uint32_t i = 0; i < OPEN_MAX_FILES; i++)
        if (is_for(f, &f->file[i], m))
            return &f->file[i];
    return NULL;
}

static bool is_full_block(const struct stream_files *f, const struct file *file)
{
    const size_t gathered = blockfile_gathered(file->writer);

    return gathered >= BLOCKFILE_BLOCK || (gathered && !f->s.flush_ns);
}

int stream_files_add(struct stream_files *f, const struct roi_message *m)
{
    struct file *file = find(f, m);
    int r = 0;

    if (file && is_full_block(f, file))
        r = flush(f, file);
    if (r == 0 && file && blockfile_bytes(file->writer) >= f->s.file_bytes) {
        r = flush(f, file);
        if (r == 0) {
            complete(f, file);
            file = NULL;
        }
    }
    if (r == 0 && !file)
        r = open_file(f, m, &file);
    if (r < 0)
        return r;
    file->used_ns = clock_ns();
    if (!blockfile_gathered(file->writer))
        file->gathered_ns = file->used_ns;
    r = blockfile_add(file->writer, m->packed, m->bytes, 1);
    if (r == 0)
        file->n[m->shard]++;
    return r;
}

/* Syncs or completes a file whose time has come. */
static void look_after(struct stream_files *f, struct file *file, uint64_t now)
{
    int r = 0;

    if (f->s.age_ns && now >= file->opened_ns + f->s.age_ns) {
        complete(f, file);
        return;
    }
    if (!f->s.sync_ns || !file->is_unsynced || now < file->synced_ns + f->s.sync_ns)
        return;
    r = blockfile_sync(file->writer);
    if (r < 0)
        log_error("stream", "a file of a stream cannot be synced", "file=\"%s\" error=\"%s\"",
                  file->path, strerror(-r));
    file->synced_ns = now;
    file->is_unsynced = false;
}

int stream_files_flush(struct stream_files *f, bool all)
{
    int first = 0;

    for (uint32_t i = 0; i < OPEN_MAX_FILES; i++) {
        struct file *file = &f->file[i];
        const uint64_t now = clock_ns();
        int r = 0;

        if (!file->writer)
            continue;
        if (all || is_full_block(f, file) || now >= file->gathered_ns + f->s.flush_ns)
            r = flush(f, file);
        if (r == 0 && !blockfile_gathered(file->writer))
            look_after(f, file, now);
        first = first < 0 ? first : r;
    }
    return first;
}

void stream_files_drop(struct stream_files *f, int error)
{
    for (uint32_t i = 0; i < OPEN_MAX_FILES; i++) {
        struct file *file = &f->file[i];

        if (!file->writer || !blockfile_gathered(file->writer))
            continue;
        blockfile_drop(file->writer);
        f->s.settle(f->s.ctx, file->n, error, 0);
        memset(file->n, 0, sizeof file->n);
    }
}

static uint64_t earlier(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

uint64_t stream_files_due_ns(const struct stream_files *f)
{
    uint64_t due = UINT64_MAX;

    for (uint32_t i = 0; i < OPEN_MAX_FILES; i++) {
        const struct file *file = &f->file[i];

        if (!file->writer)
            continue;
        if (blockfile_gathered(file->writer))
            due = earlier(due, file->gathered_ns + f->s.flush_ns);
        if (f->s.age_ns)
            due = earlier(due, file->opened_ns + f->s.age_ns);
        if (f->s.sync_ns && file->is_unsynced)
            due = earlier(due, file->synced_ns + f->s.sync_ns);
    }
    return due;
}

void stream_files_close(struct stream_files *f)
{
    if (!f)
        return;
    for (uint32_t i = 0; i < OPEN_MAX_FILES; i++)
        if (f->file[i].writer)
            complete(f, &f->file[i]);
    free(f);
}
