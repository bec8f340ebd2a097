/* SPDX-License-Identifier: Apache-2.0 */
#include "blockfile.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

#include "block.h"
#include "fileio.h"
#include "log.h"

#define MARK_BYTES 8u
#define TAIL_BYTES (8u + MARK_BYTES)
#define RECORD_MAX (64u << 20)

struct blockfile_writer {
    int fd;
    ZSTD_CCtx *zstd; /* NULL: level 0 */
    uint64_t bytes, rois;
    Trigd__V1__FileIndex index;
    size_t room;             /* of the index */
    unsigned char *gathered; /* the block to come */
    size_t n_gathered, gathered_room;
    uint32_t gathered_rois;
    unsigned char *packed; /* what the file gets of it */
    size_t packed_room;
};

/* ---------------------------------------------------------------- memory */

static int make_room(unsigned char **bytes, size_t *room, size_t n)
{
    size_t wanted = *room ? *room : BLOCKFILE_BLOCK / 4;
    unsigned char *more;

    if (n <= *room)
        return 0;
    while (wanted < n)
        wanted *= 2;
    more = realloc(*bytes, wanted);
    if (!more)
        return -ENOMEM;
    *bytes = more;
    *room = wanted;
    return 0;
}

static int reserve_index(struct blockfile_writer *w)
{
    const size_t room = w->room ? 2 * w->room : 64;
    uint64_t *offset;
    uint32_t *rois;

    if (w->index.n_offset < w->room)
        return 0;
    offset = realloc(w->index.offset, room * sizeof *offset);
    if (!offset)
        return -ENOMEM;
    w->index.offset = offset;
    rois = realloc(w->index.rois, room * sizeof *rois);
    if (!rois)
        return -ENOMEM;
    w->index.rois = rois;
    w->room = room;
    return 0;
}

static void note(struct blockfile_writer *w, uint64_t at, uint32_t rois)
{
    w->index.offset[w->index.n_offset++] = at;
    w->index.rois[w->index.n_rois++] = rois;
    w->rois += rois;
}

static int close_all(struct blockfile_writer *w)
{
    const int r = w->fd >= 0 && close(w->fd) < 0 ? -errno : 0;

    ZSTD_freeCCtx(w->zstd);
    free(w->index.offset);
    free(w->index.rois);
    free(w->gathered);
    free(w->packed);
    free(w);
    return r;
}

/* ---------------------------------------------------------------- blocks */

static int put_block(struct blockfile_writer *w, struct block *b, const void *contents,
                     bool has_magic)
{
    unsigned char head[BLOCK_HEAD];
    struct iovec part[3];
    const int first = !has_magic;
    int r;

    block_seal(b, contents, head);
    part[0] = fileio_part(BLOCK_FILE_MAGIC, MARK_BYTES);
    part[1] = fileio_part(head, sizeof head);
    part[2] = fileio_part(contents, b->bytes);
    r = fileio_put(w->fd, part + first, 3 - first, w->bytes);
    if (r == 0)
        w->bytes += (has_magic ? MARK_BYTES : 0) + BLOCK_HEAD + b->bytes;
    return r;
}

/* A message as a block of its own. */
static int put_message(struct blockfile_writer *w, uint8_t kind, const ProtobufCMessage *m)
{
    const size_t n = protobuf_c_message_get_packed_size(m);
    struct block b = {.kind = kind, .bytes = (uint32_t)n, .unpacked = (uint32_t)n};
    void *bytes;
    int r;

    if (n > BLOCK_MAX)
        return -EFBIG;
    bytes = malloc(n ? n : 1);
    if (!bytes)
        return -ENOMEM;
    protobuf_c_message_pack(m, bytes);
    r = put_block(w, &b, bytes, kind == BLOCK_HEADER);
    free(bytes);
    return r;
}

/* Compresses the gathered block; leaves it as it is where that does not make it smaller. */
static int compress(struct blockfile_writer *w, struct block *b, const void **ret_contents)
{
    size_t n;
    int r;

    *ret_contents = w->gathered;
    if (!w->zstd)
        return 0;
    r = make_room(&w->packed, &w->packed_room, ZSTD_compressBound(w->n_gathered));
    if (r < 0)
        return r;
    n = ZSTD_compress2(w->zstd, w->packed, w->packed_room, w->gathered, w->n_gathered);
    if (ZSTD_isError(n)) {
        log_error("roifile", "zstd cannot compress a block", "error=\"%s\"", ZSTD_getErrorName(n));
        return -EIO;
    }
    if (n >= w->n_gathered)
        return 0;
    b->codec = BLOCK_ZSTD;
    b->bytes = (uint32_t)n;
    *ret_contents = w->packed;
    return 0;
}

