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
#include "log_journal.h"
#include "log_json.h"
#include "logsink.h"

#define LINE_BYTES 2048

static const char *const names[] = {"error", "warn", "info", "debug"};
static const int priority[] = {3, 4, 6, 7}; /* of syslog and the journal */
static _Atomic int lowest = TRG_INFO;
static _Atomic int line_format = LOG_LOGFMT;
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

void log_set_format(enum log_format format)
{
    atomic_store(&line_format, (int)format);
}

enum log_format log_format(void)
{
    return (enum log_format)atomic_load(&line_format);
}

int log_format_parse(const char *word, enum log_format *ret_format)
{
    static const char *const known[] = {"logfmt", "json", "journald"};

    for (uint32_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (!strcmp(word, known[i])) {
            *ret_format = (enum log_format)i;
            return 0;
        }
    }
    return -EINVAL;
}

int log_take(const char *comp, const char *level_word, const char *format_word)
{
    enum log_format format;
    enum trg_level level;
    int r;

    if (log_format_parse(format_word, &format) < 0) {
        log_error(comp, "no such log format", "format=\"%s\" allowed=\"logfmt json journald\"",
                  format_word);
        return -EINVAL;
    }
    if (format == LOG_JOURNALD && (r = log_journal_open()) < 0) {
        log_error(comp, "log.format is journald, and there is no journal", "error=\"%s\"",
                  strerror(-r));
        return r;
    }
    log_set_format(format);
    if (log_level_parse(level_word, &level) < 0) {
        log_error(comp, "no such log level", "level=\"%s\" allowed=\"error warn info debug\"",
                  level_word);
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

static void stamp_now(char *text, size_t bytes)
{
    struct timespec now;
    struct tm tm;
    char stamp[32];

    clock_gettime(CLOCK_REALTIME, &now);
    gmtime_r(&now.tv_sec, &tm);
    strftime(stamp, sizeof stamp, "%Y-%m-%dT%H:%M:%S", &tm);
    snprintf(text, bytes, "%s.%03ldZ", stamp, now.tv_nsec / 1000000);
}

static void append_logfmt(struct line *l, enum trg_level level, const char *comp, const char *msg,
                          const char *fields, uint32_t suppressed)
{
    char text[48];

    append(l, "ts=");
    stamp_now(text, sizeof text);
    append(l, text);
    append(l, " level=");
    append(l, names[level]);
    append(l, " comp=");
    append(l, comp);
    append(l, " msg=");
    append_quoted(l, msg);
    if (fields[0])
        append(l, " ");
    append(l, fields);
    if (suppressed) {
        snprintf(text, sizeof text, " suppressed=%u", suppressed);
        append(l, text);
    }
}

static void append_json(struct line *l, enum trg_level level, const char *comp, const char *msg,
                        const char *fields, uint32_t suppressed)
{
    const size_t room = sizeof l->text - 32; /* for what follows the fields */
    char text[48];

    append(l, "{\"ts\":\"");
    stamp_now(text, sizeof text);
    append(l, text);
    append(l, "\",\"level\":\"");
    append(l, names[level]);
    append(l, "\",\"comp\":");
    l->n = log_json_string(l->text, l->n, room, comp, strlen(comp));
    append(l, ",\"msg\":");
    l->n = log_json_string(l->text, l->n, room, msg, strlen(msg));
    l->n = log_json_fields(l->text, l->n, room, fields);
    if (suppressed) {
        snprintf(text, sizeof text, ",\"suppressed\":%u", suppressed);
        append(l, text);
    }
    append(l, "}");
}

void log_line(struct log_site *site, enum trg_level level, const char *comp, const char *msg,
              const char *fields, ...)
{
    struct line l = {.n = 0};
    char text[LINE_BYTES];
    uint32_t suppressed = 0;
    va_list args;

    atomic_fetch_add(&counts[level], 1);
    if ((int)level > atomic_load(&lowest) || !may_print(site, &suppressed))
        return;
    va_start(args, fields);
    vsnprintf(text, sizeof text, fields, args);
    va_end(args);
    for (char *c = text; *c; c++)
        if ((unsigned char)*c < 0x20)
            *c = ' '; /* the caller quotes its values; line breaks must not make new lines */
    if (log_format() == LOG_JOURNALD &&
        log_journal_send(&(struct log_entry){.level = names[level],
                                             .priority = priority[level],
                                             .comp = comp,
                                             .msg = msg,
                                             .fields = text,
                                             .suppressed = suppressed}))
        return;
    if (is_journal())
        l.n = (size_t)snprintf(l.text, sizeof l.text, "<%d>", priority[level]);
    (log_format() == LOG_JSON ? append_json : append_logfmt)(&l, level, comp, msg, text,
                                                             suppressed);
    l.text[l.n < LINE_BYTES - 1 ? l.n++ : l.n - 1] = '\n';
    logsink_write(l.text, l.n);
}
