/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Replay: one capture from file to findings. The parts are in the order of the work: trace (read),
 * conn (find connections), derive and drive (play), compare.
 */
#ifndef REPLAY_REPLAY_H
#define REPLAY_REPLAY_H

#include "report.h"

struct replay {
    struct trace trace;
    struct conns conns;
    struct drive drive;
    struct comparison comparison;
};

/* 0, or -1 and a fault for a capture that cannot be used. Nothing to replay in it is not a fault
 * but the verdict SKIPPED. replay_free() is wanted in both cases. */
int replay_run(struct replay *replay, const char *path, const char *peer, struct fault *fault);
void replay_free(struct replay *replay);

#endif
