/* SPDX-License-Identifier: Apache-2.0 */
/* export.h - RoI files as files of others: raw banks of LHCb's vertex detector, pixels with
 * charge as a table. */
#ifndef TRIGD_EXPORT_H
#define TRIGD_EXPORT_H
#include <stdint.h>

/* Writes the banks of each RoI of a file into `folder`, which is made where it is not there, as
 * RUN_EVENT.bin in the format of `import lhcb-banks`; words of a sensor keep their order.  Returns
 * the number of files, or a negative errno with a sentence on stderr: -EEXIST, one is there
 * already; -ENODATA, an RoI has no banks. */
int64_t export_banks(const char *path, const char *folder);
/* Likewise pixels with charge, as RUN_EVENT-pixels.csv in the format of `import pixels`. */
int64_t export_pixels(const char *path, const char *folder);
#endif
