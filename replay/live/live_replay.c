/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "live/live_replay.h"

#ifdef HAVE_LIVE
#include "base/error.h"
#include "live/cm_peer.h"
#include "live/live.h"
#include "live/live_dgram.h"

static int replay_responder(struct replay *replay, const struct replay_options *options,
                            const struct live_options *target, struct live *live,
                            struct error *error)
{
    if (live_open(live, target, &replay->session, error) != 0 || live_play(live, error) != 0)
        return -1;
    if (rc_compare_responses(&replay->responses, &replay->session, &replay->connections,
                             options->quirks) != 0)
        return error_set(error, "%s: no memory", replay->trace.name);
    return live_compare(live, &replay->responses, error);
}

static int replay_requester(struct replay *replay, const struct replay_options *options,
                            const struct live_options *target, struct error *error)
{
    struct live live = {0};
    int rc = -1;

    if (rc_requester_play(&replay->requester, &replay->session, error) == 0 &&
        live_open(&live, target, &replay->session, error) == 0 &&
        live_requester_play(&live, &replay->requester, error) == 0)
        rc = rc_compare_requests(&replay->requests, &replay->requester, options->quirks) == 0
                 ? 0
                 : error_set(error, "%s: no memory", replay->trace.name);
    live_close(&live);
    return rc;
}

/* Replays against a program without an agent (--cm). We connect to the program, or the program
 * connects to us. */
static int replay_cm_peer(struct replay *replay, const struct replay_options *options,
                          const struct live_options *target, struct live *live, struct error *error)
{
    if (rc_requester_play(&replay->requester, &replay->session, error) != 0 ||
        live_open(live, target, &replay->session, error) != 0 ||
        cm_peer_play(live, &replay->requester, &replay->cm_exchanges, error) != 0)
        return -1;
    if (rc_compare_responses(&replay->responses, &replay->session, &replay->connections,
                             options->quirks) != 0 ||
        rc_compare_requests(&replay->requests, &replay->requester, options->quirks) != 0)
        return error_set(error, "%s: no memory", replay->trace.name);
    return live_compare(live, &replay->responses, error);
}

/* Replays UC and UD streams. Called after the connections were replayed and closed, because an
 * agent serves one session at a time. */
static int replay_dgrams(struct replay *replay, const struct replay_options *options,
                         const struct live_options *target, struct error *error)
{
    struct live live = {0};
    bool any = false;
    int rc = 0;

    for (uint32_t i = 0; i < replay->trace.flows.cnt; i++)
        any |= !trace_acknowledged(replay->trace.flow[i].svc) &&
               replay->trace.flow[i].dest_qp != ROCE_QP_GSI;
    if (any &&
        (live_open(&live, target, &replay->session, error) != 0 ||
         live_dgram_play(&live, &replay->dgrams, replay->roles, options->quirks, error) != 0))
        rc = -1;
    live_close(&live);
    return rc;
}

int live_replay(struct replay *replay, const char *path, const struct replay_options *options,
                const struct live_options *target, struct error *error)
{
    struct live live = {0};
    const struct session_watch watch = live_script_watch(&live.script);
    int rc = replay_open(replay, path, options, error);
    bool any;

    if (rc == 0)
        rc = session_infer(&replay->session, &replay->trace, &replay->connections,
                           &(struct session_options){.watch = &watch}, error);
    any = replay->session.dir_cnt > 0; /* if no direction can be played, no agent is needed */
    if (rc == 0)
        rc = rc_responder_play(&replay->session, error);
    replay->session.watch = NULL;
    if (rc == 0 && target->cm) {
        rc = replay_cm_peer(replay, options, target, &live, error);
        live_close(&live);
        return rc;
    }
    /* First replay with the target as requester. This replay needs the responses of our RNIC; the
     * replay with the target as responder removes them from the session. */
    if (rc == 0 && any && replay->roles & REPLAY_REQUESTER)
        rc = replay_requester(replay, options, target, error);
    if (rc == 0 && any && replay->roles & REPLAY_RESPONDER)
        rc = replay_responder(replay, options, target, &live, error);
    live_close(&live);
    if (rc == 0)
        rc = replay_dgrams(replay, options, target, error);
    return rc;
}
#else
int live_replay(struct replay *replay, const char *path, const struct replay_options *options,
                const struct live_options *target, struct error *error)
{
    (void)options;
    (void)target;
    *replay = (struct replay){0};
    return error_set(error, "%s: this program was built without live targets", path);
}
#endif
