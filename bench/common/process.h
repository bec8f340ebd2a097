/* SPDX-License-Identifier: Apache-2.0 */
/* process.h - other programs of the build that a benchmark starts and watches. */
#ifndef TRIGD_BENCH_PROCESS_H
#define TRIGD_BENCH_PROCESS_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Folder of the running program, which is the build's bench folder.  Negative errno. */
int process_folder(char *path, size_t bytes);
/* Cores that this program may use, or `most`. */
uint32_t process_cores(uint32_t most);
/* The calling thread, and threads and programs that it starts from then on, run on the last n of
 * the cores that this program may use, or on all but those.  Negative errno; -EINVAL: none would
 * be left for one of them. */
int process_part(uint32_t n, bool is_last);
/* A TCP port of the loopback that was free a moment ago; negative errno. */
int process_free_port(void);
/* Writes a file of `folder`; negative errno. */
int process_write_file(const char *folder, const char *name, const char *text);
/* A fresh folder under /tmp, and its end with all that is in it; "" is fine there. */
#define PROCESS_FOLDER_BYTES 64
int process_new_folder(char path[PROCESS_FOLDER_BYTES]);
void process_remove_folder(const char *path);
/* Starts a program, named from the bench folder ("../bin/trigd"), which ends with this one at the
 * latest.  args[0] is its name, the last NULL; env: name, value, ..., NULL, or NULL. */
int process_start(const char *program, const char *const *args, const char *const *env,
                  pid_t *ret_pid);
/* Waits until a file of that process is there.  -ECHILD: it has ended. */
int process_await_file(const char *path, pid_t pid);
/* Processor time that all threads of a process have used, ns; 0 when it cannot be read. */
uint64_t process_cpu_ns(pid_t pid);
/* Ends it and waits for it; 0 is fine. */
void process_end(pid_t pid);
#endif
