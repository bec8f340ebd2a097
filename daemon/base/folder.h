/* SPDX-License-Identifier: Apache-2.0 */
/* folder.h - folders that the daemon makes. */
#ifndef TRIGD_FOLDER_H
#define TRIGD_FOLDER_H
/* Makes a folder, mode 0750, with its parents; one that is there is fine. */
int folder_make(const char *path);
#endif
