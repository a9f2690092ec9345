/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Listener: an rdma_cm server that accepts each connection request and destroys each ended
 * connection. It runs until a signal, and ends with status 1 at an error that no peer may cause. It
 * has one thread. rping's persistent server is not used: before rdma-core 61, two of its threads
 * use and free one id if requests arrive fast; in later versions, a connection that is never
 * established ends the server.
 *
 *   listener ADDRESS PORT
 */
#include <netdb.h>
#include <rdma/rdma_cma.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include "../programs/must.h"

static bool accept_request(struct rdma_cm_id *id)
{
    struct ibv_qp_init_attr init = {
        .qp_type = IBV_QPT_RC,
        .cap = {.max_send_wr = 16, .max_recv_wr = 2, .max_send_sge = 1, .max_recv_sge = 1},
    };
    return rdma_create_qp(id, NULL, &init) == 0 && rdma_accept(id, NULL) == 0;
}

static void destroy_connection(struct rdma_cm_id *id)
{
    if (id->qp)
        rdma_destroy_qp(id);
    MUST(rdma_destroy_id(id) == 0);
}

int main(int argc, char **argv)
{
    struct addrinfo *to;
    struct rdma_event_channel *channel = rdma_create_event_channel();
    struct rdma_cm_id *listener;
    struct rdma_cm_event *event;

    MUST(argc == 3 && getaddrinfo(argv[1], argv[2], NULL, &to) == 0);
    MUST(channel && rdma_create_id(channel, &listener, NULL, RDMA_PS_TCP) == 0);
    MUST(rdma_bind_addr(listener, to->ai_addr) == 0 && rdma_listen(listener, 100) == 0);
    for (;;) {
        MUST(rdma_get_cm_event(channel, &event) == 0);
        const enum rdma_cm_event_type type = event->event;
        struct rdma_cm_id *id = event->id;
        MUST(rdma_ack_cm_event(event) == 0);
        switch (type) {
        case RDMA_CM_EVENT_CONNECT_REQUEST:
            if (!accept_request(id)) /* the requester gave up, or the device is full */
                destroy_connection(id);
            break;
        case RDMA_CM_EVENT_CONNECT_ERROR:
        case RDMA_CM_EVENT_UNREACHABLE:
        case RDMA_CM_EVENT_REJECTED:
        case RDMA_CM_EVENT_DISCONNECTED: destroy_connection(id); break;
        default: MUST(type == RDMA_CM_EVENT_ESTABLISHED || type == RDMA_CM_EVENT_TIMEWAIT_EXIT);
        }
    }
}
