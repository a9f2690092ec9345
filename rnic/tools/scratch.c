/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "tools/scratch.h"

#include <stdint.h>
#include <stdlib.h>
#include <sys/statvfs.h>
#include <unistd.h>

#define MEMORY "/dev/shm"
#define ROOM   (UINT64_C(1) << 30) /* free space that a recording needs in memory, bytes */

const char *scratch_folder(void)
{
    const char *folder = getenv("TMPDIR");
    struct statvfs memory;
    if (folder && *folder)
        return folder;
    if (access(MEMORY, W_OK | X_OK) == 0 && statvfs(MEMORY, &memory) == 0 &&
        (uint64_t)memory.f_bavail * memory.f_frsize >= ROOM)
        return MEMORY;
    return "/tmp";
}
