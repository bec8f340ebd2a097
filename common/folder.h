/* SPDX-License-Identifier: Apache-2.0 */
/* folder.h - whole folders. */
#ifndef TRIGD_FOLDER_H
#define TRIGD_FOLDER_H

/* Removes a folder with all that is in it; negative errno. */
int folder_remove(const char *path);
#endif
