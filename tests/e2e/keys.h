/* SPDX-License-Identifier: Apache-2.0 */
/* keys.h - CURVE keys of a test.  Everything that fails here fails the test. */
#ifndef TRIGD_TEST_KEYS_H
#define TRIGD_TEST_KEYS_H
#include "harness.h"
#include "keyfile.h"

/* `trigctl keygen` into the server's folder, and what it wrote. */
void keys_make(const struct server *s, const char *name, struct keyfile *ret_keys);
/* A socket connects with these keys; `server` is the public key that it expects there. */
void keys_use(void *socket, const struct keyfile *keys, const char *server);
#endif
