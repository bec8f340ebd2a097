/* SPDX-License-Identifier: Apache-2.0 */
#include "log_journal.h"

#include <ctype.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "log_fields.h"

#define ENTRY_BYTES 6144
#define KEY_BYTES   64u /* of a field's name, as the journal allows */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int socket_fd = -1;

/* TRIGD_JOURNAL_SOCKET: another one, for tests. */
static void address_of(struct sockaddr_un *a)
{
    const char *path = getenv("TRIGD_JOURNAL_SOCKET");

    *a = (struct sockaddr_un){.sun_family = AF_UNIX};
    snprintf(a->sun_path, sizeof a->sun_path, "%s", path ? path : "/run/systemd/journal/socket");
}

/* With the lock.  It is not connected, so that a journal that starts again gets what follows. */
static int open_socket(void)
{
    if (socket_fd < 0)
        socket_fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    return socket_fd < 0 ? -errno : 0;
}

int log_journal_open(void)
{
    struct sockaddr_un a;
    int r, probe;

    pthread_mutex_lock(&lock);
    r = open_socket();
    pthread_mutex_unlock(&lock);
    if (r < 0)
        return r;
    probe = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (probe < 0)
        return -errno;
    address_of(&a);
    r = connect(probe, (const struct sockaddr *)&a, sizeof a) < 0 ? -errno : 0;
    close(probe);
    return r;
}

/* Appends NAME=value and a line break; nothing where it does not fit whole. */
static size_t put(char *out, size_t n, size_t room, const char *name, const char *value,
                  size_t bytes)
{
    const size_t name_bytes = strlen(name);

    if (n + name_bytes + bytes + 2 > room)
        return n;
    memcpy(out + n, name, name_bytes);
    n += name_bytes;
    out[n++] = '=';
    for (size_t i = 0; i < bytes; i++) /* a line break would begin another field */
        out[n++] = (unsigned char)value[i] < 0x20 ? ' ' : value[i];
    out[n++] = '\n';
    return n;
}

/* "in_flight" as "TRIGD_IN_FLIGHT"; letters, digits and _ are allowed. */
static void field_name(const struct log_field *f, char *name)
{
    size_t n = (size_t)snprintf(name, KEY_BYTES + 1, "TRIGD_");

    for (size_t i = 0; i < f->key_bytes && n < KEY_BYTES; i++) {
        const unsigned char c = (unsigned char)f->key[i];

        name[n++] = isalnum(c) ? (char)toupper(c) : '_';
    }
    name[n] = '\0';
}

/* The datagram of an entry; a field that does not fit is left out. */
static size_t format(const struct log_entry *e, char *out, size_t room)
{
    char text[2560], name[KEY_BYTES + 1];
    struct log_field f;
    size_t n;

    snprintf(text, sizeof text, "%s%s%s", e->msg, e->fields[0] ? " " : "", e->fields);
    n = put(out, 0, room, "MESSAGE", text, strlen(text));
    snprintf(text, sizeof text, "%d", e->priority);
    n = put(out, n, room, "PRIORITY", text, strlen(text));
    n = put(out, n, room, "SYSLOG_IDENTIFIER", program_invocation_short_name,
            strlen(program_invocation_short_name));
    n = put(out, n, room, "TRIGD_LEVEL", e->level, strlen(e->level));
    n = put(out, n, room, "TRIGD_COMP", e->comp, strlen(e->comp));
    n = put(out, n, room, "TRIGD_MSG", e->msg, strlen(e->msg));
    if (e->suppressed) {
        snprintf(text, sizeof text, "%u", e->suppressed);
        n = put(out, n, room, "TRIGD_SUPPRESSED", text, strlen(text));
    }
    for (const char *at = e->fields; log_field_next(&at, &f);) {
        field_name(&f, name);
        n = put(out, n, room, name, f.value, f.bytes);
    }
    return n;
}

bool log_journal_send(const struct log_entry *e)
{
    char entry[ENTRY_BYTES];
    const size_t n = format(e, entry, sizeof entry);
    struct sockaddr_un a;
    bool is_sent;

    address_of(&a);
    pthread_mutex_lock(&lock);
    is_sent = open_socket() == 0 && sendto(socket_fd, entry, n, MSG_NOSIGNAL,
                                           (const struct sockaddr *)&a, sizeof a) == (ssize_t)n;
    pthread_mutex_unlock(&lock);
    return is_sent;
}
