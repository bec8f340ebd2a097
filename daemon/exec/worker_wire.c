/* SPDX-License-Identifier: Apache-2.0 */
#include "exec/worker_wire.h"

#include <stddef.h>

size_t worker_message_bytes(enum worker_request request)
{
    switch (request) {
    case WORKER_PROBE:
    case WORKER_SETUP:
        return offsetof(struct worker_message, setup) + sizeof(struct worker_setup_message);
    case WORKER_LANE:
        return offsetof(struct worker_message, lane) + sizeof(struct worker_lane_message);
    case WORKER_GUEST:
        return offsetof(struct worker_message, guest) + sizeof(struct worker_guest_message);
    default:
        return offsetof(struct worker_message, region) + sizeof(struct worker_region_message);
    }
}
