/* SPDX-License-Identifier: Apache-2.0 */
#include "roifile.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "block.h"
#include "fileio.h"
#include "log.h"

#define MAGIC      "TRGROI1\n"
#define END        "TRGEND1\n"
#define MARK_BYTES 8u
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
    bool has_blocks;
    uint64_t first; /* where the records begin */
    uint64_t at;    /* of the next one, or of the next block */
    unsigned char *record;
    size_t room;
    unsigned char *block; /* unpacked */
    size_t n_block, next; /* its bytes, and how many were read of them */
    uint64_t n_lost;
};

/* ---------------------------------------------------------------- writing */

/* Puts the parts at the end of the file, all of them or none. */
static int put(struct roifile_writer *w, struct iovec *part, int n)
{
    uint64_t bytes = 0;
    int r;

    for (int i = 0; i < n; i++)
        bytes += part[i].iov_len;
    r = fileio_put(w->fd, part, n, w->bytes);
    if (r == 0)
        w->bytes += bytes;
    return r;
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
    parts[0] = fileio_part(MAGIC, MARK_BYTES);
    parts[1] = fileio_part(length, varint_put(n, length));
    parts[2] = fileio_part(bytes, n);
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
    parts[0] = fileio_part(length, varint_put(bytes, length));
    parts[1] = fileio_part(packed, bytes);
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
    parts[0] = fileio_part(length, 1 + varint_put(n, length + 1));
    parts[1] = fileio_part(bytes, n);
    parts[2] = fileio_part(at, sizeof at);
    parts[3] = fileio_part(END, MARK_BYTES);
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

static int damaged(const struct roifile_reader *r, const char *what, uint64_t at)
{
    log_error("roifile", what, "file=\"%s\" offset=%llu", r->path, (unsigned long long)at);
    return -EBADMSG;
}

/* The length at `at`: bytes that it takes, 0 when the file ends within it. */
static int read_length(const struct roifile_reader *r, uint64_t at, uint64_t *ret_length)
{
    unsigned char bytes[VARINT_MAX];
    ssize_t n = fileio_read_at(r->fd, bytes, sizeof bytes, at);
    uint32_t used;

    if (n < 0)
        return (int)n;
    used = varint_get(bytes, (size_t)n, ret_length);
    if (used)
        return (int)used;
    return n == VARINT_MAX ? damaged(r, "a record's length is no number", at) : 0;
}

/* Reads `n` bytes into the reader's memory: 1, or 0 when the file ends before. */
static int read_bytes(struct roifile_reader *r, uint64_t n, uint64_t at)
{
    struct stat st;
    ssize_t got;

    if (n > (r->has_blocks ? BLOCK_MAX : RECORD_MAX))
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
    got = fileio_read_at(r->fd, r->record, n, at);
    return got < 0 ? (int)got : (uint64_t)got == n;
}

/* Reads the contents of a block: 1, or 0 when the file ends before. */
static int read_contents(struct roifile_reader *r, const struct block *b, uint64_t at)
{
    return read_bytes(r, b->bytes, at + BLOCK_HEAD);
}

/* Finds the packed FileHeader and leaves it in the reader's memory: 1; 0: the file is cut off. */
static int find_header(struct roifile_reader *r, uint64_t *ret_n)
{
    struct block b;
    int used, there;

    if (!r->has_blocks) {
        used = read_length(r, MARK_BYTES, ret_n);
        there = used > 0 ? read_bytes(r, *ret_n, MARK_BYTES + (uint64_t)used) : used;
        r->first = MARK_BYTES + (uint64_t)(used > 0 ? used : 0) + *ret_n;
        return there;
    }
    there = block_read_head(r->fd, MARK_BYTES, &b);
    if (there == 1)
        there = read_contents(r, &b, MARK_BYTES);
    if (there == 1 &&
        (b.kind != BLOCK_HEADER || b.codec != BLOCK_PLAIN || !block_is_whole(&b, r->record)))
        there = -EBADMSG;
    if (there == -EBADMSG)
        return damaged(r, "not an RoI file: its header is damaged", MARK_BYTES);
    if (there == 1) {
        *ret_n = b.bytes;
        r->first = MARK_BYTES + BLOCK_HEAD + b.bytes;
    }
    return there;
}

static int read_header(struct roifile_reader *r)
{
    char magic[MARK_BYTES];
    uint64_t n = 0;
    ssize_t got = fileio_read_at(r->fd, magic, sizeof magic, 0);
    int there;

    if (got < 0)
        return (int)got;
    r->has_blocks = got == sizeof magic && !memcmp(magic, BLOCK_FILE_MAGIC, sizeof magic);
    if (got != sizeof magic || (!r->has_blocks && memcmp(magic, MAGIC, sizeof magic) != 0))
        return damaged(r, "not an RoI file: it begins with neither TRGROI1 nor TRGROI2", 0);
    there = find_header(r, &n);
    if (there == 0)
        return damaged(r, "not an RoI file: its header is cut off", MARK_BYTES);
    if (there < 0)
        return there;
    r->header = trigd__v1__file_header__unpack(NULL, n, r->record);
    if (!r->header)
        return damaged(r, "not an RoI file: its header is no FileHeader", MARK_BYTES);
    r->at = r->first;
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

/* Unpacks the next block of records: 1; 0 at the end.  What is damaged in it is left out. */
static int next_block(struct roifile_reader *r)
{
    struct block b;
    int there = block_read_head(r->fd, r->at, &b);
    unsigned char *more;

    if (there == 1 && b.kind == BLOCK_INDEX)
        return 0;
    if (there == 1)
        there = read_contents(r, &b, r->at);
    if (there == -EBADMSG || (there == 1 && b.kind != BLOCK_RECORDS))
        return damaged(r, "here begins no block", r->at);
    if (there <= 0)
        return there;
    more = realloc(r->block, b.unpacked ? b.unpacked : 1);
    if (!more)
        return -ENOMEM;
    r->block = more;
    r->next = 0;
    if (block_is_whole(&b, r->record) && block_unpack(&b, r->record, r->block) == 0) {
        r->n_block = b.unpacked;
    } else {
        damaged(r, "a block is damaged: its RoIs are left out", r->at);
        r->n_block = 0;
        r->n_lost += b.n_rois;
    }
    r->at += BLOCK_HEAD + b.bytes;
    return 1;
}

static int next_in_block(struct roifile_reader *r, const void **ret_bytes, size_t *ret_n)
{
    const uint64_t at = r->at;
    uint64_t n = 0;
    uint32_t used;

    while (r->next == r->n_block) {
        int there = next_block(r);

        if (there <= 0)
            return there;
    }
    used = varint_get(r->block + r->next, r->n_block - r->next, &n);
    if (!used || !n || n > r->n_block - r->next - used) {
        r->next = r->n_block;
        return damaged(r, "a block holds no records", at);
    }
    *ret_bytes = r->block + r->next + used;
    *ret_n = n;
    r->next += used + n;
    return 1;
}

uint64_t roifile_lost(const struct roifile_reader *r)
{
    return r->n_lost;
}

static int next_record(struct roifile_reader *r, const void **ret_bytes, size_t *ret_n)
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

int roifile_next(struct roifile_reader *r, const void **ret_bytes, size_t *ret_n)
{
    return r->has_blocks ? next_in_block(r, ret_bytes, ret_n) : next_record(r, ret_bytes, ret_n);
}

void roifile_rewind(struct roifile_reader *r)
{
    r->at = r->first;
    r->next = r->n_block = 0;
    r->n_lost = 0;
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

/* Finds the packed index at `at`, which ends at `end`: 1, and it is in the reader's memory. */
static int find_index(struct roifile_reader *r, uint64_t at, uint64_t end, uint64_t *ret_n)
{
    unsigned char zero = 1;
    struct block b;
    int used;

    if (at < r->first || at >= end)
        return 0;
    if (r->has_blocks) {
        if (block_read_head(r->fd, at, &b) != 1 || b.kind != BLOCK_INDEX ||
            b.codec != BLOCK_PLAIN || at + BLOCK_HEAD + b.bytes != end)
            return 0;
        *ret_n = b.bytes;
        return read_contents(r, &b, at) == 1 && block_is_whole(&b, r->record);
    }
    if (fileio_read_at(r->fd, &zero, 1, at) != 1 || zero != 0)
        return 0;
    used = read_length(r, at + 1, ret_n);
    return used > 0 && at + 1 + (uint64_t)used + *ret_n == end &&
           read_bytes(r, *ret_n, at + 1 + (uint64_t)used) == 1;
}

/* Adds up the index at `at`. */
static int read_index(struct roifile_reader *r, uint64_t at, uint64_t end, uint64_t *ret_records,
                      uint64_t *ret_rois)
{
    Trigd__V1__FileIndex *index;
    uint64_t n = 0, rois = 0;

    if (find_index(r, at, end, &n) != 1)
        return damaged(r, "the index is not where the end of the file says", at);
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
    got = fileio_read_at(r->fd, tail, sizeof tail, size - sizeof tail);
    if (got < 0)
        return (int)got;
    if (got != sizeof tail ||
        memcmp(tail + 8, r->has_blocks ? BLOCK_FILE_END : END, MARK_BYTES) != 0)
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
    free(r->block);
    free(r);
}

const char *roifile_why(int error)
{
    return error == -EBADMSG   ? "it is no RoI file, or it is damaged"
           : error == -ENODATA ? "it holds no complete RoI"
                               : strerror(-error);
}
