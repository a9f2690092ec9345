/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * CM swap: two programs connect with rdma_cm. Each program sends the address, length and R_Key of
 * its memory to its peer. The client writes its buffer to the peer's memory (RDMA WRITE), reads it
 * back (RDMA READ) and compares.
 *
 *   cm_swap server PORT            cm_swap client ADDRESS PORT [BYTES]
 */
#include <endian.h>
#include <netdb.h>
#include <rdma/rdma_cma.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BYTES_DEFAULT 100000u
#define RESOLVE_MS    3000

/* The message that the two programs send each other; all fields big-endian. */
struct where {
    uint64_t addr;
    uint32_t len;
    uint32_t key;
};

struct side {
    struct rdma_event_channel *channel;
    struct rdma_cm_id *id;
    struct ibv_pd *pd;
    /* Separate CQs, because the peer's message may arrive before this side's SEND completes. */
    struct ibv_cq *send_cq, *recv_cq;
    struct ibv_mr *own_mr, *peer_mr, *buf_mr, *back_mr;
    struct where own, peer;
    uint8_t *buf, *back;
    uint32_t len;
};

static void fail(const char *what)
{
    perror(what);
    exit(1);
}

static void fail_if(bool failed, const char *what)
{
    if (failed)
        fail(what);
}

/* Waits for the next event and returns it. Ends the program if it is not of type `type`. */
static struct rdma_cm_event *expect(struct side *side, enum rdma_cm_event_type type)
{
    struct rdma_cm_event *event;

    fail_if(rdma_get_cm_event(side->channel, &event) != 0, "rdma_get_cm_event");
    if (event->event != type) {
        fprintf(stderr, "event %s (status %d) instead of %s\n", rdma_event_str(event->event),
                event->status, rdma_event_str(type));
        exit(1);
    }
    printf("event %s\n", rdma_event_str(type));
    return event;
}

/* Registers the memory, creates the QP, and posts the receive WQE for the peer's message. */
static void prepare(struct side *side, uint32_t len)
{
    struct ibv_qp_init_attr init = {
        .cap = {.max_send_wr = 4, .max_recv_wr = 4, .max_send_sge = 1, .max_recv_sge = 1},
        .qp_type = IBV_QPT_RC,
        .sq_sig_all = 1,
    };
    struct ibv_sge sge;
    struct ibv_recv_wr recv = {.sg_list = &sge, .num_sge = 1}, *bad;

    side->len = len;
    side->buf = calloc(1, len);
    side->back = calloc(1, len);
    fail_if(!side->buf || !side->back, "calloc");
    fail_if(!(side->pd = ibv_alloc_pd(side->id->verbs)), "ibv_alloc_pd");
    init.send_cq = side->send_cq = ibv_create_cq(side->id->verbs, 16, NULL, NULL, 0);
    init.recv_cq = side->recv_cq = ibv_create_cq(side->id->verbs, 16, NULL, NULL, 0);
    fail_if(!side->send_cq || !side->recv_cq, "ibv_create_cq");
    fail_if(rdma_create_qp(side->id, side->pd, &init) != 0, "rdma_create_qp");
    side->own_mr = ibv_reg_mr(side->pd, &side->own, sizeof(side->own), 0);
    side->peer_mr = ibv_reg_mr(side->pd, &side->peer, sizeof(side->peer), IBV_ACCESS_LOCAL_WRITE);
    side->buf_mr =
        ibv_reg_mr(side->pd, side->buf, len,
                   IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE);
    side->back_mr = ibv_reg_mr(side->pd, side->back, len, IBV_ACCESS_LOCAL_WRITE);
    fail_if(!side->own_mr || !side->peer_mr || !side->buf_mr || !side->back_mr, "ibv_reg_mr");
    side->own =
        (struct where){htobe64((uintptr_t)side->buf), htobe32(len), htobe32(side->buf_mr->rkey)};
    sge = (struct ibv_sge){(uintptr_t)&side->peer, sizeof(side->peer), side->peer_mr->lkey};
    fail_if(ibv_post_recv(side->id->qp, &recv, &bad) != 0, "ibv_post_recv");
}

static void clean_up(struct side *side)
{
    rdma_destroy_qp(side->id);
    ibv_dereg_mr(side->own_mr);
    ibv_dereg_mr(side->peer_mr);
    ibv_dereg_mr(side->buf_mr);
    ibv_dereg_mr(side->back_mr);
    ibv_destroy_cq(side->send_cq);
    ibv_destroy_cq(side->recv_cq);
    ibv_dealloc_pd(side->pd);
    rdma_destroy_id(side->id);
    free(side->buf);
    free(side->back);
}

static void complete(struct side *side, enum ibv_wc_opcode opcode, const char *what)
{
    struct ibv_cq *cq = opcode == IBV_WC_RECV ? side->recv_cq : side->send_cq;
    struct ibv_wc wc;
    int cnt;

    while ((cnt = ibv_poll_cq(cq, 1, &wc)) == 0)
        ;
    if (cnt < 0 || wc.status != IBV_WC_SUCCESS || wc.opcode != opcode) {
        fprintf(stderr, "%s: %s\n", what, cnt < 0 ? "no completion" : ibv_wc_status_str(wc.status));
        exit(1);
    }
    printf("%s: done\n", what);
}

static void post(struct side *side, enum ibv_wr_opcode opcode, void *addr, uint32_t len,
                 const struct ibv_mr *mr)
{
    struct ibv_sge sge = {(uintptr_t)addr, len, mr->lkey};
    struct ibv_send_wr wr = {.sg_list = &sge, .num_sge = 1, .opcode = opcode}, *bad;

    wr.wr.rdma.remote_addr = be64toh(side->peer.addr);
    wr.wr.rdma.rkey = be32toh(side->peer.key);
    fail_if(ibv_post_send(side->id->qp, &wr, &bad) != 0, "ibv_post_send");
}