/* ---------------------------------------------------------------- the writer */

int blockfile_create(const char *path, const Trigd__V1__FileHeader *header, uint32_t level,
                     struct blockfile_writer **ret_writer)
{
    struct blockfile_writer *w = calloc(1, sizeof *w);
    bool is_mine;
    int r = 0;

    if (!w)
        return -ENOMEM;
    trigd__v1__file_index__init(&w->index);
    w->fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    is_mine = w->fd >= 0;
    if (!is_mine || flock(w->fd, LOCK_EX | LOCK_NB) < 0)
        r = -errno;
    if (r == 0 && level) {
        w->zstd = ZSTD_createCCtx();
        if (!w->zstd)
            r = -ENOMEM;
        else
            ZSTD_CCtx_setParameter(w->zstd, ZSTD_c_compressionLevel, (int)level);
    }
    if (r == 0)
        r = put_message(w, BLOCK_HEADER, &header->base);
    if (r < 0) {
        close_all(w);
        if (is_mine)
            unlink(path);
        return r;
    }
    *ret_writer = w;
    return 0;
}

int blockfile_add(struct blockfile_writer *w, const void *packed, size_t bytes, uint32_t n_rois)
{
    unsigned char length[VARINT_MAX];
    const uint32_t n = varint_put(bytes, length);
    int r;

    if (!bytes || bytes > RECORD_MAX || w->n_gathered + n + bytes > BLOCK_MAX)
        return -EINVAL;
    r = make_room(&w->gathered, &w->gathered_room, w->n_gathered + n + bytes);
    if (r < 0)
        return r;
    memcpy(w->gathered + w->n_gathered, length, n);
    memcpy(w->gathered + w->n_gathered + n, packed, bytes);
    w->n_gathered += n + bytes;
    w->gathered_rois += n_rois;
    return 0;
}

size_t blockfile_gathered(const struct blockfile_writer *w)
{
    return w->n_gathered;
}

int blockfile_flush(struct blockfile_writer *w)
{
    struct block b = {.kind = BLOCK_RECORDS,
                      .n_rois = w->gathered_rois,
                      .bytes = (uint32_t)w->n_gathered,
                      .unpacked = (uint32_t)w->n_gathered};
    const uint64_t at = w->bytes;
    const void *contents;
    int r;

    if (!w->n_gathered)
        return 0;
    r = reserve_index(w);
    if (r == 0)
        r = compress(w, &b, &contents);
    if (r == 0)
        r = put_block(w, &b, contents, false);
    if (r < 0)
        return r;
    note(w, at, b.n_rois);
    blockfile_drop(w);
    return 0;
}

void blockfile_drop(struct blockfile_writer *w)
{
    w->n_gathered = 0;
    w->gathered_rois = 0;
}

uint64_t blockfile_bytes(const struct blockfile_writer *w)
{
    return w->bytes;
}

uint64_t blockfile_rois(const struct blockfile_writer *w)
{
    return w->rois;
}

int blockfile_sync(struct blockfile_writer *w)
{
    return fdatasync(w->fd) < 0 ? -errno : 0;
}

static int put_end(struct blockfile_writer *w)
{
    const uint64_t at = w->bytes;
    unsigned char tail[TAIL_BYTES];
    struct iovec part;
    int r = put_message(w, BLOCK_INDEX, &w->index.base);

    if (r < 0)
        return r;
    for (uint32_t i = 0; i < 8; i++)
        tail[i] = (unsigned char)(at >> (8 * i));
    memcpy(tail + 8, BLOCK_FILE_END, MARK_BYTES);
    part = fileio_part(tail, sizeof tail);
    r = fileio_put(w->fd, &part, 1, w->bytes);
    if (r == 0 && fsync(w->fd) < 0)
        r = -errno;
    return r;
}

int blockfile_finish(struct blockfile_writer *w)
{
    int r, closed;

    if (!w)
        return 0;
    r = put_end(w);
    closed = close_all(w);
    return r < 0 ? r : closed;
}

/* ---------------------------------------------------------------- recovery */

/* Whether the contents of a block are there and right. */
static int check_contents(struct blockfile_writer *w, uint64_t at, const struct block *b)
{
    ssize_t n;
    int r = make_room(&w->gathered, &w->gathered_room, b->bytes ? b->bytes : 1);

    if (r < 0)
        return r;
    n = fileio_read_at(w->fd, w->gathered, b->bytes, at + BLOCK_HEAD);
    if (n < 0)
        return (int)n;
    return n == (ssize_t)b->bytes && block_is_whole(b, w->gathered);
}

