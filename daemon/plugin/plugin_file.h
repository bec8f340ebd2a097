/* SPDX-License-Identifier: Apache-2.0 */
/* plugin_file.h - private copies of plugin files: loaded code cannot change under the daemon
 * when the file is overwritten in place. */
#ifndef TRIGD_PLUGIN_FILE_H
#define TRIGD_PLUGIN_FILE_H
#include <stdbool.h>
#include <sys/stat.h>

/* Copies a file into memory (a sealed memfd), from which it is loaded.  The caller closes the
 * descriptor after the last use of the code by other processes.  -errno. */
int plugin_file_copy(const char *path, int *ret_fd);
/* Whether the end of the code is missing, as in a file that is being written: the loader would map
 * what there is. */
bool plugin_file_is_cut(int fd);
/* dlopen of such a copy; NULL: see dlerror. */
void *plugin_file_load(int fd);
/* Whether two looks at a path saw the same file with the same contents. */
bool plugin_file_is_same(const struct stat *a, const struct stat *b);
#endif
