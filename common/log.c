/* SPDX-License-Identifier: Apache-2.0 */
#include "log.h"

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "clock.h"
#include "logsink.h"

#define LINE_BYTES 2048

static const char *const names[] = {"error", "warn", "info", "debug"};
static const char *const journal_prefix[] = {"<3>", "<4>", "<6>", "<7>"};
static _Atomic int lowest = TRG_INFO;
static _Atomic uint64_t counts[4];

void log_set_level(enum trg_level level)
{
    atomic_store(&lowest, (int)level);
}

enum trg_level log_level(void)
{
    return (enum trg_level)atomic_load(&lowest);
}

const char *log_level_name(enum trg_level level)
{
    return names[level];
}

int log_level_parse(const char *word, enum trg_level *ret_level)
{
    for (uint32_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (!strcmp(word, names[i])) {
            *ret_level = (enum trg_level)i;
            return 0;
        }
    }
    return -EINVAL;
}

int log_take_level(const char *comp, const char *word)
{
    enum trg_level level;

    if (log_level_parse(word, &level) < 0) {
        log_error(comp, "no such log level", "level=\"%s\" allowed=\"error warn info debug\"",
                  word);
        return -EINVAL;
    }
    log_set_level(level);
    return 0;
}

uint64_t log_count(enum trg_level level)
{
    return atomic_load(&counts[level]);
}

/* Whether a call site may print now; if so, how many of its lines were held back before. */
static bool may_print(struct log_site *site, uint32_t *ret_suppressed)
{
    uint64_t second = clock_ns() / NS_PER_S + 1; /* 0 is "never" */
    uint64_t window = atomic_load(&site->window);

    if (window != second && atomic_compare_exchange_strong(&site->window, &window, second))
        atomic_store(&site->lines, 0);
    if (atomic_fetch_add(&site->lines, 1) >= LOG_BURST) {
        atomic_fetch_add(&site->suppressed, 1);
        return false;
    }
    *ret_suppressed = atomic_exchange(&site->suppressed, 0);
    return true;
}

/* Whether stderr goes to the systemd journal, which reads a priority in front of a line. */
static bool is_journal(void)
{
    static _Atomic int known = -1;
    int k = atomic_load(&known);

    if (k < 0) {
        k = getenv("JOURNAL_STREAM") != NULL && !isatty(STDERR_FILENO);
        atomic_store(&known, k);
    }
    return k != 0;
}

struct line {
    char text[LINE_BYTES];
    size_t n;
};

static void append(struct line *l, const char *text)
{
    size_t n = strlen(text), room = sizeof l->text - 1 - l->n;

    if (n > room)
        n = room;
    memcpy(l->text + l->n, text, n);
    l->n += n;
    l->text[l->n] = '\0';
}

/* Appends text in quotes; what would break the line or its quoting is escaped. */
static void append_quoted(struct line *l, const char *text)
{
    append(l, "\"");
    for (; *text; text++) {
        char c[5] = {*text, '\0'};

        if (*text == '"' || *text == '\\')
            snprintf(c, sizeof c, "\\%c", *text);
        else if ((unsigned char)*text < 0x20)
            snprintf(c, sizeof c, "\\x%02x", (unsigned)*text & 0xffu);
        append(l, c);
    }
    append(l, "\"");
}

static void append_time(struct line *l)
{
    struct timespec now;
    struct tm tm;
    char text[48], stamp[32];

    clock_gettime(CLOCK_REALTIME, &now);
    gmtime_r(&now.tv_sec, &tm);
    strftime(stamp, sizeof stamp, "%Y-%m-%dT%H:%M:%S", &tm);
    snprintf(text, sizeof text, "ts=%s.%03ldZ", stamp, now.tv_nsec / 1000000);
    append(l, text);
}

/* The caller quotes its values; line breaks inside them must not make new lines. */
static void append_fields(struct line *l, const char *fields, va_list args)
{
    char text[LINE_BYTES];

    vsnprintf(text, sizeof text, fields, args);
    if (!text[0])
        return;
    for (char *c = text; *c; c++)
        if ((unsigned char)*c < 0x20)
            *c = ' ';
    append(l, " ");
    append(l, text);
}

void log_line(struct log_site *site, enum trg_level level, const char *comp, const char *msg,
              const char *fields, ...)
{
    struct line l = {.n = 0};
    uint32_t suppressed = 0;
    char more[40];
    va_list args;

    atomic_fetch_add(&counts[level], 1);
    if ((int)level > atomic_load(&lowest) || !may_print(site, &suppressed))
        return;
    if (is_journal())
        append(&l, journal_prefix[level]);
    append_time(&l);
    append(&l, " level=");
    append(&l, names[level]);
    append(&l, " comp=");
    append(&l, comp);
    append(&l, " msg=");
    append_quoted(&l, msg);
    va_start(args, fields);
    append_fields(&l, fields, args);
    va_end(args);
    if (suppressed) {
        snprintf(more, sizeof more, " suppressed=%u", suppressed);
        append(&l, more);
    }
    l.text[l.n < LINE_BYTES - 1 ? l.n++ : l.n - 1] = '\n';
    logsink_write(l.text, l.n);
}
