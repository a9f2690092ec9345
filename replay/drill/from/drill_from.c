/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "drill/from/drill_from.h"

#include <stdlib.h>
#include <string.h>
#include "drill/from/from_cm.h"
#include "drill/from/from_dgram.h"
#include "drill/from/from_rc.h"

_Static_assert(DRILL_FROM_NONE == FROM_RC_FIRST,
               "DRILL_FROM_NONE must select the first connection");

/* Adds the lines of a connection. Returns the same values as from_rc_responder(). */
static int add_connection(struct from_drill *d, struct replay *replay,
                          const struct drill_from_options *options)
{
    if (session_infer(&replay->session, &replay->trace, &replay->connections,
                      &(struct session_options){.watch = NULL}, d->error) != 0)
        return -1;
    return options->requester ? from_rc_requester(d, replay, options->connection)
                              : from_rc_responder(d, replay, options->connection);
}

/* Returns the index of the stream that the options select, or DRILL_FROM_NONE. */
static uint32_t choose_stream(const struct dgram_streams *streams,
                              const struct drill_from_options *options)
{
    enum dgram_role role = options->requester ? DGRAM_SENDER : DGRAM_RECEIVER;

    if (options->stream != DRILL_FROM_NONE)
        return options->stream - 1 < streams->cnt ? options->stream - 1 : DRILL_FROM_NONE;
    for (uint32_t i = 0; i < streams->cnt; i++)
        if (streams->stream[i].role == role && !streams->stream[i].skip &&
            (streams->stream[i].svc == ROCE_SVC_UC || streams->stream[i].qpn != ROCE_QP_GSI))
            return i;
    return DRILL_FROM_NONE;
}

/* Adds the lines of a datagram stream. Returns 0, 1 if the capture has no such stream, or -1 and an
 * error. */
static int add_stream(struct from_drill *d, struct replay *replay,
                      const struct drill_from_options *options)
{
    uint32_t stream;

    if (dgram_streams_find(&replay->dgrams, &replay->trace, true, true) != 0)
        return from_fail(d, "no memory");
    stream = choose_stream(&replay->dgrams, options);
    if (stream == DRILL_FROM_NONE)
        return 1;
    return replay->dgrams.stream[stream].role == DGRAM_SENDER
               ? from_dgram_sender(d, &replay->dgrams, stream)
               : from_dgram_receiver(d, &replay->dgrams, stream);
}

/* Adds the lines of a CM exchange. Returns 0, 1 if the capture has no such exchange, or -1 and an
 * error. */
static int add_exchange(struct from_drill *d, struct replay *replay,
                        const struct drill_from_options *options)
{
    uint32_t exchange = options->exchange == DRILL_FROM_NONE ? 1 : options->exchange;

    if (cm_exchanges_find(&replay->cm_exchanges, &replay->trace) != 0)
        return from_fail(d, "no memory");
    if (exchange - 1 >= replay->cm_exchanges.cnt)
        return 1;
    return from_cm(d, &replay->cm_exchanges, exchange - 1,
                   options->requester ? CM_ACTIVE : CM_PASSIVE);
}

static int add_lines(struct from_drill *d, struct replay *replay,
                     const struct drill_from_options *options)
{
    bool any = options->connection == DRILL_FROM_NONE && options->stream == DRILL_FROM_NONE &&
               options->exchange == DRILL_FROM_NONE;
    int rc = 1;

    if (any || options->connection != DRILL_FROM_NONE)
        rc = add_connection(d, replay, options);
    if (rc == 1 && (any || options->stream != DRILL_FROM_NONE))
        rc = add_stream(d, replay, options);
    if (rc == 1 && (any || options->exchange != DRILL_FROM_NONE))
        rc = add_exchange(d, replay, options);
    if (rc == 1 && any)
        *d->what = '\0';
    return rc == 1 ? from_fail(
                         d, any ? "the capture contains no connection, stream or CM exchange "
                                  "that can be replayed"
                                : "the capture contains no connection, stream or CM exchange "
                                  "with this number that can be replayed (rocedrill check -v lists "
                                  "them)")
                   : rc;
}

int drill_from_capture(const char *path, const struct drill_from_options *options, FILE *out,
                       struct error *error)
{
    const char *slash = strrchr(path, '/');
    struct from_drill d = {.capture = path, .file = slash ? slash + 1 : path, .error = error};
    struct replay *replay = calloc(1, sizeof(*replay));
    int rc;

    if (!replay)
        return error_set(error, "%s: no memory", path);
    rc = replay_open(replay, path, &(struct replay_options){0}, error);
    if (rc == 0)
        rc = add_lines(&d, replay, options);
    if (rc == 0)
        rc = from_drill_write(&d, out);
    from_drill_free(&d);
    replay_free(replay);
    free(replay);
    return rc;
}
