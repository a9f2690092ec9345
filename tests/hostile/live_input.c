/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Passes the frames of a pcap file to a device and a communication manager, as a live port does
 * with received frames. cost.py counts the instructions that each frame costs.
 *
 *   live_input CAPTURE
 *
 * The device is host 192.0.2.2. QP 0x200 is an RC QP with a memory region (R_Key 7, address
 * 0x1000), and has WRITEs in flight to QP 0x100 of 192.0.2.1. QP 1 receives the MADs. A program
 * listens for a service, but accepts no request.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "cm/cm.h"
#include "device/rnic.h"
#include "wire/pkt.h"

#define REGION  4096u
#define SID     UINT64_C(0x106CAFE)
#define RECVS   64u
#define WRITES  16u
#define BACKLOG 1024u /* maximum number of pending connection requests, as in rnic/ucma */
#define GRH     40u   /* bytes of the GRH area before each datagram */
#define BUF     512u

struct host {
    struct rnic *rnic;
    struct rnic_cq *cq;
    struct rnic_qp *gsi;
    struct rnic_cm *cm;
    uint8_t *mads; /* RECVS receive buffers */
    unsigned waiting, answers;
    rnic_time now;
};

static uint8_t region[REGION];
static const struct rnic_cm_addr addr = {{[10] = 0xFF, 0xFF, 192, 0, 2, 2},
                                         {[10] = 0xFF, 0xFF, 192, 0, 2, 1}};

static void need(bool good, const char *what)
{
    if (!good) {
        fprintf(stderr, "live_input: %s failed\n", what);
        exit(3);
    }
}

static void post_recv(struct host *host, uint64_t i)
{
    struct rnic_sge sge = {(uintptr_t)(host->mads + i * BUF), BUF, 1};
    struct rnic_recv_wr wr = {.wr_id = i, .sge = &sge, .sge_cnt = 1};

    need(rnic_post_recv(host->gsi, &wr) == RNIC_OK, "rnic_post_recv");
}

static void bring_up(struct rnic_qp *qp, struct rnic_qp_attr attr)
{
    static const enum rnic_qp_state states[] = {RNIC_QPS_INIT, RNIC_QPS_RTR, RNIC_QPS_RTS};

    for (unsigned i = 0; i < 3; i++) {
        attr.state = states[i];
        need(rnic_qp_modify(qp, &attr, 0) == RNIC_OK, "rnic_qp_modify");
    }
}

static void add_region(struct rnic_pd *pd, void *p, size_t len, uint64_t iova, uint32_t key)
{
    struct rnic_mr_attr attr = {.addr = p, .len = len, .iova = iova, .access = 0xF, .key = key};
    struct rnic_mr *mr;

    need(rnic_mr_reg(pd, &attr, &mr) == RNIC_OK, "rnic_mr_reg");
}

static void make_qps(struct host *host, struct rnic_pd *pd)
{
    struct rnic_qp_init rc = {.type = RNIC_QPT_RC,
                              .send_cq = host->cq,
                              .recv_cq = host->cq,
                              .qpn = 0x200,
                              .max_recv_wr = 1,
                              .max_recv_sge = 1,
                              .max_send_wr = WRITES,
                              .max_send_sge = 1};
    struct rnic_qp_init gsi = {.type = RNIC_QPT_GSI,
                               .send_cq = host->cq,
                               .recv_cq = host->cq,
                               .qpn = 1,
                               .max_send_wr = 1,
                               .max_send_sge = 1,
                               .max_recv_wr = RECVS,
                               .max_recv_sge = 1};
    struct rnic_qp_attr attr = {.access = 0xF,
                                .pkey = 0xFFFF,
                                .path_mtu = 1024,
                                .dest_qpn = 0x100,
                                .max_dest_rd_atomic = 16,
                                .max_rd_atomic = 16,
                                .timeout = 14,
                                .retry_cnt = 7,
                                .rnr_retry = 7};
    struct rnic_sge sge = {0x1000, 64, 7};
    struct rnic_send_wr wr = {
        .opcode = RNIC_WR_WRITE, .sge = &sge, .sge_cnt = 1, .remote_addr = 0x1000, .rkey = 7};
    struct rnic_qp *qp;

    memcpy(attr.av.dgid, addr.remote, 16);
    need(rnic_qp_new(pd, &rc, &qp) == RNIC_OK, "rnic_qp_new");
    bring_up(qp, attr);
    for (unsigned i = 0; i < WRITES; i++)
        need(rnic_post_send(qp, &wr) == RNIC_OK, "rnic_post_send");
    need(rnic_qp_new(pd, &gsi, &host->gsi) == RNIC_OK, "rnic_qp_new");
    bring_up(host->gsi, (struct rnic_qp_attr){.pkey = 0xFFFF});
    for (unsigned i = 0; i < RECVS; i++)
        post_recv(host, i);
}

