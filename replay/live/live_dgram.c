/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "live/live_dgram.h"
#include "base/error.h"

static const char *unplayable_stream(const struct live *live, const struct dgram_stream *s)
{
    if (s->qpn == ROCE_QP_GSI)
        return "datagrams to QP 1 belong to the target host's CM: use --cm";
    if (s->multicast || s->qpn == ROCE_QP_MULTICAST)
        return "multicast: the agent joins no groups";
    if (s->svc == ROCE_SVC_UC ? !live->agent.uc : !live->agent.ud)
        return "the agent is an older version and supports only RC";
    if (s->svc == ROCE_SVC_UC && s->mtu > live->port.iface.path_mtu)
        return "the path MTU of the connection is larger than the MTU of the interface";
    return NULL;
}

/* Returns whether any stream is to a QP other than QP 1. The packets to QP 1 are CM messages, which
 * the target's CM handles. */
static bool any_but_gsi(const struct dgram_streams *streams)
{
    for (size_t i = 0; i < streams->cnt; i++)
        if (streams->stream[i].qpn != ROCE_QP_GSI)
            return true;
    return false;
}

/* Receives frames while the client waits for the agent: counts them and answers ARP requests. */
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
