/* SPDX-License-Identifier: Apache-2.0 */
#include "opencl_cache.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAGIC      "trigdCL1"
#define PATH_BYTES 4096
#define BYTES_MAX  ((uint64_t)1 << 30)

struct header { /* of a file; the binary follows */
    char magic[8];
    struct opencl_key key;
    uint64_t bytes;
    struct opencl_key sum; /* of the binary */
};

/* FNV-1a with two starting values: 128 bits that need no library. */
static void add_bytes(struct opencl_key *key, const void *data, size_t bytes)
{
    const unsigned char *at = data;

    for (size_t i = 0; i < bytes; i++) {
        key->hash[0] = (key->hash[0] ^ at[i]) * 0x100000001b3u;
        key->hash[1] = (key->hash[1] ^ at[i] ^ 0x5cu) * 0x100000001b3u;
    }
}

void opencl_key_add(struct opencl_key *key, const char *text)
{
    if (!key->hash[0] && !key->hash[1]) {
        key->hash[0] = 0xcbf29ce484222325u;
        key->hash[1] = 0x84222325cbf29ce4u;
    }
    add_bytes(key, text, strlen(text) + 1); /* the zero keeps "a" "bc" from being "ab" "c" */
}

static struct opencl_key sum_of(const unsigned char *data, size_t bytes)
{
    struct opencl_key sum = {{0, 0}};

    opencl_key_add(&sum, MAGIC);
    add_bytes(&sum, data, bytes);
    return sum;
}

static int file_name(const struct backend_log *log, const char *name, const struct opencl_key *key,
                     char *path)
{
    int n = snprintf(path, PATH_BYTES, "%s/%s-%016llx%016llx.bin", log->host->cache_dir, name,
                     (unsigned long long)key->hash[0], (unsigned long long)key->hash[1]);

    return n < 0 || n >= PATH_BYTES - 8 ? -ENAMETOOLONG : 0;
}

/* The binary of an open file, or NULL when it is not whole. */
static unsigned char *read_binary(FILE *f, const struct opencl_key *key, size_t *ret_bytes)
{
    struct header h;
    struct opencl_key sum;
    unsigned char *data;

    if (fread(&h, sizeof h, 1, f) != 1 || memcmp(h.magic, MAGIC, sizeof h.magic) != 0 ||
        memcmp(&h.key, key, sizeof *key) != 0 || !h.bytes || h.bytes > BYTES_MAX)
        return NULL;
    data = malloc(h.bytes);
    if (!data)
        return NULL;
    if (fread(data, 1, h.bytes, f) == h.bytes && fgetc(f) == EOF) {
        sum = sum_of(data, h.bytes);
        if (memcmp(&sum, &h.sum, sizeof sum) == 0) {
            *ret_bytes = h.bytes;
            return data;
        }
    }
    free(data);
    return NULL;
}

int opencl_cache_load(const struct backend_log *log, const char *name, const struct opencl_key *key,
                      unsigned char **ret_data, size_t *ret_bytes)
{
    unsigned char *data;
    char path[PATH_BYTES];
    FILE *f;

    if (!log->host->cache_dir || file_name(log, name, key, path) < 0)
        return -ENOENT;
    f = fopen(path, "rbe");
    if (!f) {
        if (errno != ENOENT)
            backend_log(log, TRG_WARN, "cannot read \"%s\": %s; building", path, strerror(errno));
        return -ENOENT;
    }
    data = read_binary(f, key, ret_bytes);
    fclose(f);
    if (!data) {
        backend_log(log, TRG_WARN, "\"%s\" is damaged; building again", path);
        return -ENOENT;
    }
    *ret_data = data;
    return 0;
}

static bool write_all(int fd, const void *data, size_t bytes)
{
    const unsigned char *at = data;

    while (bytes) {
        ssize_t n = write(fd, at, bytes);

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        at += n;
        bytes -= (size_t)n;
    }
    return true;
}

void opencl_cache_store(const struct backend_log *log, const char *name,
                        const struct opencl_key *key, const unsigned char *data, size_t bytes)
{
    struct header h = {.key = *key, .bytes = bytes, .sum = sum_of(data, bytes)};
    char path[PATH_BYTES], temporary[PATH_BYTES + 8];
    bool is_written;
    int fd;

    if (!log->host->cache_dir || file_name(log, name, key, path) < 0)
        return;
    memcpy(h.magic, MAGIC, sizeof h.magic);
    if (mkdir(log->host->cache_dir, 0755) < 0 && errno != EEXIST)
        goto fail;
    snprintf(temporary, sizeof temporary, "%s.XXXXXX", path);
    fd = mkostemp(temporary, O_CLOEXEC);
    if (fd < 0)
        goto fail;
    is_written = write_all(fd, &h, sizeof h) && write_all(fd, data, bytes);
    if (close(fd) == 0 && is_written && rename(temporary, path) == 0)
        return;
    backend_log(log, TRG_WARN, "cannot write \"%s\": %s", path, strerror(errno));
    unlink(temporary);
    return;
fail:
    backend_log(log, TRG_WARN, "cannot write to \"%s\": %s", log->host->cache_dir, strerror(errno));
}