static void setup(struct host *host)
{
    struct rnic_attr attr = {.mac = {2, 0, 0, 0, 0, 2}, .gid_cnt = 1};
    const struct rnic_cm_attr cm = {.ca_guid = 2, .seed = {1, 7}};
    struct rnic_cm_id *listener;
    struct rnic_pd *pd;

    memcpy(attr.gid[0].gid, addr.local, 16);
    attr.gid[0].type = RNIC_GID_ROCE_V2;
    host->rnic = rnic_new(&attr);
    host->cm = rnic_cm_new(&cm);
    host->mads = calloc(RECVS, BUF);
    need(host->rnic && host->cm && host->mads, "setup");
    need(rnic_pd_new(host->rnic, &pd) == RNIC_OK, "rnic_pd_new");
    need(rnic_cq_new(host->rnic, 4096, &host->cq) == RNIC_OK, "rnic_cq_new");
    add_region(pd, host->mads, RECVS * BUF, (uintptr_t)host->mads, 1);
    add_region(pd, region, REGION, 0x1000, 7);
    make_qps(host, pd);
    listener = rnic_cm_id_new(host->cm, NULL);
    need(listener && rnic_cm_listen(listener, SID, NULL) == RNIC_OK, "rnic_cm_listen");
}

/* Fetches and counts the frames that the device sends. */
static void take(struct host *host)
{
    uint8_t buf[ROCE_FRAME_MAX];

    while (rnic_output(host->rnic, buf, sizeof(buf), host->now))
        host->answers++;
}

static void serve_cm(struct host *host)
{
    struct rnic_cm_event event;
    struct rnic_cm_addr to;
    uint8_t mad[ROCE_MAD_SIZE];
    struct rnic_wc wc;

    while (rnic_cq_poll(host->cq, &wc, 1))
        if (wc.qpn == 1) {
            if (wc.status == RNIC_WC_SUCCESS)
                rnic_cm_input(host->cm, host->mads + wc.wr_id * BUF + GRH, wc.byte_len - GRH, &addr,
                              host->now);
            post_recv(host, wc.wr_id);
        }
    if (rnic_cm_deadline(host->cm) <= host->now)
        rnic_cm_expire(host->cm, host->now);
    while (rnic_cm_event(host->cm, &event))
        if (event.listener && host->waiting++ >= BACKLOG)
            rnic_cm_id_del(event.id, host->now);
    while (rnic_cm_output(host->cm, mad, &to))
        host->answers++;
}

int main(int argc, char **argv)
{
    struct host host = {.now = 1};
    FILE *in = argc == 2 ? fopen(argv[1], "rb") : NULL;
    uint32_t head[6], record[4], cnt = 0;
    static uint8_t frame[65536];

    need(in && fread(head, sizeof(head), 1, in) == 1, "reading the capture");
    setup(&host);
    take(&host);
    for (; fread(record, sizeof(record), 1, in) == 1; cnt++) {
        need(record[2] <= sizeof(frame) && fread(frame, 1, record[2], in) == record[2],
             "reading a frame");
        host.now += 1000;
        rnic_input(host.rnic, frame, record[2], host.now);
        if (rnic_deadline(host.rnic) <= host.now)
            rnic_expire(host.rnic, host.now);
        serve_cm(&host);
        take(&host);
    }
    printf("%u frames received, %u frames sent, %u connection requests waiting\n", cnt,
           host.answers, host.waiting);
    fclose(in);
    rnic_cm_del(host.cm);
    rnic_del(host.rnic);
    free(host.mads);
    return 0;
}
