/* SPDX-License-Identifier: Apache-2.0 */
/* gpu_reader.h - the process that reads GPUs: `trigd --nvml`, a child of the daemon (gpus.h). */
#ifndef TRIGD_GPU_READER_H
#define TRIGD_GPU_READER_H

/* Until the daemon closes its socket, or there is nothing to read.  The exit code. */
int gpu_reader_main(void);
#endif
