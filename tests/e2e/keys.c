/* SPDX-License-Identifier: Apache-2.0 */
#include "keys.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <zmq.h>

#include <cmocka.h>

void keys_make(const struct server *s, const char *name, struct keyfile *ret_keys)
{
    char program[256], file[128], why[256];
    struct stat st;
    int status;
    pid_t child;

    snprintf(program, sizeof program, "%s/bin/trigctl", getenv("TRIGD_BUILD"));
    snprintf(file, sizeof file, "%s/%s", s->folder, name);
    child = fork();
    assert_true(child >= 0);
    if (!child) {
        execl(program, program, "keygen", file, (char *)NULL);
        _exit(127);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_int_equal(stat(file, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
    assert_int_equal(keyfile_read(file, ret_keys, why, sizeof why), 0);
    assert_int_equal(strlen(ret_keys->public_key), 40);
    assert_int_equal(strlen(ret_keys->secret_key), 40);
}

void keys_use(void *socket, const struct keyfile *keys, const char *server)
{
    assert_int_equal(zmq_setsockopt(socket, ZMQ_CURVE_SERVERKEY, server, KEYFILE_KEY), 0);
    assert_int_equal(zmq_setsockopt(socket, ZMQ_CURVE_PUBLICKEY, keys->public_key, KEYFILE_KEY), 0);
    assert_int_equal(zmq_setsockopt(socket, ZMQ_CURVE_SECRETKEY, keys->secret_key, KEYFILE_KEY), 0);
}
