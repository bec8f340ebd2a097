/* SPDX-License-Identifier: Apache-2.0 */
/* process.h - other programs of the build that a benchmark starts and watches. */
#ifndef TRIGD_BENCH_PROCESS_H
#define TRIGD_BENCH_PROCESS_H
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Folder of the running program, which is the build's bench folder.  Negative errno. */
int process_folder(char *path, size_t bytes);
/* Cores that this program may use, or `most`. */
uint32_t process_cores(uint32_t most);
/* A TCP port of the loopback that was free a moment ago; negative errno. */
int process_free_port(void);
/* Writes a file of `folder`; negative errno. */
int process_write_file(const char *folder, const char *name, const char *text);
/* Processor time that all threads of a process have used, ns; 0 when it cannot be read. */
uint64_t process_cpu_ns(pid_t pid);
/* Ends it and waits for it; 0 is fine. */
void process_end(pid_t pid);
#endif
