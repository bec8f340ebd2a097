/* SPDX-License-Identifier: Apache-2.0 */
#include "keygen.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <zmq.h>

#include "keyfile.h"

#define FILE_BYTES 4096

/* Writes a new file; `secret` may be NULL. */
static int write_keys(const char *file, mode_t mode, const char *public, const char *secret)
{
    int fd = open(file, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode), r = 0;

    if (fd < 0 ||
        dprintf(fd, "# CURVE key of trigd%s\n%s%s%spublic %s\n", secret ? ": keep it secret" : "",
                secret ? "secret " : "", secret ? secret : "", secret ? "\n" : "", public) < 0)
        r = -errno;
    if (fd >= 0 && close(fd) < 0 && r == 0)
        r = -errno;
    if (r < 0)
        fprintf(stderr, "trigctl: cannot write %s: %s\n", file, strerror(-r));
    return r;
}

int keygen(const char *file)
{
    struct keyfile k;
    char public_file[FILE_BYTES];
    int r;

    if (snprintf(public_file, sizeof public_file, "%s.pub", file) >= (int)sizeof public_file)
        return -ENAMETOOLONG;
    if (zmq_curve_keypair(k.public_key, k.secret_key) < 0) {
        fprintf(stderr, "trigctl: this libzmq cannot make keys: %s\n", zmq_strerror(errno));
        return -ENOTSUP;
    }
    r = write_keys(file, 0600, k.public_key, k.secret_key);
    if (r == 0)
        r = write_keys(public_file, 0644, k.public_key, NULL);
    if (r == 0)
        printf("%s\n", k.public_key);
    keyfile_forget(&k);
    return r;
}
