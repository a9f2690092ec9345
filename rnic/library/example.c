/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* Example of librnic: a software RNIC without a receive WQE receives an RC SEND; the analysis
 * engine judges both packets. Build: cc example.c $(pkg-config --cflags --libs librnic) */
#include <stdio.h>
#include <string.h>
#include "device/rnic.h"
#include "flow/flow.h"

static void print_finding(void *user, const struct roce_finding *finding)
{
    fprintf(user, "frame %u: %s\n", finding->frame,
            roce_finding_text(finding, (char[256]){0}, 256));
}

static void judge(struct roce_flow *flow, uint32_t number, const uint8_t *frame, size_t len)
{
    struct roce_pkt pkt;
    struct roce_flow_in in = {.pkt = &pkt, .frame = number, .time = number * 1000};

    if (roce_pkt_parse(&pkt, ROCE_LINK_ETHERNET, frame, len, len) != 0)
        return;
    in.icrc = roce_pkt_icrc_check(&pkt, NULL);
    roce_flow_feed(flow, &in, NULL);
    printf("frame %u: %s to QP 0x%06x\n", number, pkt.op->name, pkt.bth.dest_qp);
}

int main(void)
{
    struct roce_flow *flow =
        roce_flow_new(&(struct roce_flow_opts){.user = stdout, .on_finding = print_finding});
    struct rnic_gid gid = {{[10] = 0xff, 0xff, 192, 0, 2, 1}, RNIC_GID_ROCE_V2};
    struct rnic *rnic = rnic_new(&(struct rnic_attr){.gid = {gid}, .gid_cnt = 1});
    struct rnic_qp_init init = {
        .type = RNIC_QPT_RC, .qpn = 0x11, .max_recv_wr = 1, .max_recv_sge = 1};
    struct rnic_qp_attr attr = {.pkey = 0xffff, .path_mtu = 1024, .dest_qpn = 0x22};
    const uint8_t peer[16] = {[10] = 0xff, 0xff, 192, 0, 2, 2};
    struct rnic_pd *pd;
    struct rnic_qp *qp;
    struct roce_pkt send;
    uint8_t frame[ROCE_FRAME_MAX];

    memcpy(attr.av.dgid, peer, 16);
    if (!flow || !rnic || rnic_pd_new(rnic, &pd) != 0 || rnic_cq_new(rnic, 4, &init.recv_cq) != 0 ||
        rnic_qp_new(pd, &init, &qp) != 0)
        return 1;
    for (attr.state = RNIC_QPS_INIT; attr.state <= RNIC_QPS_RTR; attr.state++)
        if (rnic_qp_modify(qp, &attr, 0) != 0)
            return 1;
    roce_pkt_init(&send, ROCE_ENCAP_V2_IP4, 0x04); /* RC SEND Only without payload */
    memcpy(send.ip4.src, peer + 12, 4);
    memcpy(send.ip4.dst, gid.gid + 12, 4);
    send.udp.sport = 0xc000;
    send.bth.dest_qp = 0x11;
    const size_t len = (size_t)roce_pkt_build(&send, 0, frame, sizeof(frame));
    judge(flow, 1, frame, len);
    rnic_input(rnic, frame, len, 1000);
    judge(flow, 2, frame, rnic_output(rnic, frame, sizeof(frame), 2000));
    roce_flow_finish(flow);
    return 0;
}
