/* SPDX-License-Identifier: Apache-2.0 */
#include "roifile.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "log.h"

#define MAGIC "TRGROI1\n"
#define END "TRGEND1\n"
#define MARK_BYTES 8u
#define RECORD_MAX (64u << 20) /* no record of ours is longer */

struct roifile_writer {
    FILE *file;
    uint64_t bytes; /* whole records only */
    uint64_t *offset;
    uint32_t *rois;
    uint32_t n, room;
};

struct roifile_reader {
    FILE *file;
    char path[4096];
    Trigd__V1__FileHeader *header;
    long first; /* where the records begin */
    unsigned char *record;
    size_t room;
};

static uint32_t put_varint(uint64_t v, unsigned char *dst)
{
    uint32_t n = 0;

    while (v >= 0x80) {
        dst[n++] = (unsigned char)(v | 0x80);
        v >>= 7;
    }
    dst[n++] = (unsigned char)v;
    return n;
}

/* ---------------------------------------------------------------- writing */

/* Writes a length and bytes; on failure the file is cut back to what it was. */
static int put_record(struct roifile_writer *w, const void *bytes, size_t n)
{
    unsigned char head[10];
    uint32_t head_n = put_varint(n, head);

    errno = EIO;
    if (fwrite(head, 1, head_n, w->file) == head_n && fwrite(bytes, 1, n, w->file) == n &&
        fflush(w->file) == 0) {
        w->bytes += head_n + n;
        return 0;
    }
    {
        int r = -errno;

        clearerr(w->file);
        if (ftruncate(fileno(w->file), (off_t)w->bytes) < 0 ||
            fseek(w->file, (long)w->bytes, SEEK_SET) < 0)
            log_error("roifile", "cannot cut off a half-written record", "error=\"%s\"",
                      strerror(errno));
        return r;
    }
}

static int put_message(struct roifile_writer *w, const ProtobufCMessage *m)
{
    size_t n = protobuf_c_message_get_packed_size(m);
    unsigned char *bytes = malloc(n ? n : 1);
    int r;

    if (!bytes)
        return -ENOMEM;
    protobuf_c_message_pack(m, bytes);
    r = put_record(w, bytes, n);
    free(bytes);
    return r;
}

int roifile_create(const char *path, const Trigd__V1__FileHeader *header,
                   struct roifile_writer **ret_writer)
{
    struct roifile_writer *w = calloc(1, sizeof *w);
    int r;

    if (!w)
        return -ENOMEM;
    w->file = fopen(path, "wbx");
    if (!w->file) {
        r = -errno;
        free(w);
        return r;
    }
    w->bytes = MARK_BYTES;
    r = fwrite(MAGIC, 1, MARK_BYTES, w->file) == MARK_BYTES ? put_message(w, &header->base) : -EIO;
    if (r < 0) {
        fclose(w->file);
        unlink(path);
        free(w);
        return r;
    }
    *ret_writer = w;
    return 0;
}

static int note(struct roifile_writer *w, uint64_t at, uint32_t n_rois)
{
    if (w->n == w->room) {
        uint32_t room = w->room ? 2 * w->room : 1024;
        uint64_t *offset = realloc(w->offset, room * sizeof *offset);
        uint32_t *rois;

        if (!offset)
            return -ENOMEM;
        w->offset = offset;
        rois = realloc(w->rois, room * sizeof *rois);
        if (!rois)
            return -ENOMEM;
        w->rois = rois;
        w->room = room;
    }
    w->offset[w->n] = at;
    w->rois[w->n++] = n_rois;
    return 0;
}

int roifile_append(struct roifile_writer *w, const void *packed, size_t bytes, uint32_t n_rois)
{
    uint64_t at = w->bytes;
    int r;

    if (!bytes || bytes > RECORD_MAX)
        return -EINVAL;
    r = put_record(w, packed, bytes);
    return r < 0 ? r : note(w, at, n_rois);
}

int roifile_flush(struct roifile_writer *w)
{
    return fflush(w->file) ? -errno : 0;
}

uint64_t roifile_bytes(const struct roifile_writer *w)
{
    return w->bytes;
}

