/* SPDX-License-Identifier: Apache-2.0 */
/* log_journal.h - log lines as entries of the systemd journal, in its native protocol
 * (systemd.io/JOURNAL_NATIVE_PROTOCOL): MESSAGE, PRIORITY, SYSLOG_IDENTIFIER, TRIGD_LEVEL,
 * TRIGD_COMP and a field TRIGD_KEY for each key.  Never waits.  Any thread. */
#ifndef TRIGD_LOG_JOURNAL_H
#define TRIGD_LOG_JOURNAL_H
#include <stdbool.h>
#include <stdint.h>

struct log_entry {
    const char *level; /* "warn" */
    int priority;      /* of syslog */
    const char *comp, *msg;
    const char *fields; /* key=value pairs, without line breaks */
    uint32_t suppressed;
};

/* Whether a journal is there; -errno. */
int log_journal_open(void);
/* false: the journal did not take it at once. */
bool log_journal_send(const struct log_entry *e);
#endif
