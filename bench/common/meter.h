/* SPDX-License-Identifier: Apache-2.0 */
/* meter.h - the energy that a device has used: an NVIDIA GPU's own meter (NVML), or the CPU
 * package's (RAPL), where the machine lets programs read them. */
#ifndef TRIGD_BENCH_METER_H
#define TRIGD_BENCH_METER_H

struct meter;
/* The meter of the GPU at a PCI address, or of the CPU's packages for "".  NULL: there is none to
 * be read. */
struct meter *meter_open(const char *pci);
void meter_close(struct meter *m); /* NULL is fine */
/* Joule since some moment; it moves in steps of up to 0.1 s.  < 0: it cannot be read. */
double meter_joule(const struct meter *m);
#endif
