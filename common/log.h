/* SPDX-License-Identifier: Apache-2.0 */
/* log.h - structured log lines (logfmt) with levels and rate-limited repeats.
 *
 *     log_warn("ingress", "client overran its credits", "client=%s rois=%u", name, n);
 *     -> ts=2026-11-21T05:31:13.123Z level=warn comp=ingress msg="client overran its credits"
 * client=rep-1 rois=3
 *
 * Each call site prints at most LOG_BURST lines a second; what was held back is told on its
 * next line as suppressed=N.  Any thread.  Never on the path of an RoI.
 */
#ifndef TRIGD_LOG_H
#define TRIGD_LOG_H
#include "trigd/device.h" /* enum trg_level */
#include <stdatomic.h>
#include <stdint.h>

#define LOG_BURST 5
struct log_site {
    _Atomic uint64_t window; /* second in which `lines` were counted */
    _Atomic uint32_t lines, suppressed;
};

#define LOG_NOTHING ((enum trg_level) - 1) /* below all levels */

/* The lowest level printed; log_level_parse gives -EINVAL for a word that is none of
 * error warn info debug. */
void log_set_level(enum trg_level level);
enum trg_level log_level(void);
int log_level_parse(const char *word, enum trg_level *ret_level);
/* Of all lines from then on: logfmt, as above, one JSON object a line, or entries of the systemd
 * journal (log_journal.h); one that the journal does not take at once is written as logfmt. */
enum log_format { LOG_LOGFMT, LOG_JSON, LOG_JOURNALD };
void log_set_format(enum log_format format);
enum log_format log_format(void);
/* -EINVAL: it is none of logfmt json journald. */
int log_format_parse(const char *word, enum log_format *ret_format);
/* Sets level and format from words of a command line or a configuration; -EINVAL, logged: it is
 * none of them; -errno, logged: there is no journal. */
int log_take(const char *comp, const char *level, const char *format);
const char *log_level_name(enum trg_level level);
/* Lines written so far at a level, suppressed ones included. */
uint64_t log_count(enum trg_level level);

/* The sink of all macros below.  `fields` is a printf format of key=value pairs, or "". */
void log_line(struct log_site *site, enum trg_level level, const char *comp, const char *msg,
              const char *fields, ...) __attribute__((format(printf, 5, 6)));

#define LOG_AT(level, comp, msg, ...)                              \
    do {                                                           \
        static struct log_site log_site_;                          \
        log_line(&log_site_, (level), (comp), (msg), __VA_ARGS__); \
    } while (0)
#define log_error(comp, msg, ...) LOG_AT(TRG_ERROR, comp, msg, __VA_ARGS__)
#define log_warn(comp, msg, ...)  LOG_AT(TRG_WARN, comp, msg, __VA_ARGS__)
#define log_info(comp, msg, ...)  LOG_AT(TRG_INFO, comp, msg, __VA_ARGS__)
#define log_debug(comp, msg, ...) LOG_AT(TRG_DEBUG, comp, msg, __VA_ARGS__)
#endif
