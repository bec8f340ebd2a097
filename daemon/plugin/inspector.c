/* SPDX-License-Identifier: Apache-2.0 */
#include "plugin/inspector.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "base/child.h"
#include "base/fdmessage.h"
#include "plugin/inspector_wire.h"

#define END_MS 1000u

struct inspector {
    uint32_t answer_ms;
    pthread_mutex_t lock;
    struct child child;
    struct inspector_question question;
    struct inspector_answer answer;
};

int inspector_new(uint32_t answer_ms, struct inspector **ret_inspector)
{
    struct inspector *i = calloc(1, sizeof *i);

    if (!i)
        return -ENOMEM;
    i->answer_ms = answer_ms;
    pthread_mutex_init(&i->lock, NULL);
    child_init(&i->child);
    *ret_inspector = i;
    return 0;
}

void inspector_free(struct inspector *i)
{
    if (!i)
        return;
    child_end(&i->child, END_MS);
    pthread_mutex_destroy(&i->lock);
    free(i);
}

/* ---------------------------------------------------------------- a question */

/* How the process ended while it worked on a plugin. */
static void say_end(struct inspector *i, const char *doing, char *why, size_t why_bytes)
{
    const int status = child_reap(&i->child);

    if (WIFSIGNALED(status))
        snprintf(why, why_bytes, "%s ended the process that did it: %s", doing,
                 strsignal(WTERMSIG(status)));
    else
        snprintf(why, why_bytes, "%s ended the process that did it, with exit code %d", doing,
                 WEXITSTATUS(status));
}

static int await_answer(struct inspector *i, const char *doing, char *why, size_t why_bytes)
{
    struct inspector_answer *a = &i->answer;
    struct pollfd fd = {.fd = i->child.socket, .events = POLLIN};
    int n;

    do {
        n = poll(&fd, 1, (int)i->answer_ms);
    } while (n < 0 && errno == EINTR);
    if (n == 0) {
        child_end(&i->child, 0);
        snprintf(why, why_bytes, "%s took longer than %u ms", doing, i->answer_ms);
        return -EINVAL;
    }
    n = fdmessage_receive(i->child.socket, a, sizeof *a, NULL, 0);
    if (n <= 0) {
        say_end(i, doing, why, why_bytes);
        return -EINVAL;
    }
    a->why[sizeof a->why - 1] = '\0';
    if ((size_t)n < offsetof(struct inspector_answer, descriptor) ||
        a->n != (size_t)n - offsetof(struct inspector_answer, descriptor)) {
        child_end(&i->child, 0);
        snprintf(why, why_bytes, "%s gave an answer that cannot be read", doing);
        return -EINVAL;
    }
    if (a->result < 0)
        snprintf(why, why_bytes, "%s", a->why[0] ? a->why : strerror(-a->result));
    return a->result;
}

/* Asks i->question. */
static int ask(struct inspector *i, int fd, const char *doing, char *why, size_t why_bytes)
{
    int r = i->child.pid ? 0 : child_start("--inspector", &i->child);

    if (r == 0)
        r = fdmessage_send(i->child.socket, &i->question, sizeof i->question, &fd, 1, 0);
    if (r == -EPIPE || r == -ECONNRESET) { /* it ended after its last answer */
        child_end(&i->child, 0);
        r = child_start("--inspector", &i->child);
        if (r == 0)
            r = fdmessage_send(i->child.socket, &i->question, sizeof i->question, &fd, 1, 0);
    }
    if (r < 0) {
        snprintf(why, why_bytes, "%s is not possible: %s", doing, strerror(-r));
        return r;
    }
    return await_answer(i, doing, why, why_bytes);
}

int inspector_describe(struct inspector *i, int fd, struct plugin *p, void **ret_block, char *why,
                       size_t why_bytes)
{
    int r;

    pthread_mutex_lock(&i->lock);
    i->question = (struct inspector_question){.what = INSPECTOR_DESCRIBE};
    memcpy(i->question.path, p->path, sizeof i->question.path);
    r = ask(i, fd, "loading it", why, why_bytes);
    if (r == 0) {
        r = descriptor_unpack(i->answer.descriptor, i->answer.n, p, ret_block);
        if (r < 0)
            snprintf(why, why_bytes, "its descriptor cannot be read: %s", strerror(-r));
    }
    pthread_mutex_unlock(&i->lock);
    return r;
}

int inspector_check(struct inspector *i, const struct plugin *p, const void *config, char *why,
                    size_t why_bytes)
{
    int r;

    pthread_mutex_lock(&i->lock);
    i->question = (struct inspector_question){.what = INSPECTOR_CHECK,
                                              .config_size = (uint32_t)p->d.config_size};
    memcpy(i->question.path, p->path, sizeof i->question.path);
    memcpy(i->question.config, config, p->d.config_size);
    r = ask(i, p->fd, "the plugin's own check of its parameters", why, why_bytes);
    pthread_mutex_unlock(&i->lock);
    return r;
}