/* Whether a block with whole contents begins anywhere behind `at`. */
static int has_block_behind(struct blockfile_writer *w, uint64_t at)
{
    unsigned char bytes[1 << 16];
    struct block b;
    ssize_t n;

    for (at++; (n = fileio_read_at(w->fd, bytes, sizeof bytes, at)) >= (ssize_t)BLOCK_HEAD;
         at += (uint64_t)n - BLOCK_HEAD + 1)
        for (size_t i = 0; i + BLOCK_HEAD <= (size_t)n; i++) {
            int r = block_parse(bytes + i, &b) ? check_contents(w, at + i, &b) : 0;

            if (r != 0)
                return r;
        }
    return n < 0 ? (int)n : 0;
}

/* Walks the blocks of a file that starts as it should, up to the first that is not whole or to the
 * index; w->bytes is where they end. */
static int walk(struct blockfile_writer *w)
{
    struct block b;
    int r;

    while ((r = block_read_head(w->fd, w->bytes, &b)) == 1 &&
           b.kind == (w->bytes == MARK_BYTES ? BLOCK_HEADER : BLOCK_RECORDS)) {
        r = check_contents(w, w->bytes, &b);
        if (r <= 0)
            break;
        r = reserve_index(w);
        if (r < 0)
            break;
        if (b.kind == BLOCK_RECORDS)
            note(w, w->bytes, b.n_rois);
        w->bytes += BLOCK_HEAD + b.bytes;
    }
    return r == -EBADMSG ? 0 : r < 0 ? r : 0;
}

/* Whether the file has its end. */
static bool has_end(const struct blockfile_writer *w, uint64_t size)
{
    unsigned char tail[TAIL_BYTES];
    uint64_t at = 0;

    if (size < w->bytes + sizeof tail ||
        fileio_read_at(w->fd, tail, sizeof tail, size - sizeof tail) != sizeof tail)
        return false;
    for (uint32_t i = 0; i < 8; i++)
        at |= (uint64_t)tail[i] << (8 * i);
    return at == w->bytes && !memcmp(tail + 8, BLOCK_FILE_END, MARK_BYTES);
}

static int open_left(const char *path, struct blockfile_writer *w, uint64_t *ret_size)
{
    char magic[MARK_BYTES];
    struct block header;
    struct stat st;

    w->fd = open(path, O_RDWR | O_CLOEXEC);
    if (w->fd < 0)
        return -errno;
    if (flock(w->fd, LOCK_EX | LOCK_NB) < 0)
        return errno == EWOULDBLOCK ? -EBUSY : -errno;
    if (fstat(w->fd, &st) < 0)
        return -errno;
    *ret_size = (uint64_t)st.st_size;
    if (fileio_read_at(w->fd, magic, sizeof magic, 0) != sizeof magic ||
        memcmp(magic, BLOCK_FILE_MAGIC, sizeof magic) != 0 ||
        block_read_head(w->fd, MARK_BYTES, &header) != 1 || header.kind != BLOCK_HEADER)
        return -EBADMSG;
    w->bytes = MARK_BYTES;
    return 0;
}

static int recover(struct blockfile_writer *w, uint64_t size, struct blockfile_recovery *ret)
{
    int r = walk(w);

    if (r < 0)
        return r;
    if (w->bytes == MARK_BYTES)
        return -EBADMSG; /* not even its header is whole */
    ret->rois = w->rois;
    ret->was_whole = has_end(w, size);
    if (ret->was_whole)
        return 0;
    r = has_block_behind(w, w->bytes);
    if (r != 0)
        return r < 0 ? r : -EBADMSG;
    ret->cut_bytes = size - w->bytes;
    if (ftruncate(w->fd, (off_t)w->bytes) < 0)
        return -errno;
    return put_end(w);
}

int blockfile_recover(const char *path, struct blockfile_recovery *ret_recovery)
{
    struct blockfile_writer *w = calloc(1, sizeof *w);
    struct blockfile_recovery done = {0};
    uint64_t size = 0;
    int r;

    if (!w)
        return -ENOMEM;
    trigd__v1__file_index__init(&w->index);
    r = open_left(path, w, &size);
    if (r == 0)
        r = recover(w, size, &done);
    close_all(w);
    if (r == 0)
        *ret_recovery = done;
    return r;
}
