/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * CM many: one rdma_cm server with many clients. The server waits with epoll for connections and
 * completions of all clients. Each client is a thread that repeatedly connects, exchanges one
 * message and leaves. Some clients leave with rdma_disconnect(), others destroy all their objects.
 * Every client migrates its id to another event channel before it connects.
 *
 *   cm_many [CLIENTS [TIMES]]       defaults: 100 clients, 4 times
 */
#include <arpa/inet.h>
#include <fcntl.h>
#include <pthread.h>
#include <rdma/rdma_cma.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include "must.h"

#define PORT    7602
#define LEN     64
#define WAIT_MS 20000

static int clients = 100, times = 4;
static sem_t listening;
static const struct rdma_conn_param manners = {.retry_count = 7, .rnr_retry_count = 7};

static struct ibv_qp_init_attr qp_init(struct ibv_cq *cq)
{
    return (struct ibv_qp_init_attr){
        .send_cq = cq,
        .recv_cq = cq,
        .qp_type = IBV_QPT_RC,
        .cap = {.max_send_wr = 2, .max_recv_wr = 2, .max_send_sge = 1, .max_recv_sge = 1},
    };
}

static void post_recv(struct ibv_qp *qp, void *to, const struct ibv_mr *mr, void *user)
{
    struct ibv_sge sge = {(uintptr_t)to, LEN, mr->lkey};
    struct ibv_recv_wr wr = {.wr_id = (uintptr_t)user, .sg_list = &sge, .num_sge = 1}, *bad;
    MUST(ibv_post_recv(qp, &wr, &bad) == 0);
}

static void post_send(struct ibv_qp *qp, void *from)
{
    struct ibv_sge sge = {.addr = (uintptr_t)from, .length = LEN};
    struct ibv_send_wr wr = {.sg_list = &sge,
                             .num_sge = 1,
                             .opcode = IBV_WR_SEND,
                             .send_flags = IBV_SEND_INLINE},
                       *bad;
    MUST(ibv_post_send(qp, &wr, &bad) == 0);
}

static void nonblocking(int epoll, int fd, uint32_t which)
{
    struct epoll_event event = {.events = EPOLLIN, .data.u32 = which};
    MUST(fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK) == 0);
    MUST(epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event) == 0);
}

/* ---- the server ------------------------------------------------------------------------------ */

enum { OF_CM, OF_CQ };

static struct {
    int epoll;
    struct rdma_event_channel *events;
    struct ibv_pd *pd;
    struct ibv_comp_channel *channel;
    struct ibv_cq *cq;
    int gone;
} server;

struct guest {
    struct rdma_cm_id *id;
    struct ibv_mr *mr;
    char buf[LEN];
};

static void welcome(struct rdma_cm_id *id)
{
    struct guest *guest = calloc(1, sizeof *guest);
    struct rdma_conn_param param = manners;
    MUST(guest);
    if (!server.pd) { /* created for the device of the first request */
        MUST(server.pd = ibv_alloc_pd(id->verbs));
        MUST(server.channel = ibv_create_comp_channel(id->verbs));
        MUST(server.cq = ibv_create_cq(id->verbs, 4 * clients, NULL, server.channel, 0));
        nonblocking(server.epoll, server.channel->fd, OF_CQ);
        MUST(ibv_req_notify_cq(server.cq, 0) == 0);
    }
    struct ibv_qp_init_attr init = qp_init(server.cq);
    MUST(rdma_create_qp(id, server.pd, &init) == 0);
    MUST(guest->mr = ibv_reg_mr(server.pd, guest->buf, LEN, IBV_ACCESS_LOCAL_WRITE));
    guest->id = id;
    id->context = guest;
    post_recv(id->qp, guest->buf, guest->mr, guest);
    MUST(rdma_accept(id, &param) == 0);
}

static void farewell(struct rdma_cm_id *id)
{
    struct guest *guest = id->context;
    rdma_destroy_qp(id);
    MUST(ibv_dereg_mr(guest->mr) == 0 && rdma_destroy_id(id) == 0);
    free(guest);
    server.gone++;
}

static void on_cm(void)
{
    struct rdma_cm_event *event;
    while (rdma_get_cm_event(server.events, &event) == 0) {
        struct rdma_cm_id *id = event->id;
        enum rdma_cm_event_type type = event->event;
        MUST(event->status == 0 && rdma_ack_cm_event(event) == 0);
        switch (type) {
        case RDMA_CM_EVENT_CONNECT_REQUEST: welcome(id); break;
        case RDMA_CM_EVENT_ESTABLISHED: break;
        case RDMA_CM_EVENT_DISCONNECTED: farewell(id); break;
        default: MUST(!"an event that is none of these");
        }
    }
    MUST(errno == EAGAIN);
}

static void on_cq(void)
{
    struct ibv_cq *cq;
    struct ibv_wc wc;
    void *user;
    while (ibv_get_cq_event(server.channel, &cq, &user) == 0)
        ibv_ack_cq_events(cq, 1);
    MUST(ibv_req_notify_cq(server.cq, 0) == 0);
    while (ibv_poll_cq(server.cq, 1, &wc) > 0) {
        struct guest *guest = (struct guest *)(uintptr_t)wc.wr_id;
        if (wc.status == IBV_WC_SUCCESS)
            post_send(guest->id->qp, guest->buf);
    }
}

