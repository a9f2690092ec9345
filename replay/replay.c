/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "replay.h"

#include <string.h>
#include "deviations.h"
#include "live_replay.h"
#include "receive.h"
#include "strict.h"
#include "transmit.h"

int replay_run(struct replay *replay, const char *path, const struct replay_options *options,
               struct fault *fault)
{
    int rc = 0;

    memset(replay, 0, sizeof(*replay));
    replay->peer = options->peer;
    replay->sides = options->sides ? options->sides : REPLAY_BOTH;
    if (trace_read(&replay->trace, path, fault) != 0)
        return -1;
    if (deviations_seal(&replay->trace, options->peer) != 0)
        return fault_set(fault, "%s: no memory", replay->trace.name);
    if (conns_find(&replay->conns, &replay->trace, fault) != 0)
        return -1;
    if (options->live)
        return live_replay(replay, options, fault);
    if (drive_all(&replay->drive, &replay->trace, &replay->conns,
                  &(struct drive_options){.given = options->given,
                                          .stores = options->stores ? &replay->stores : NULL},
                  fault) != 0)
        return -1;
    if (replay->sides & REPLAY_RESPONDER)
        rc = compare_all(&replay->comparison, &replay->drive, &replay->conns, options->peer);
    if (rc == 0 && options->strict && replay->comparison.result)
        rc = strict_compare(&replay->comparison);
    if (rc == 0 && replay->sides & REPLAY_REQUESTER) {
        if (post_all(&replay->post, &replay->drive, fault) != 0)
            return -1;
        rc = verify_all(&replay->verification, &replay->post, options->peer);
        if (rc == 0 && options->strict)
            rc = strict_verify(&replay->verification);
    }
    if (rc == 0)
        rc = streams_find(&replay->streams, &replay->trace, replay->sides & REPLAY_RESPONDER,
                          replay->sides & REPLAY_REQUESTER);
    if (rc == 0 && replay->sides & REPLAY_RESPONDER)
        rc = receive_all(&replay->streams);
    if (rc == 0 && replay->sides & REPLAY_REQUESTER)
        rc = transmit_all(&replay->streams);
    streams_judge(&replay->streams);
    if (rc == 0)
        rc = exchanges_replay(&replay->exchanges, &replay->trace, replay->sides & REPLAY_REQUESTER,
                              replay->sides & REPLAY_RESPONDER);
    return rc == 0 ? 0 : fault_set(fault, "%s: no memory", replay->trace.name);
}

void replay_free(struct replay *replay)
{
    if (replay->verification.post)
        verification_free(&replay->verification);
    exchanges_free(&replay->exchanges);
    streams_free(&replay->streams);
    post_free(&replay->post);
    if (replay->comparison.drive)
        comparison_free(&replay->comparison);
    drive_free(&replay->drive);
    stores_free(&replay->stores);
    conns_free(&replay->conns);
    trace_free(&replay->trace);
}
