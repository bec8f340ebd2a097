/* SPDX-License-Identifier: Apache-2.0 */
#include "keyfile.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define LINE_BYTES 256

static int take_line(const char *line, struct keyfile *k)
{
    char word[16], key[LINE_BYTES];
    int n = sscanf(line, "%15s %255s", word, key);
    char *to;

    if (n < 1 || word[0] == '#')
        return 0;
    to = !strcmp(word, "public") ? k->public_key : !strcmp(word, "secret") ? k->secret_key : NULL;
    if (n != 2 || !to || strlen(key) != KEYFILE_KEY - 1)
        return -EBADMSG;
    memcpy(to, key, KEYFILE_KEY);
    return 0;
}

int keyfile_read(const char *path, struct keyfile *ret_keys, char *why, size_t bytes)
{
    FILE *f = fopen(path, "re");
    char line[LINE_BYTES];
    unsigned number = 0;
    struct stat s;
    int r = 0;

    memset(ret_keys, 0, sizeof *ret_keys);
    if (!f) {
        r = -errno;
        snprintf(why, bytes, "%s: %s", path, strerror(-r));
        return r;
    }
    while (r == 0 && fgets(line, sizeof line, f)) {
        number++;
        r = take_line(line, ret_keys);
        if (r < 0)
            snprintf(why, bytes, "%s:%u: `public KEY` or `secret KEY` with 40 characters is wanted",
                     path, number);
    }
    if (r == 0 && ret_keys->secret_key[0] && fstat(fileno(f), &s) == 0 && s.st_mode & 077) {
        r = -EACCES;
        snprintf(why, bytes, "%s: it has a secret key, and mode %03o; only 0600 is allowed", path,
                 (unsigned)s.st_mode & 0777);
    }
    fclose(f);
    explicit_bzero(line, sizeof line);
    if (r < 0)
        keyfile_forget(ret_keys);
    return r;
}

void keyfile_forget(struct keyfile *keys)
{
    explicit_bzero(keys, sizeof *keys);
}
