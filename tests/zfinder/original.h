/* SPDX-License-Identifier: Apache-2.0 */
/* original.h - the settings of the preset atlas for which golden/original.csv has answers, in the
 * order of its columns. */
#ifndef ZFINDER_ORIGINAL_H
#define ZFINDER_ORIGINAL_H

#define ORIGINAL_SETTINGS 7

struct original_setting {
    const char *name;
    const char *with[9]; /* keys and values, NULL at the end */
    double found[2]; /* part of the RoIs with its first vertex within 1 mm of the truth: of 1,000
                        at low luminosity, of 100 at high */
};
extern const struct original_setting original_settings[ORIGINAL_SETTINGS];
#endif
