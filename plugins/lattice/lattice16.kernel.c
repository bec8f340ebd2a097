/* SPDX-License-Identifier: Apache-2.0 */
/* The kernels of lattice.kernel.c, with distributions stored as halves.  The build finds their
 * names here: TRG_KERNEL3(lt_pull, TRG_KERNEL3(lt_local, TRG_KERNEL4(lt_block,
 * TRG_KERNEL2(lt_accelerate, TRG_KERNEL2(lt_total. */
#define LT_HALF
#include "lattice.kernel.c"
