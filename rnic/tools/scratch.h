/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* Scratch: where files lie that live as long as a run. */
#ifndef TOOLS_SCRATCH_H
#define TOOLS_SCRATCH_H

/*
 * $TMPDIR; else memory (/dev/shm), if it is there with room; else /tmp. The device writes its
 * recording while it answers: on a disk, a write that waits for the journal, or for a hole that the
 * reader punches, holds up its answers until the peer gives up.
 */
const char *scratch_folder(void);

#endif
