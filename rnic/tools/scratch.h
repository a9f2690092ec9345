/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* Scratch: the folder for temporary files of a run. */
#ifndef TOOLS_SCRATCH_H
#define TOOLS_SCRATCH_H

/*
 * Returns $TMPDIR if it is set. Otherwise returns /dev/shm (memory) if it exists and has enough
 * space, else /tmp. Memory is better than a disk: the device records frames while it responds to
 * its peers. On a disk, a write may wait for the journal of the file system, so that responses
 * become late.
 */
const char *scratch_folder(void);

#endif
