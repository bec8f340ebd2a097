/* SPDX-License-Identifier: Apache-2.0 */
#include "exec/opening.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "log.h"

int opening_init(struct opening *o)
{
    sigset_t set;
    int r = 0;

    *o = (struct opening){.cancel_fd = -1};
    pthread_mutex_init(&o->lock, NULL);
    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGINT);
    o->told_fd = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC); /* looked at, never read */
    if (o->told_fd >= 0)
        o->cancel_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    if (o->cancel_fd < 0) {
        r = -errno;
        opening_fini(o);
    }
    return r;
}

void opening_fini(struct opening *o)
{
    if (o->told_fd >= 0)
        close(o->told_fd);
    if (o->cancel_fd >= 0)
        close(o->cancel_fd);
    o->told_fd = o->cancel_fd = -1;
    pthread_mutex_destroy(&o->lock);
}

/* One of its texts. */
static void write_text(struct opening *o, char *text, const char *format, va_list args)
{
    pthread_mutex_lock(&o->lock);
    vsnprintf(text, OPENING_TEXT, format, args);
    pthread_mutex_unlock(&o->lock);
}

static void read_text(struct opening *o, const char *from, char *text, size_t bytes)
{
    pthread_mutex_lock(&o->lock);
    snprintf(text, bytes, "%s", from);
    pthread_mutex_unlock(&o->lock);
}

void opening_begin(struct opening *o)
{
    pthread_mutex_lock(&o->lock);
    snprintf(o->text, sizeof o->text, "reading the menu");
    o->why[0] = '\0';
    pthread_mutex_unlock(&o->lock);
}

void opening_say(struct opening *o, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    write_text(o, o->text, format, args);
    va_end(args);
}

void opening_refuse(struct opening *o, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    write_text(o, o->why, format, args);
    va_end(args);
}

void opening_text(struct opening *o, char *text, size_t bytes)
{
    read_text(o, o->text, text, bytes);
}

void opening_why(struct opening *o, char *text, size_t bytes)
{
    read_text(o, o->why, text, bytes);
}

void opening_cancel(struct opening *o)
{
    const uint64_t one = 1;

    if (write(o->cancel_fd, &one, sizeof one) < 0)
        log_error("engine", "cannot cancel what is being opened", "error=\"%s\"", strerror(errno));
}

bool opening_is_cancelled(const struct opening *o)
{
    struct pollfd p[2] = {{.fd = o->told_fd, .events = POLLIN},
                          {.fd = o->cancel_fd, .events = POLLIN}};

    return poll(p, 2, 0) > 0;
}
