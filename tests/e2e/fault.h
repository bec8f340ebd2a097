/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers of RoIs on which the plugin `fault` misbehaves. */
#ifndef TRIGD_TEST_FAULT_H
#define TRIGD_TEST_FAULT_H
enum {
    FAULT_NONE = 0,
    FAULT_STALL = 101,    /* holds up its lane */
    FAULT_ROI = 102,      /* this RoI fails, the others of its batch do not */
    FAULT_SUBMIT = 103,   /* submit fails: the whole batch */
    FAULT_COLLECT = 104,  /* collect fails: the whole batch */
    FAULT_TRUNCATE = 105, /* wanted 10, kept 5 */
    FAULT_CRASH = 106,    /* SIGSEGV */
    FAULT_ABORT = 107,
    FAULT_EXIT = 108,
    FAULT_NO_DEVICE = 109, /* -ENODEV: the device is lost */
    FAULT_LIE = 110,       /* a status that there is not */
    FAULT_HANG = 111,      /* for ever */
    FAULT_POSITIVE = 112,  /* submit returns a number that is no answer */
    FAULT_MEMORY = 113,    /* asks for 1 GiB; -ENOMEM when it gets less */
    FAULT_WILD = 114,      /* writes over the head of all memory that the worker shares */
    FAULT_SCATTER = 115    /* writes random words over it, with the RoI's l1id as the seed */
};
#define FAULT_MADE_UP 0xffffffffu /* of the RoIs that lanes warm up with */
#endif
