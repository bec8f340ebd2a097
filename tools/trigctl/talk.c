/* SPDX-License-Identifier: Apache-2.0 */
#include "talk.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

static int open_socket(const char *path, int timeout_s)
{
    struct sockaddr_un a = {.sun_family = AF_UNIX};
    struct timeval limit = {.tv_sec = timeout_s};
    int fd, r;

    if (strlen(path) >= sizeof a.sun_path)
        return -ENAMETOOLONG;
    memcpy(a.sun_path, path, strlen(path) + 1);
    fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return -errno;
    if (setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit) < 0 ||
        setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit) < 0 ||
        connect(fd, (const struct sockaddr *)&a, sizeof a) < 0) {
        r = -errno;
        close(fd);
        return r;
    }
    return fd;
}

static int send_all(int fd, const char *text, size_t n)
{
    while (n) {
        ssize_t sent = send(fd, text, n, MSG_NOSIGNAL);

        if (sent < 0 && errno == EINTR)
            continue;
        if (sent < 0)
            return errno == EAGAIN ? -ETIMEDOUT : -errno;
        text += sent;
        n -= (size_t)sent;
    }
    return 0;
}

/* Takes whole lines that begin with "# " from the front of the text and shows them. */
static size_t show_progress(char *text, size_t n)
{
    for (;;) {
        char *end = memchr(text, '\n', n);
        size_t line;

        if (!end || strncmp(text, "# ", 2) != 0)
            return n;
        line = (size_t)(end - text) + 1;
        fprintf(stderr, "%.*s", (int)line - 2, text + 2);
        n -= line;
        memmove(text, end + 1, n);
    }
}

/* Reads until the daemon hangs up. */
static int receive_all(int fd, char **ret_text, size_t *ret_n)
{
    char *text = NULL, *more;
    size_t n = 0, room = 0;

    for (;;) {
        ssize_t got;

        if (room - n < 4096) {
            room = room ? 2 * room : 16384;
            more = realloc(text, room);
            if (!more) {
                free(text);
                return -ENOMEM;
            }
            text = more;
        }
        got = recv(fd, text + n, room - n - 1, 0);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0) {
            int r = errno == EAGAIN ? -ETIMEDOUT : -errno;

            free(text);
            return r;
        }
        if (!got)
            break;
        n = show_progress(text, n + (size_t)got);
    }
    text[n] = '\0';
    *ret_text = text;
    *ret_n = n;
    return 0;
}

int talk(const char *socket_path, const char *line, int timeout_s, char **ret_answer)
{
    int fd = open_socket(socket_path, timeout_s), r;
    char *text = NULL;
    size_t n = 0;

    if (fd < 0)
        return fd;
    r = send_all(fd, line, strlen(line));
    if (r == 0)
        r = send_all(fd, "\n", 1);
    if (r == 0 && shutdown(fd, SHUT_WR) < 0) /* no more commands: it hangs up after the answer */
        r = -errno;
    if (r == 0)
        r = receive_all(fd, &text, &n);
    close(fd);
    if (r < 0)
        return r;
    if (n < 1 || text[n - 1] != '\n' || (n > 1 && text[n - 2] != '\n')) {
        free(text);
        return -EPROTO;
    }
    text[n - 1] = '\0';
    *ret_answer = text;
    return 0;
}

bool talk_is_error(const char *answer)
{
    return !strncmp(answer, "error: ", 7) || strstr(answer, "\nerror: ");
}
