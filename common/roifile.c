/* SPDX-License-Identifier: Apache-2.0 */
#include "roifile.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "log.h"

#define MAGIC      "TRGROI1\n"
#define END        "TRGEND1\n"
#define MARK_BYTES 8u
#define VARINT_MAX 10u
#define RECORD_MAX (64u << 20) /* no record of ours is longer */

struct roifile_writer {
    int fd;
    uint64_t bytes; /* whole records only: where the next one goes */
    uint64_t *offset;
    uint32_t *rois;
    uint32_t n, room;
};

struct roifile_reader {
    int fd;
    char *path;
    Trigd__V1__FileHeader *header;
    uint64_t first; /* where the records begin */
    uint64_t at;    /* of the next one */
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

static int write_all(int fd, struct iovec *part, int n, uint64_t at)
{
    while (n > 0) {
        ssize_t done = pwritev(fd, part, n, (off_t)at);

        if (done < 0 && errno == EINTR)
            continue;
        if (done <= 0)
            return done < 0 ? -errno : -EIO;
        at += (uint64_t)done;
        for (; n > 0 && (size_t)done >= part->iov_len; n--, part++)
            done -= (ssize_t)part->iov_len;
        if (n > 0) {
            part->iov_base = (char *)part->iov_base + done;
            part->iov_len -= (size_t)done;
        }
    }
    return 0;
}

/* Puts the parts at the end of the file, all of them or none. */
static int put(struct roifile_writer *w, struct iovec *part, int n)
{
    uint64_t bytes = 0;
    int r;

    for (int i = 0; i < n; i++)
        bytes += part[i].iov_len;
    r = write_all(w->fd, part, n, w->bytes);
    if (r == 0)
        w->bytes += bytes;
    else if (ftruncate(w->fd, (off_t)w->bytes) < 0)
        log_error("roifile", "cannot cut off a half-written record", "error=\"%s\"",
                  strerror(errno));
    return r;
}

static struct iovec part(const void *bytes, size_t n)
{
    return (struct iovec){.iov_base = (void *)bytes, .iov_len = n};
}

/* A packed message on the heap, owned by the caller; NULL when memory is out. */
static void *pack(const ProtobufCMessage *m, size_t *ret_n)
{
    size_t n = protobuf_c_message_get_packed_size(m);
    void *bytes = malloc(n ? n : 1);

    if (bytes)
        *ret_n = protobuf_c_message_pack(m, bytes);
    return bytes;
}

static int put_header(struct roifile_writer *w, const Trigd__V1__FileHeader *header)
{
    unsigned char length[VARINT_MAX];
    struct iovec parts[3];
    size_t n = 0;
    void *bytes = pack(&header->base, &n);
    int r;

    if (!bytes)
        return -ENOMEM;
    parts[0] = part(MAGIC, MARK_BYTES);
    parts[1] = part(length, put_varint(n, length));
    parts[2] = part(bytes, n);
    r = put(w, parts, 3);
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
    w->fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (w->fd < 0) {
        r = -errno;
        free(w);
        return r;
    }
    r = put_header(w, header);
    if (r < 0) {
        close(w->fd);
        unlink(path);
        free(w);
        return r;
    }
    *ret_writer = w;
    return 0;
}

/* Makes room for one more record in the index. */
static int reserve(struct roifile_writer *w)
{
    uint32_t room = w->room ? 2 * w->room : 1024;
    uint64_t *offset;
    uint32_t *rois;

    if (w->n < w->room)
        return 0;
    offset = realloc(w->offset, room * sizeof *offset);
    if (!offset)
        return -ENOMEM;
    w->offset = offset;
    rois = realloc(w->rois, room * sizeof *rois);
    if (!rois)
        return -ENOMEM;
    w->rois = rois;
    w->room = room;
    return 0;
}

int roifile_append(struct roifile_writer *w, const void *packed, size_t bytes, uint32_t n_rois)
{
    unsigned char length[VARINT_MAX];
    struct iovec parts[2];
    uint64_t at = w->bytes;
    int r;

    if (!bytes || bytes > RECORD_MAX)
        return -EINVAL;
    r = reserve(w);
    if (r < 0)
        return r;
    parts[0] = part(length, put_varint(bytes, length));
    parts[1] = part(packed, bytes);
    r = put(w, parts, 2);
    if (r < 0)
        return r;
    w->offset[w->n] = at;
    w->rois[w->n++] = n_rois;
    return 0;
}

uint64_t roifile_bytes(const struct roifile_writer *w)
{
    return w->bytes;
}

static int put_end(struct roifile_writer *w)
{
    Trigd__V1__FileIndex index = TRIGD__V1__FILE_INDEX__INIT;
    unsigned char length[1 + VARINT_MAX] = {0}, at[8]; /* the zero byte first */
    struct iovec parts[4];
    size_t n = 0;
    void *bytes;
    int r;

    index.n_offset = index.n_rois = w->n;
    index.offset = w->offset;
    index.rois = w->rois;
    bytes = pack(&index.base, &n);
    if (!bytes)
        return -ENOMEM;
    for (uint32_t i = 0; i < sizeof at; i++)
        at[i] = (unsigned char)(w->bytes >> (8 * i));
    parts[0] = part(length, 1 + put_varint(n, length + 1));
    parts[1] = part(bytes, n);
    parts[2] = part(at, sizeof at);
    parts[3] = part(END, MARK_BYTES);
    r = put(w, parts, 4);
    free(bytes);
    return r;
}

int roifile_finish(struct roifile_writer *w)
{
    int r;

    if (!w)
        return 0;
    r = put_end(w);
    if (close(w->fd) < 0 && r == 0)
        r = -errno;
    free(w->offset);
    free(w->rois);
    free(w);
    return r;
}

/* ---------------------------------------------------------------- reading */

/* How many of the `n` bytes at `at` there are, which are then in `dst`; negative errno. */
static ssize_t read_at(const struct roifile_reader *r, void *dst, size_t n, uint64_t at)
{
    size_t done = 0;

    while (done < n) {
        ssize_t got = pread(r->fd, (char *)dst + done, n - done, (off_t)(at + done));

        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return -errno;
        if (got == 0)
            break;
        done += (size_t)got;
    }
    return (ssize_t)done;
}

static int damaged(const struct roifile_reader *r, const char *what, uint64_t at)
{
    log_error("roifile", what, "file=\"%s\" offset=%llu", r->path, (unsigned long long)at);
    return -EBADMSG;
}

/* The length at `at`: bytes that it takes, 0 when the file ends within it. */
static int read_length(const struct roifile_reader *r, uint64_t at, uint64_t *ret_length)
{
    unsigned char bytes[VARINT_MAX];
    ssize_t n = read_at(r, bytes, sizeof bytes, at);
    uint64_t v = 0;

    if (n < 0)
        return (int)n;
    for (int i = 0; i < n; i++) {
        v |= (uint64_t)(bytes[i] & 0x7f) << (7 * i);
        if (bytes[i] & 0x80)
            continue;
        *ret_length = v;
        return i + 1;
    }
    return n == VARINT_MAX ? damaged(r, "a record's length is no number", at) : 0;
}

/* Reads `n` bytes into the reader's memory: 1, or 0 when the file ends before. */
static int read_bytes(struct roifile_reader *r, uint64_t n, uint64_t at)
{
    struct stat st;
    ssize_t got;

    if (n > RECORD_MAX)
        return damaged(r, "a record is longer than any can be", at);
    if (fstat(r->fd, &st) < 0)
        return -errno;
    if (at + n > (uint64_t)st.st_size)
        return 0;
    if (n > r->room) {
        unsigned char *more = realloc(r->record, n);

        if (!more)
            return -ENOMEM;
        r->record = more;
        r->room = n;
    }
    got = read_at(r, r->record, n, at);
    return got < 0 ? (int)got : (uint64_t)got == n;
}

static int read_header(struct roifile_reader *r)
{
    char magic[MARK_BYTES];
    uint64_t n = 0;
    ssize_t got = read_at(r, magic, sizeof magic, 0);
    int used, there;

    if (got < 0)
        return (int)got;
    if (got != sizeof magic || memcmp(magic, MAGIC, sizeof magic) != 0)
        return damaged(r, "not an RoI file: it does not begin with TRGROI1", 0);
    used = read_length(r, MARK_BYTES, &n);
    there = used > 0 ? read_bytes(r, n, MARK_BYTES + (uint64_t)used) : used;
    if (there == 0)
        return damaged(r, "not an RoI file: its header is cut off", MARK_BYTES);
    if (there < 0)
        return there;
    r->header = trigd__v1__file_header__unpack(NULL, n, r->record);
    if (!r->header)
        return damaged(r, "not an RoI file: its header is no FileHeader", MARK_BYTES);
    r->first = r->at = MARK_BYTES + (uint64_t)used + n;
    return 0;
}

int roifile_open(const char *path, struct roifile_reader **ret_reader)
{
    struct roifile_reader *r = calloc(1, sizeof *r);
    int result = -ENOMEM;

    if (!r)
        return -ENOMEM;
    r->fd = open(path, O_RDONLY | O_CLOEXEC);
    if (r->fd < 0) {
        result = -errno;
        goto fail;
    }
    r->path = strdup(path);
    if (!r->path)
        goto fail;
    result = read_header(r);
    if (result < 0)
        goto fail;
    *ret_reader = r;
    return 0;
fail:
    roifile_close(r);
    return result;
}

const Trigd__V1__FileHeader *roifile_header(const struct roifile_reader *r)
{
    return r->header;
}

int roifile_next(struct roifile_reader *r, const void **ret_bytes, size_t *ret_n)
{
    uint64_t n = 0;
    int used = read_length(r, r->at, &n), there;

    if (used <= 0 || n == 0) /* cut off here, or the index follows: the reader stays */
        return used < 0 ? used : 0;
    there = read_bytes(r, n, r->at + (uint64_t)used);
    if (there <= 0) /* a half-written record may be whole the next time */
        return there;
    r->at += (uint64_t)used + n;
    *ret_bytes = r->record;
    *ret_n = n;
    return 1;
}

void roifile_rewind(struct roifile_reader *r)
{
    r->at = r->first;
}

/* ---------------------------------------------------------------- the index */

/* Whether each record begins behind the one before it and all lie before the index. */
static bool is_in_order(const Trigd__V1__FileIndex *index, uint64_t first, uint64_t end)
{
    if (index->n_offset != index->n_rois || (index->n_offset == 0) != (first == end))
        return false;
    for (size_t i = 0; i < index->n_offset; i++)
        if (index->offset[i] >= end ||
            (i == 0 ? index->offset[0] != first : index->offset[i] <= index->offset[i - 1]))
            return false;
    return true;
}

/* Finds the index behind the zero byte at `at` and adds it up. */
static int read_index(struct roifile_reader *r, uint64_t at, uint64_t end, uint64_t *ret_records,
                      uint64_t *ret_rois)
{
    unsigned char zero = 1;
    Trigd__V1__FileIndex *index;
    uint64_t n = 0, rois = 0;
    int used;

    if (at < r->first || at >= end || read_at(r, &zero, 1, at) != 1 || zero != 0)
        return damaged(r, "the index is not where the end of the file says", at);
    used = read_length(r, at + 1, &n);
    if (used <= 0 || at + 1 + (uint64_t)used + n != end ||
        read_bytes(r, n, at + 1 + (uint64_t)used) != 1)
        return damaged(r, "the index has not the length that it says", at);
    index = trigd__v1__file_index__unpack(NULL, n, r->record);
    if (!index || !is_in_order(index, r->first, at)) {
        if (index)
            trigd__v1__file_index__free_unpacked(index, NULL);
        return damaged(r, "the index does not fit the file", at);
    }
    for (size_t i = 0; i < index->n_rois; i++)
        rois += index->rois[i];
    *ret_records = index->n_offset;
    *ret_rois = rois;
    trigd__v1__file_index__free_unpacked(index, NULL);
    return 1;
}

int roifile_totals(struct roifile_reader *r, uint64_t *ret_records, uint64_t *ret_rois)
{
    unsigned char tail[8 + MARK_BYTES];
    uint64_t at = 0, size;
    struct stat st;
    ssize_t got;

    if (fstat(r->fd, &st) < 0)
        return -errno;
    size = (uint64_t)st.st_size;
    if (size < r->first + sizeof tail)
        return 0;
    got = read_at(r, tail, sizeof tail, size - sizeof tail);
    if (got < 0)
        return (int)got;
    if (got != sizeof tail || memcmp(tail + 8, END, MARK_BYTES) != 0)
        return 0;
    for (uint32_t i = 0; i < 8; i++)
        at |= (uint64_t)tail[i] << (8 * i);
    return read_index(r, at, size - sizeof tail, ret_records, ret_rois);
}

void roifile_close(struct roifile_reader *r)
{
    if (!r)
        return;
    if (r->header)
        trigd__v1__file_header__free_unpacked(r->header, NULL);
    if (r->fd >= 0)
        close(r->fd);
    free(r->path);
    free(r->record);
    free(r);
}
