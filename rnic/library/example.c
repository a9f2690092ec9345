/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Example of librnic: a software RNIC receives an RC SEND, and the analysis engine judges the SEND
 * and the RNIC's acknowledgement. Build: cc example.c $(pkg-config --cflags --libs librnic)
 */
#include <stdio.h>
#include <string.h>
#include "device/rnic.h"
#include "flow/flow.h"

static const uint8_t ours[16] = {[10] = 0xff, 0xff, 192, 0, 2, 1};
static const uint8_t peer[16] = {[10] = 0xff, 0xff, 192, 0, 2, 2};

static void print_finding(void *user, const struct roce_finding *finding)
{
    char text[256];

    (void)user;
    printf("frame %u: %s\n", finding->frame, roce_finding_text(finding, text, sizeof(text)));
}

/* Returns a QP of a new device that is ready to receive from QP 0x22 of the peer. */
static struct rnic_qp *make_qp(struct rnic **rnic)
{
    struct rnic_attr attr = {.mac = {2, 0, 0, 0, 0, 1}, .gid_cnt = 1, .seed = 1};
    struct rnic_qp_init init = {
        .type = RNIC_QPT_RC, .qpn = 0x11, .max_recv_wr = 1, .max_recv_sge = 1};
    struct rnic_qp_attr state = {
        .state = RNIC_QPS_INIT, .pkey = 0xffff, .path_mtu = 1024, .dest_qpn = 0x22, .rq_psn = 100};
    struct rnic_pd *pd;
    struct rnic_qp *qp;

    memcpy(attr.gid[0].gid, ours, 16);
    attr.gid[0].type = RNIC_GID_ROCE_V2;
    memcpy(state.av.dgid, peer, 16);
    *rnic = rnic_new(&attr);
    if (!*rnic || rnic_pd_new(*rnic, &pd) != 0 || rnic_cq_new(*rnic, 4, &init.recv_cq) != 0 ||
        rnic_qp_new(pd, &init, &qp) != 0 || rnic_qp_modify(qp, &state, 0) != 0)
        return NULL;
    state.state = RNIC_QPS_RTR;
    rnic_post_recv(qp, &(struct rnic_recv_wr){.wr_id = 7});
    return rnic_qp_modify(qp, &state, 0) == 0 ? qp : NULL;
}

static void judge(struct roce_flow *flow, uint32_t number, const uint8_t *frame, size_t len)
{
    struct roce_pkt pkt;
    struct roce_flow_in in = {.pkt = &pkt, .frame = number, .time = number * 1000};

    if (roce_pkt_parse(&pkt, ROCE_LINK_ETHERNET, frame, len, len) != 0)
        return;
    in.icrc = roce_pkt_icrc_check(&pkt, NULL);
    roce_flow_feed(flow, &in, NULL);
    printf("frame %u: %s to QP 0x%06x, PSN %u\n", number, pkt.op->name, pkt.bth.dest_qp,
           pkt.bth.psn);
}

int main(void)
{
    struct roce_flow *flow = roce_flow_new(&(struct roce_flow_opts){.on_finding = print_finding});
    struct rnic *rnic;
    struct roce_pkt send;
    uint8_t frame[ROCE_FRAME_MAX];
    int len;

    if (!flow || !make_qp(&rnic))
        return 1;
    roce_pkt_init(&send, ROCE_ENCAP_V2_IP4, 0x04); /* RC SEND Only without payload */
    memcpy(send.eth.dst, (uint8_t[]){2, 0, 0, 0, 0, 1}, 6);
    memcpy(send.ip4.src, peer + 12, 4);
    memcpy(send.ip4.dst, ours + 12, 4);
    send.udp.sport = 0xc000;
    send.bth.dest_qp = 0x11;
    send.bth.psn = 100;
    send.bth.ackreq = 1;
    len = roce_pkt_build(&send, 0, frame, sizeof(frame));
    judge(flow, 1, frame, (size_t)len);
    rnic_input(rnic, frame, (size_t)len, 1000);
    judge(flow, 2, frame, rnic_output(rnic, frame, sizeof(frame), 2000));
    roce_flow_finish(flow);
    roce_flow_del(flow);
    rnic_del(rnic);
    return 0;
}
