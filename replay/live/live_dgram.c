/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "live/live_dgram.h"

#include <arpa/inet.h>
#include "base/error.h"

static const char *unplayable_stream(const struct live *live, const struct dgram_stream *s)
{
    if (s->qpn == ROCE_QP_GSI)
        return "QP 1 of the far host is its own: --cm plays the connection manager's messages";
    if (s->multicast || s->qpn == ROCE_QP_MULTICAST)
        return "multicast: the agent joins no groups";
    if (s->svc == ROCE_SVC_UC ? !live->agent.uc : !live->agent.ud)
        return "the agent is an older one, which makes RC QPs only";
    if (s->svc == ROCE_SVC_UC && s->mtu > live->port.iface.path_mtu)
        return "its path MTU does not fit through the interface";
    return NULL;
}

/* The far manager's own datagrams are no part of what is played here. */
static bool any_but_gsi(const struct dgram_streams *streams)
{
    for (size_t i = 0; i < streams->cnt; i++)
        if (streams->stream[i].qpn != ROCE_QP_GSI)
            return true;
    return false;
}

/* While the agent works: what comes in then counts, and questions for our address are answered. */
static void poll_while_waiting(void *ctx)
{
    struct live *live = ctx;

    live_port_wait(&live->port, 0, live->take, live->take_ctx);
}

int live_dgram_play(struct live *live, struct dgram_streams *streams, unsigned sides,
                    const char *peer, struct error *error)
{
    bool receivers = sides & REPLAY_RESPONDER, senders = sides & REPLAY_REQUESTER;

    if (dgram_streams_find(streams, live->drive->trace, receivers, senders) != 0)
        return error_set(error, "no memory");
    if (!any_but_gsi(streams)) {
        dgram_streams_free(streams);
        return 0;
    }
    live->agent.idle = poll_while_waiting;
    live->agent.idle_ctx = live;
    for (size_t i = 0; i < streams->cnt; i++)
        if (!streams->stream[i].skip)
            streams->stream[i].skip = unplayable_stream(live, &streams->stream[i]);
    if ((receivers && dgram_to_target_play(live, streams, peer, error) != 0) ||
        (senders && dgram_from_target_play(live, streams, error) != 0))
        return -1;
    dgram_streams_judge(streams);
    return 0;
}

int agent_setup_dgram_qp(struct live *live, struct dgram_stream *stream, uint32_t max_send,
                         uint32_t max_recv, uint32_t *qp, uint32_t *qpn, struct error *error)
{
    const char *why = NULL;
    json_t *reply = agent_setup_call(live,
                                     json_pack("{s:s, s:s, s:i, s:i}", "op", "qp", "type",
                                               stream->svc == ROCE_SVC_UC ? "UC" : "UD", "max_send",
                                               (int)max_send, "max_recv", (int)max_recv),
                                     &why, error);

    if (!reply) {
        stream->skip = why;
        return why ? 0 : -1;
    }
    *qp = (uint32_t)json_integer_value(json_object_get(reply, "qp"));
    *qpn = (uint32_t)json_integer_value(json_object_get(reply, "qpn"));
    json_decref(reply);
    return 0;
}

int agent_setup_dgram_connect(struct live *live, struct dgram_stream *stream, uint32_t qp,
                              uint32_t ours, uint32_t rq_psn, uint32_t sq_psn, struct error *error)
{
    char dgid[INET6_ADDRSTRLEN];
    const char *why = NULL;
    json_t *reply;

    inet_ntop(AF_INET6, live->port.addr, dgid, sizeof(dgid));
    reply =
        agent_setup_call(live,
                         json_pack("{s:s, s:I, s:s, s:i, s:I, s:I, s:I, s:I, s:I, s:[s]}", "op",
                                   "connect", "qp", (json_int_t)qp, "dgid", dgid, "gid_index",
                                   live->agent.gid_index, "dest_qpn", (json_int_t)ours, "mtu",
                                   (json_int_t)(stream->svc == ROCE_SVC_UC ? stream->mtu : 256u),
                                   "rq_psn", (json_int_t)rq_psn, "sq_psn", (json_int_t)sq_psn,
                                   "qkey", (json_int_t)stream->qkey, "access", "write"),
                         &why, error);
    stream->skip = reply ? NULL : why;
    json_decref(reply);
    return reply || why ? 0 : -1;
}
