/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* Scratch: the folder for temporary files of a run. */
#ifndef TOOLS_SCRATCH_H
#define TOOLS_SCRATCH_H

/*
 * Returns $TMPDIR if set. Otherwise returns /dev/shm (memory) if it exists and has room, otherwise
 * /tmp. The device writes its recording while it responds to its peers. On a disk a write may wait
 * for the journal, or for a hole that the reader punches, and responses become late.
 */
const char *scratch_folder(void);

#endif
