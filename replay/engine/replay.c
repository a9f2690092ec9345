/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "engine/replay.h"

#include <pthread.h>
#include <string.h>
#include "engine/peer_quirks.h"
#include "live/live_replay.h"
#include "engine/dgram_receiver.h"
#include "engine/strict_compare.h"
#include "engine/dgram_sender.h"

/* From so many packets on the two ends are played in a thread each. */
#define THREADS_MIN 4096u

/* One end of all connections, while it is played. */
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

/* Our RNICs as the responders. They are played even if they are not judged: the report tells of
 * their memory. */
static void *respond(void *arg)
{
    struct half *half = arg;
    struct replay *r = half->replay;

    half->rc = drive_play(&r->drive, &half->error);
    if (half->rc != 0 || !(r->sides & REPLAY_RESPONDER))
        return NULL;
    half->rc = compare_all(&r->comparison, &r->drive, &r->conns, half->options->peer);
    if (half->rc == 0 && half->options->strict)
        half->rc = strict_compare(&r->comparison);
    if (half->rc != 0)
        no_memory(half, &half->error);
    return NULL;
}

/* Our RNICs as the requesters. */
static void *request(void *arg)
{
    struct half *half = arg;
    struct replay *r = half->replay;

    if (!(r->sides & REPLAY_REQUESTER))
        return NULL;
    half->rc = post_all(&r->post, &r->drive, &half->error);
    if (half->rc != 0)
        return NULL;
    half->rc = verify_all(&r->verification, &r->post, half->options->peer);
    if (half->rc == 0 && half->options->strict)
        half->rc = strict_verify(&r->verification);
    if (half->rc != 0)
        no_memory(half, &half->error);
    return NULL;
}

/* Both ends. 0, or -1 and an error. */
static int play_ends(struct replay *replay, const struct replay_options *options,
                     struct error *error)
{
    struct half responder = {.replay = replay, .options = options}, requester = responder;
    bool both = replay->sides == REPLAY_BOTH && replay->trace.cnt >= THREADS_MIN;
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
    return responder.rc != 0 ? responder.rc : requester.rc;
}

int replay_run(struct replay *replay, const char *path, const struct replay_options *options,
               struct error *error)
{
    int rc = 0;

    memset(replay, 0, sizeof(*replay));
    replay->peer = options->peer;
    replay->sides = options->sides ? options->sides : REPLAY_BOTH;
    if (trace_read(&replay->trace, path, error) != 0)
        return -1;
    if (deviations_seal(&replay->trace, options->peer) != 0)
        return error_set(error, "%s: no memory", replay->trace.name);
    if (conns_find(&replay->conns, &replay->trace, error) != 0)
        return -1;
    if (options->live)
        return live_replay(replay, options, error);
    if (drive_derive(&replay->drive, &replay->trace, &replay->conns,
                     &(struct drive_options){.given = options->given,
                                             .stores = options->stores ? &replay->stores : NULL},
                     error) != 0 ||
        play_ends(replay, options, error) != 0)
        return -1;
    rc = streams_find(&replay->streams, &replay->trace,
                      replay->sides & (REPLAY_RESPONDER | REPLAY_NEITHER),
                      replay->sides & (REPLAY_REQUESTER | REPLAY_NEITHER));
    if (rc == 0 && replay->sides & REPLAY_RESPONDER)
        rc = receive_all(&replay->streams);
    if (rc == 0 && replay->sides & REPLAY_REQUESTER)
        rc = transmit_all(&replay->streams);
    if (replay->sides != REPLAY_NEITHER)
        streams_judge(&replay->streams);
    if (rc == 0)
        rc = exchanges_replay(&replay->exchanges, &replay->trace, replay->sides & REPLAY_REQUESTER,
                              replay->sides & REPLAY_RESPONDER);
    return rc == 0 ? 0 : error_set(error, "%s: no memory", replay->trace.name);
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
