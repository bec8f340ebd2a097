/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as the files of the daemon that have a line for each entry: keys, the list of clients
 * or nodes, RoIs that ended a worker. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <zmq.h>

#include "base/hash.h"
#include "flow/poison_file.h"
#include "keyfile.h"
#include "log.h"
#include "memfile.h"
#include "transport/auth.h"

#define ENTRIES 64u
#define RARE    64u
#define PUBLIC  "Yne@$w-vo<fVvi]a<NY6T1ed:M$fCG*[IaLV{hID" /* of the manual of zmq_curve */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void read_keys(const char *path)
{
    struct keyfile keys;
    char why[256] = "";

    if (keyfile_read(path, &keys, why, sizeof why) < 0) {
        WANT(*why);
        return;
    }
    WANT(!keys.public_key[0] || strlen(keys.public_key) == KEYFILE_KEY - 1);
    WANT(!keys.secret_key[0] || strlen(keys.secret_key) == KEYFILE_KEY - 1);
    keyfile_forget(&keys);
    WANT(!keys.secret_key[0]);
}

/* Whoever is let in stands in the list. */
static void read_list(const char *path, const uint8_t *data, size_t n)
{
    static const char own[] =
        "public " PUBLIC "\nsecret D:)Q[IlAW!ahhC2ac:9*A}h:p?([4%wOTJ%JR%cs\n";
    static void *context;
    struct memfile key = memfile_new(own, sizeof own - 1);
    struct auth *a = NULL;

    if (!context)
        context = zmq_ctx_new();
    if (auth_open(context, key.path, path, &a) == 0) {
        WANT(!auth_allows(a, PUBLIC) || memmem(data, n, PUBLIC, sizeof PUBLIC - 1));
        auth_close(a);
    }
    memfile_close(&key);
}

/* What was read of a list is read again when it was written. */
static void read_poison(const char *path)
{
    static struct poison_entry first[ENTRIES], again[ENTRIES];
    const int n = poison_file_read(path, first, ENTRIES);
    char copy[64];

    WANT(n >= 0 && (uint32_t)n <= ENTRIES);
    if (!n)
        return;
    snprintf(copy, sizeof copy, "/tmp/trigd-fuzz-poison-%d", (int)getpid());
    WANT(poison_file_write(copy, first, (uint32_t)n) == 0);
    WANT(poison_file_read(copy, again, ENTRIES) == n);
    for (int i = 0; i < n; i++)
        WANT(first[i].print == again[i].print && first[i].roi_id == again[i].roi_id &&
             !strcmp(first[i].reason, again[i].reason));
    unlink(copy);
}

/* Lines of such a list whose check sums are right. */
static void read_mended_poison(const uint8_t *data, size_t n)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&text, &bytes);
    struct memfile f;

    WANT(out);
    fputs("trigd poison 1\n", out);
    for (size_t at = 0; at < n;) {
        const uint8_t *line = data + at, *end = memchr(line, '\n', n - at);
        const size_t length = end ? (size_t)(end - line) : n - at;

        if (!memchr(line, 0, length))
            fprintf(out, "%016" PRIx64 " %.*s\n", hash_bytes(line, length), (int)length,
                    (const char *)line);
        at += length + 1;
    }
    WANT(fclose(out) == 0);
    f = memfile_new(text, bytes);
    read_poison(f.path);
    memfile_close(&f);
    free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    static uint32_t count;
    struct memfile f = memfile_new(data, n);

    log_set_level(TRG_ERROR);
    read_keys(f.path);
    if (count++ % RARE == 0 || count < RARE) { /* threads and files that are synchronized */
        read_poison(f.path);
        read_mended_poison(data, n);
        read_list(f.path, data, n);
    }
    memfile_close(&f);
    return 0;
}
