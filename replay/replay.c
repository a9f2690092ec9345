/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "replay.h"

#include <string.h>

int replay_run(struct replay *replay, const char *path, const char *peer, struct fault *fault)
{
    memset(replay, 0, sizeof(*replay));
    if (trace_read(&replay->trace, path, fault) != 0 ||
        conns_find(&replay->conns, &replay->trace, fault) != 0 ||
        drive_all(&replay->drive, &replay->trace, &replay->conns, fault) != 0)
        return -1;
    if (compare_all(&replay->comparison, &replay->drive, &replay->conns, peer) != 0)
        return fault_set(fault, "%s: no memory", replay->trace.name);
    return 0;
}

void replay_free(struct replay *replay)
{
    if (replay->comparison.drive)
        comparison_free(&replay->comparison);
    drive_free(&replay->drive);
    conns_free(&replay->conns);
    trace_free(&replay->trace);
}
