/* SPDX-License-Identifier: Apache-2.0 */
/* beside.h - folders that belong to the program that runs. */
#ifndef TRIGD_BESIDE_H
#define TRIGD_BESIDE_H
#include <stddef.h>

/* ../NAME beside the program in a build tree, ../lib/.../trigd/NAME where it is installed. */
void beside_program(const char *name, char *ret_path, size_t bytes);
#endif