static int put_end(struct roifile_writer *w)
{
    Trigd__V1__FileIndex index = TRIGD__V1__FILE_INDEX__INIT;
    unsigned char at[8];
    uint64_t zero = w->bytes;
    int r;

    index.n_offset = index.n_rois = w->n;
    index.offset = w->offset;
    index.rois = w->rois;
    r = put_record(w, NULL, 0); /* the zero byte */
    if (r == 0)
        r = put_message(w, &index.base);
    for (uint32_t i = 0; i < 8; i++)
        at[i] = (unsigned char)(zero >> (8 * i));
    if (r == 0 && (fwrite(at, 1, 8, w->file) != 8 ||
                   fwrite(END, 1, MARK_BYTES, w->file) != MARK_BYTES))
        r = -EIO;
    return r;
}

int roifile_finish(struct roifile_writer *w)
{
    int r;

    if (!w)
        return 0;
    r = put_end(w);
    if (fclose(w->file) != 0 && r == 0)
        r = -errno;
    free(w->offset);
    free(w->rois);
    free(w);
    return r;
}

/* ---------------------------------------------------------------- reading */

/* 1 and the number; 0 at the end of the file; -EBADMSG for no number. */
static int get_varint(FILE *f, uint64_t *ret_v)
{
    uint64_t v = 0;

    for (uint32_t shift = 0; shift < 64; shift += 7) {
        int c = getc(f);

        if (c == EOF)
            return 0;
        v |= (uint64_t)(c & 0x7f) << shift;
        if (!(c & 0x80)) {
            *ret_v = v;
            return 1;
        }
    }
    return -EBADMSG;
}

static int damaged(const struct roifile_reader *r, const char *what)
{
    log_error("roifile", what, "file=\"%s\" offset=%ld", r->path, ftell(r->file));
    return -EBADMSG;
}

/* Reads `n` bytes into the reader's memory: 1, or 0 when the file ends before. */
static int get_bytes(struct roifile_reader *r, uint64_t n)
{
    if (n > RECORD_MAX)
        return damaged(r, "a record is longer than any can be");
    if (n > r->room) {
        unsigned char *more = realloc(r->record, n);

        if (!more)
            return -ENOMEM;
        r->record = more;
        r->room = n;
    }
    return fread(r->record, 1, n, r->file) == n;
}

static int read_header(struct roifile_reader *r)
{
    char magic[MARK_BYTES];
    uint64_t n;

    if (fread(magic, 1, sizeof magic, r->file) != sizeof magic ||
        memcmp(magic, MAGIC, sizeof magic) != 0)
        return damaged(r, "not an RoI file: it does not begin with TRGROI1");
    if (get_varint(r->file, &n) != 1 || get_bytes(r, n) != 1)
        return damaged(r, "not an RoI file: its header is cut off");
    r->header = trigd__v1__file_header__unpack(NULL, n, r->record);
    if (!r->header)
        return damaged(r, "not an RoI file: its header is no FileHeader");
    r->first = ftell(r->file);
    return 0;
}

int roifile_open(const char *path, struct roifile_reader **ret_reader)
{
    struct roifile_reader *r = calloc(1, sizeof *r);
    int result;

    if (!r)
        return -ENOMEM;
    snprintf(r->path, sizeof r->path, "%s", path);
    r->file = fopen(path, "rb");
    result = r->file ? read_header(r) : -errno;
    if (result < 0) {
        roifile_close(r);
        return result;
    }
    *ret_reader = r;
    return 0;
}

const Trigd__V1__FileHeader *roifile_header(const struct roifile_reader *r)
{
    return r->header;
}

int roifile_next(struct roifile_reader *r, const void **ret_bytes, size_t *ret_n)
{
    long at = ftell(r->file);
    uint64_t n;
    int result = get_varint(r->file, &n);

    if (result == 1 && n == 0)
        return 0; /* the index follows */
    if (result == 1)
        result = get_bytes(r, n);
    if (result == 0) { /* a half-written record: it may be whole the next time */
        clearerr(r->file);
        return fseek(r->file, at, SEEK_SET) < 0 ? -errno : 0;
    }
    if (result < 0)
        return result;
    *ret_bytes = r->record;
    *ret_n = n;
    return 1;
}

void roifile_rewind(struct roifile_reader *r)
{
    clearerr(r->file);
    if (fseek(r->file, r->first, SEEK_SET) < 0)
        damaged(r, "cannot seek");
}

void roifile_close(struct roifile_reader *r)
{
    if (!r)
        return;
    if (r->header)
        trigd__v1__file_header__free_unpacked(r->header, NULL);
    if (r->file)
        fclose(r->file);
    free(r->record);
    free(r);
}
