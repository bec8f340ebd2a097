/* SPDX-License-Identifier: Apache-2.0 */
/* inspector_wire.h - messages between the daemon and the inspector: a question with the
 * private copy of the plugin, and an answer.  Both ends are the same program, so these are plain
 * structs. */
#ifndef TRIGD_INSPECTOR_WIRE_H
#define TRIGD_INSPECTOR_WIRE_H
#include <stdint.h>

#include "plugin/descriptor.h"

#define INSPECTOR_CONFIG 4096u /* bytes of a plugin's config struct, as plugin_host allows */

struct inspector_question {
    enum { INSPECTOR_DESCRIBE = 1, INSPECTOR_CHECK } what;
    char path[4096];
    uint32_t config_size;
    _Alignas(8) unsigned char config[INSPECTOR_CONFIG]; /* to be checked */
};

struct inspector_answer {
    int32_t result; /* 0, -EINVAL, -errno */
    char why[5120];
    uint32_t n; /* bytes of the descriptor, which alone are sent */
    unsigned char descriptor[DESCRIPTOR_BYTES];
};
#endif
