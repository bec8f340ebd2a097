/* SPDX-License-Identifier: Apache-2.0 */
/* audit.h - the audit log: each change and its user, one JSON object a line, appended to a file. */
#ifndef TRIGD_AUDIT_H
#define TRIGD_AUDIT_H
struct audit_line {
    const char *by;     /* a user, a supervisor, a signal, "run control" */
    const char *action; /* the command as it was given, or what happened */
    const char *result; /* the answer; NULL: it comes later */
};

/* Opens the file, made with its folder if it is not there, mode 0640; "": audit.jsonl in
 * `state_dir`, and none where that is "" as well.  Once a process.  A negative errno, logged. */
int audit_open(const char *path, const char *state_dir);
/* Any thread; whole lines.  A failed write is logged. */
void audit_write(const struct audit_line *line);
void audit_close(void);
#endif
