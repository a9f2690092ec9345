/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "live/live_replay.h"

#ifdef HAVE_LIVE
#include "live/live.h"
#include "live/cm_peer.h"
#include "live/live_dgram.h"

/* The target answers. */
static int replay_responder(struct replay *replay, const struct replay_options *options,
                            struct live *live, struct error *error)
{
    if (live_open(live, options->live, &replay->drive, error) != 0 || live_play(live, error) != 0)
        return -1;
    if (compare_all(&replay->comparison, &replay->drive, &replay->conns, options->peer) != 0)
        return error_set(error, "%s: no memory", replay->trace.name);
    return live_compare(live, &replay->comparison, error);
}

/* The target asks. */
static int replay_requester(struct replay *replay, const struct replay_options *options,
                            struct error *error)
{
    struct live live = {0};
    int rc = -1;

    if (post_all(&replay->post, &replay->drive, error) == 0 &&
        live_open(&live, options->live, &replay->drive, error) == 0 &&
        live_requester_play(&live, &replay->post, error) == 0)
        rc = verify_all(&replay->verification, &replay->post, options->peer) == 0
                 ? 0
                 : error_set(error, "%s: no memory", replay->trace.name);
    live_close(&live);
    return rc;
}

/* The target is a program that we connect to, or that connects to us. */
static int replay_cm_peer(struct replay *replay, const struct replay_options *options,
                          struct live *live, struct error *error)
{
    if (post_all(&replay->post, &replay->drive, error) != 0 ||
        live_open(live, options->live, &replay->drive, error) != 0 ||
        cm_peer_play(live, &replay->post, &replay->exchanges, error) != 0)
        return -1;
    if (compare_all(&replay->comparison, &replay->drive, &replay->conns, options->peer) != 0 ||
        verify_all(&replay->verification, &replay->post, options->peer) != 0)
        return error_set(error, "%s: no memory", replay->trace.name);
    return live_compare(live, &replay->comparison, error);
}

/* UC and UD: an agent serves one session at a time, so after the connections. */
static int replay_dgrams(struct replay *replay, const struct replay_options *options,
                         struct error *error)
{
    struct live live = {0};
    bool any = false;
    int rc = 0;

    for (uint32_t i = 0; i < replay->trace.flows.cnt; i++)
        any |= !trace_acknowledged(replay->trace.flow[i].svc) &&
               replay->trace.flow[i].dest_qp != ROCE_QP_GSI;
    if (any && (live_open(&live, options->live, &replay->drive, error) != 0 ||
                live_dgram_play(&live, &replay->streams, replay->sides, options->peer, error) != 0))
        rc = -1;
    live_close(&live);
    return rc;
}

int live_replay(struct replay *replay, const struct replay_options *options, struct error *error)
{
    struct live live = {0};
    const struct drive_watch watch = live_script_watch(&live.script);
    int rc = drive_all(&replay->drive, &replay->trace, &replay->conns,
                       &(struct drive_options){.watch = &watch}, error);
    bool any = replay->drive.run_cnt > 0; /* else there is nothing to ask an agent for */

    replay->drive.watch = NULL;
    if (rc == 0 && options->live->cm) {
        rc = replay_cm_peer(replay, options, &live, error);
        live_close(&live);
        return rc;
    }
    /* Our RNIC's requesters first: the target's answers take the place of our responders'. */
    if (rc == 0 && any && replay->sides & REPLAY_REQUESTER)
        rc = replay_requester(replay, options, error);
    if (rc == 0 && any && replay->sides & REPLAY_RESPONDER)
        rc = replay_responder(replay, options, &live, error);
    live_close(&live);
    if (rc == 0)
        rc = replay_dgrams(replay, options, error);
    return rc;
}
#else
int live_replay(struct replay *replay, const struct replay_options *options, struct error *error)
{
    (void)options;
    return error_set(error, "%s: this program was built without live targets", replay->trace.name);
}
#endif