static void show(const char *whose, const struct where *where)
{
    printf("%s buffer: address 0x%llx length %u stag 0x%x\n", whose,
           (unsigned long long)be64toh(where->addr), be32toh(where->len), be32toh(where->key));
}

static int serve(struct side *side, uint16_t port)
{
    struct sockaddr_in addr = {.sin_family = AF_INET, .sin_port = htobe16(port)};
    struct rdma_conn_param param = {.responder_resources = 1, .initiator_depth = 1};
    struct rdma_cm_id *listener;
    struct rdma_cm_event *event;

    fail_if(rdma_create_id(side->channel, &listener, NULL, RDMA_PS_TCP) != 0, "rdma_create_id");
    fail_if(rdma_bind_addr(listener, (struct sockaddr *)&addr) != 0, "rdma_bind_addr");
    fail_if(rdma_listen(listener, 1) != 0, "rdma_listen");
    event = expect(side, RDMA_CM_EVENT_CONNECT_REQUEST);
    side->id = event->id;
    if (event->param.conn.private_data_len < sizeof(uint32_t)) {
        fprintf(stderr, "the request has no length\n");
        return 1;
    }
    uint32_t len;
    memcpy(&len, event->param.conn.private_data, sizeof(len));
    rdma_ack_cm_event(event);
    prepare(side, be32toh(len));
    fail_if(rdma_accept(side->id, &param) != 0, "rdma_accept");
    rdma_ack_cm_event(expect(side, RDMA_CM_EVENT_ESTABLISHED));
    complete(side, IBV_WC_RECV, "receive of the client's");
    show("client's", &side->peer);
    show("server's", &side->own);
    post(side, IBV_WR_SEND, &side->own, sizeof(side->own), side->own_mr);
    complete(side, IBV_WC_SEND, "SEND of the server's");
    rdma_ack_cm_event(expect(side, RDMA_CM_EVENT_DISCONNECTED));
    rdma_disconnect(side->id);
    clean_up(side);
    rdma_destroy_id(listener);
    return 0;
}

static int ask(struct side *side, const char *host, const char *port, uint32_t len)
{
    const uint32_t told = htobe32(len);
    struct rdma_conn_param param = {.responder_resources = 1,
                                    .initiator_depth = 1,
                                    .retry_count = 7,
                                    .rnr_retry_count = 7,
                                    .private_data = &told,
                                    .private_data_len = sizeof(told)};
    struct addrinfo *to;
    bool same;

    fail_if(getaddrinfo(host, port, NULL, &to) != 0, host);
    fail_if(rdma_create_id(side->channel, &side->id, NULL, RDMA_PS_TCP) != 0, "rdma_create_id");
    fail_if(rdma_resolve_addr(side->id, NULL, to->ai_addr, RESOLVE_MS) != 0, "rdma_resolve_addr");
    freeaddrinfo(to);
    rdma_ack_cm_event(expect(side, RDMA_CM_EVENT_ADDR_RESOLVED));
    fail_if(rdma_resolve_route(side->id, RESOLVE_MS) != 0, "rdma_resolve_route");
    rdma_ack_cm_event(expect(side, RDMA_CM_EVENT_ROUTE_RESOLVED));
    prepare(side, len);
    fail_if(rdma_connect(side->id, &param) != 0, "rdma_connect");
    rdma_ack_cm_event(expect(side, RDMA_CM_EVENT_ESTABLISHED));
    show("client's", &side->own);
    post(side, IBV_WR_SEND, &side->own, sizeof(side->own), side->own_mr);
    complete(side, IBV_WC_SEND, "SEND of the client's");
    complete(side, IBV_WC_RECV, "receive of the server's");
    show("server's", &side->peer);
    for (uint32_t i = 0; i < len; i++)
        side->buf[i] = (uint8_t)(i * 31 + (i >> 8) * 7 + 1);
    post(side, IBV_WR_RDMA_WRITE, side->buf, len, side->buf_mr);
    complete(side, IBV_WC_RDMA_WRITE, "WRITE to the server's");
    post(side, IBV_WR_RDMA_READ, side->back, len, side->back_mr);
    complete(side, IBV_WC_RDMA_READ, "READ from the server's");
    same = memcmp(side->buf, side->back, len) == 0;
    fail_if(rdma_disconnect(side->id) != 0, "rdma_disconnect");
    rdma_ack_cm_event(expect(side, RDMA_CM_EVENT_DISCONNECTED));
    clean_up(side);
    printf("source and destination buffers %s\n", same ? "match" : "differ");
    return !same;
}

int main(int argc, char **argv)
{
    struct side side = {.len = 0};
    bool server = argc == 3 && strcmp(argv[1], "server") == 0;
    int status;

    if (!server && (argc < 4 || argc > 5 || strcmp(argv[1], "client") != 0)) {
        fprintf(stderr, "usage: cm_swap server PORT | client ADDRESS PORT [BYTES]\n");
        return 2;
    }
    fail_if(!(side.channel = rdma_create_event_channel()), "rdma_create_event_channel");
    if (server)
        status = serve(&side, (uint16_t)atoi(argv[2]));
    else
        status = ask(&side, argv[2], argv[3],
                     argc == 5 ? (uint32_t)strtoul(argv[4], NULL, 0) : BYTES_DEFAULT);
    rdma_destroy_event_channel(side.channel);
    return status;
}