static void *serve(void *unused)
{
    struct sockaddr_in any = {.sin_family = AF_INET, .sin_port = htons(PORT)};
    struct rdma_cm_id *listener;
    MUST((server.epoll = epoll_create1(0)) >= 0);
    MUST(server.events = rdma_create_event_channel());
    MUST(rdma_create_id(server.events, &listener, NULL, RDMA_PS_TCP) == 0);
    MUST(rdma_bind_addr(listener, (struct sockaddr *)&any) == 0);
    MUST(rdma_listen(listener, 1024) == 0);
    nonblocking(server.epoll, server.events->fd, OF_CM);
    sem_post(&listening);
    while (server.gone < clients * times) {
        struct epoll_event event;
        MUST(epoll_wait(server.epoll, &event, 1, WAIT_MS) == 1);
        if (event.data.u32 == OF_CM)
            on_cm();
        else
            on_cq();
    }
    MUST(ibv_destroy_cq(server.cq) == 0 && ibv_destroy_comp_channel(server.channel) == 0);
    MUST(ibv_dealloc_pd(server.pd) == 0 && rdma_destroy_id(listener) == 0);
    rdma_destroy_event_channel(server.events);
    return unused;
}

/* ---- clients --------------------------------------------------------------------------------- */

static void expect(struct rdma_event_channel *events, enum rdma_cm_event_type type)
{
    struct rdma_cm_event *event;
    MUST(rdma_get_cm_event(events, &event) == 0);
    if (event->event != type) {
        fprintf(stderr, "%s (%d) instead of %s\n", rdma_event_str(event->event), event->status,
                rdma_event_str(type));
        exit(1);
    }
    MUST(rdma_ack_cm_event(event) == 0);
}

static void wait_for(struct rdma_cm_id *id)
{
    struct ibv_wc wc;
    int cnt;
    MUST(ibv_req_notify_cq(id->recv_cq, 0) == 0);
    while ((cnt = ibv_poll_cq(id->recv_cq, 1, &wc)) == 0) {
        struct ibv_cq *cq;
        void *user;
        MUST(ibv_get_cq_event(id->recv_cq_channel, &cq, &user) == 0);
        ibv_ack_cq_events(cq, 1);
        MUST(ibv_req_notify_cq(id->recv_cq, 0) == 0);
    }
    MUST(cnt == 1 && wc.status == IBV_WC_SUCCESS && wc.byte_len == LEN);
}

static void visit(int number, int time)
{
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(PORT)};
    struct rdma_event_channel *before = rdma_create_event_channel();
    struct rdma_event_channel *events = rdma_create_event_channel();
    struct rdma_conn_param param = manners;
    struct rdma_cm_id *id;
    char out[LEN] = "", in[LEN] = "";
    MUST(before && events && rdma_create_id(before, &id, NULL, RDMA_PS_TCP) == 0);
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    MUST(rdma_resolve_addr(id, NULL, (struct sockaddr *)&to, 5000) == 0);
    expect(before, RDMA_CM_EVENT_ADDR_RESOLVED);
    MUST(rdma_resolve_route(id, 5000) == 0);
    expect(before, RDMA_CM_EVENT_ROUTE_RESOLVED);
    MUST(rdma_migrate_id(id, events) == 0);
    rdma_destroy_event_channel(before);
    /* The attributes contain no CQ, so librdmacm creates CQs and completion channels. */
    struct ibv_qp_init_attr init = qp_init(NULL);
    MUST(rdma_create_qp(id, NULL, &init) == 0);
    struct ibv_mr *mr = ibv_reg_mr(id->pd, in, LEN, IBV_ACCESS_LOCAL_WRITE);
    MUST(mr);
    post_recv(id->qp, in, mr, NULL);
    MUST(rdma_connect(id, &param) == 0);
    expect(events, RDMA_CM_EVENT_ESTABLISHED);
    snprintf(out, sizeof out, "message %d of client %d", time, number);
    post_send(id->qp, out);
    wait_for(id);
    MUST(memcmp(in, out, LEN) == 0);
    if ((number + time) % 3 == 0) {
        MUST(rdma_disconnect(id) == 0);
        expect(events, RDMA_CM_EVENT_DISCONNECTED);
    }
    rdma_destroy_qp(id);
    MUST(ibv_dereg_mr(mr) == 0 && rdma_destroy_id(id) == 0);
    rdma_destroy_event_channel(events);
}

static void *be_client(void *number)
{
    for (int i = 0; i < times; i++)
        visit((int)(intptr_t)number, i);
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t thread;
    clients = argc > 1 ? atoi(argv[1]) : clients;
    times = argc > 2 ? atoi(argv[2]) : times;
    pthread_t *threads = calloc((size_t)clients, sizeof *threads);
    MUST(threads && sem_init(&listening, 0, 0) == 0);
    MUST(pthread_create(&thread, NULL, serve, NULL) == 0 && sem_wait(&listening) == 0);
    for (int i = 0; i < clients; i++)
        MUST(pthread_create(&threads[i], NULL, be_client, (void *)(intptr_t)i) == 0);
    for (int i = 0; i < clients; i++)
        MUST(pthread_join(threads[i], NULL) == 0);
    MUST(pthread_join(thread, NULL) == 0);
    printf("%d connections: each client received its message back\n", server.gone);
    free(threads);
    return 0;
}
