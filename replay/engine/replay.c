/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "engine/replay.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include "base/error.h"
#include "engine/cm/cm_replay.h"
#include "engine/compare/strict_compare.h"
#include "engine/dgram/dgram_receiver.h"
#include "engine/dgram/dgram_sender.h"
#include "engine/play/rc_responder.h"
#include "engine/reasons/peer_quirks.h"

/* Least number of packets of a capture for which the two roles are replayed in two threads. */
#define THREADS_MIN 4096u

/* Arguments of a thread that replays one role, requester or responder, of all connections. */
struct half {
    struct replay *replay;
    const struct replay_options *options;
    struct error error;
    int rc;
};

static int no_memory(const struct half *half, struct error *error)
{
    return error_set(error, "%s: no memory", half->replay->trace.name);
}

/* Replays and compares the responders. If only requesters are compared, still replays the
 * responders, because the report shows their memory. Returns NULL. */
static void *respond(void *arg)
{
    struct half *half = arg;
    struct replay *r = half->replay;

    half->rc = rc_responder_play(&r->session, &half->error);
    if (half->rc != 0 || !(r->roles & REPLAY_RESPONDER))
        return NULL;
    half->rc =
        rc_compare_responses(&r->responses, &r->session, &r->connections, half->options->quirks);
    if (half->rc == 0 && half->options->strict)
        half->rc = strict_compare_responses(&r->responses);
    if (half->rc != 0)
        no_memory(half, &half->error);
    return NULL;
}

/* Replays and compares the requesters. */
static void *request(void *arg)
{
    struct half *half = arg;
    struct replay *r = half->replay;

    if (!(r->roles & REPLAY_REQUESTER))
        return NULL;
    half->rc = rc_requester_play(&r->requester, &r->session, &half->error);
    if (half->rc != 0)
        return NULL;
    half->rc = rc_compare_requests(&r->requests, &r->requester, half->options->quirks);
    if (half->rc == 0 && half->options->strict)
        half->rc = strict_compare_requests(&r->requests);
    if (half->rc != 0)
        no_memory(half, &half->error);
    return NULL;
}

/* If a wrong response precedes a difference of a requester, adds this likely cause to its reason.
 */
static void add_causes(struct replay *replay)
{
    for (size_t i = 0; i < replay->requests.diff_cnt; i++) {
        struct diff *d = &replay->requests.diff[i];
        const struct inferred_setup *s = &replay->session.dir[d->dir].setup;
        const uint8_t *mark = replay->responses.result[d->dir].mark;
        uint32_t cause = EVENT_NONE;
        size_t len = strlen(d->reason);

        for (uint32_t k = 0; k < s->event_cnt && s->event[k].pkt < d->pkt; k++)
            if (s->event[k].response && mark[k] == MARK_DIFF)
                cause = k;
        if (cause != EVENT_NONE && !d->known)
            snprintf(d->reason + len, sizeof(d->reason) - len,
                     "; the likely cause is the wrong response in frame %u",
                     event_packet(s, cause)->frame);
    }
}

/* Replays both roles. Returns 0, or -1 and sets *error. */
static int play_ends(struct replay *replay, const struct replay_options *options,
                     struct error *error)
{
    struct half responder = {.replay = replay, .options = options}, requester = responder;
    bool both = replay->roles == REPLAY_BOTH && replay->trace.cnt >= THREADS_MIN;
    pthread_t thread;

    both = both && pthread_create(&thread, NULL, request, &requester) == 0;
    respond(&responder);
    if (both)
        pthread_join(thread, NULL);
    else if (responder.rc == 0)
        request(&requester);
    if (responder.rc != 0)
        *error = responder.error;
    else if (requester.rc != 0)
        *error = requester.error;
    else if (replay->roles == REPLAY_BOTH)
        add_causes(replay);
    return responder.rc != 0 ? responder.rc : requester.rc;
}

int replay_open(struct replay *replay, const char *path, const struct replay_options *options,
                struct error *error)
{
    int fixed;

    memset(replay, 0, sizeof(*replay));
    replay->quirks = options->quirks;
    replay->roles = options->roles ? options->roles : REPLAY_BOTH;
    if (trace_read_narrowed(&replay->trace, path, options->narrow, error) != 0)
        return -1;
    fixed = peer_quirks_fix_icrcs(&replay->trace, options->quirks, NULL);
    if (fixed >= 0 && connections_find(&replay->connections, &replay->trace, error) != 0)
        return -1;
    if (fixed == 0)
        fixed = peer_quirks_fix_icrcs(&replay->trace, options->quirks, replay->connections.rxe);
    else if (fixed > 0)
        return 0;
    if (fixed < 0)
        return error_set(error, "%s: no memory", replay->trace.name);
    if (fixed == 0)
        return 0;
    /* Find the connections again, because with corrected ICRCs fewer packets count as damaged. */
    connections_free(&replay->connections);
    return connections_find(&replay->connections, &replay->trace, error);
}

int replay_run(struct replay *replay, const char *path, const struct replay_options *options,
               struct error *error)
{
    int rc;

    if (replay_open(replay, path, options, error) != 0)
        return -1;
    if (session_infer(&replay->session, &replay->trace, &replay->connections,
                      &(struct session_options){
                          .order_effort = options->order_effort,
                          .memory_log = options->memory_log ? &replay->memory_log : NULL},
                      error) != 0 ||
        play_ends(replay, options, error) != 0)
        return -1;
    rc = dgram_streams_find(&replay->dgrams, &replay->trace,
                            replay->roles & (REPLAY_RESPONDER | REPLAY_NEITHER),
                            replay->roles & (REPLAY_REQUESTER | REPLAY_NEITHER));
    if (rc == 0 && replay->roles & REPLAY_RESPONDER)
        rc = dgram_receivers_play(&replay->dgrams);
    if (rc == 0 && replay->roles & REPLAY_REQUESTER)
        rc = dgram_senders_play(&replay->dgrams);
    if (replay->roles != REPLAY_NEITHER)
        dgram_streams_judge(&replay->dgrams);
    if (rc == 0)
        rc = cm_exchanges_find(&replay->cm_exchanges, &replay->trace);
    if (rc == 0)
        rc = cm_replay(&replay->cm_exchanges, replay->roles & REPLAY_REQUESTER,
                       replay->roles & REPLAY_RESPONDER);
    return rc == 0 ? 0 : error_set(error, "%s: no memory", replay->trace.name);
}

void replay_free(struct replay *replay)
{
    if (replay->requests.requester)
        request_comparison_free(&replay->requests);
    cm_exchanges_free(&replay->cm_exchanges);
    dgram_streams_free(&replay->dgrams);
    rc_requester_free(&replay->requester);
    if (replay->responses.session)
        response_comparison_free(&replay->responses);
    session_free(&replay->session);
    memory_log_free(&replay->memory_log);
    connections_free(&replay->connections);
    trace_free(&replay->trace);
}
