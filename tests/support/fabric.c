/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "fabric.h"

#include <stdlib.h>
#include <string.h>
#include "node.h"
#include "suite.h"

static void address(enum roce_encap encap, unsigned i, uint8_t mac[6], uint8_t gid[16])
{
    static const uint8_t ip4[16] = {[10] = 0xFF, 0xFF, 10, 7, 0, 0};
    static const uint8_t ip6[16] = {0xFD, 7};

    memcpy(mac, (uint8_t[6]){2, 7, 0, 0, 0, (uint8_t)(i + 1)}, 6);
    memcpy(gid, encap == ROCE_ENCAP_V2_IP6 ? ip6 : ip4, 16);
    gid[15] = (uint8_t)(i + 1);
}

void fabric_av(const struct fabric *fabric, unsigned dev, struct rnic_av *av)
{
    address(fabric->encap, dev, av->dmac, av->dgid);
}

static void make_device(struct fabric *fabric, unsigned i, enum roce_encap encap, uint64_t seed,
                        const struct rnic_ecn *ecn)
{
    struct fabric_dev *dev = &fabric->dev[i];
    struct rnic_attr attr = {.gid_cnt = 1, .mw_2a = i % 2};
    struct rnic_mr_attr mr = {.len = fabric->mem_len, .access = RNIC_ACCESS_ALL, .key = FABRIC_KEY};
    struct simnet_node node;
    struct rng rng = rng_of(seed);

    address(encap, i, attr.mac, attr.gid[0].gid);
    attr.gid[0].type = encap == ROCE_ENCAP_V1 ? RNIC_GID_ROCE_V1 : RNIC_GID_ROCE_V2;
    attr.seed = rng_u64(&rng);
    if (ecn)
        attr.ecn = *ecn;
    dev->rnic = rnic_new(&attr);
    dev->mem = malloc(fabric->mem_len);
    if (!dev->rnic || !dev->mem)
        abort();
    rng_fill(&rng, dev->mem, fabric->mem_len);
    mr.addr = dev->mem;
    EXPECT_EQ(rnic_pd_new(dev->rnic, &dev->pd), RNIC_OK);
    EXPECT_EQ(rnic_mr_reg(dev->pd, &mr, &dev->mr), RNIC_OK);
    EXPECT_EQ(rnic_cq_new(dev->rnic, 1u << 16, &dev->cq), RNIC_OK);
    node = node_of(dev->rnic, attr.mac);
    dev->node = simnet_add(&fabric->net, &node);
}

void fabric_init(struct fabric *fabric, uint64_t seed, unsigned cnt, enum roce_encap encap,
                 uint32_t mem_len, const struct rnic_ecn *ecn, const struct fabric_wire *wire)
{
    const struct simnet_path path = {.bps = wire->bps, .delay_ns = wire->delay_ns};

    memset(fabric, 0, sizeof(*fabric));
    simnet_init(&fabric->net, seed);
    simnet_paths(&fabric->net, &path);
    fabric->dev_cnt = cnt;
    fabric->mem_len = mem_len;
    fabric->encap = encap;
    for (unsigned i = 0; i < cnt; i++) {
        make_device(fabric, i, encap, 64 * seed + i, ecn);
        fabric->net.port[fabric->dev[i].node] = (struct simnet_port){
            .bps = wire->bps, .queue = wire->queue, .mark = wire->mark, .delay_ns = wire->delay_ns};
    }
}

void fabric_free(struct fabric *fabric)
{
    for (unsigned i = 0; i < fabric->dev_cnt; i++) {
        rnic_del(fabric->dev[i].rnic);
        free(fabric->dev[i].mem);
    }
    simnet_free(&fabric->net);
}

unsigned fabric_connect(struct fabric *fabric, unsigned a, unsigned b, uint32_t depth,
                        uint32_t path_mtu)
{
    static const enum rnic_qp_state states[] = {RNIC_QPS_INIT, RNIC_QPS_RTR, RNIC_QPS_RTS};
    struct fabric_link *link = &fabric->link[fabric->link_cnt];

    if (fabric->link_cnt == FABRIC_LINKS)
        abort();
    link->dev[0] = a;
    link->dev[1] = b;
    for (unsigned s = 0; s < 2; s++) {
        struct fabric_dev *dev = &fabric->dev[link->dev[s]];
        struct rnic_qp_init init = {.type = RNIC_QPT_RC,
                                    .recv_cq = dev->cq,
                                    .send_cq = dev->cq,
                                    .max_recv_wr = depth,
                                    .max_recv_sge = 1,
                                    .max_send_wr = depth,
                                    .max_send_sge = 1};

        EXPECT_EQ(rnic_qp_new(dev->pd, &init, &link->qp[s]), RNIC_OK);
        link->qpn[s] = rnic_qp_qpn(link->qp[s]);
    }
    for (unsigned s = 0; s < 2; s++) {
        struct rnic_qp_attr attr = {
            .access = RNIC_ACCESS_ALL,
            .pkey = 0xFFFF,
            .path_mtu = path_mtu,
            .dest_qpn = link->qpn[!s],
            .rq_psn = (fabric->link_cnt * 7919u + !s) & 0xFFFFFF,
            .sq_psn = (fabric->link_cnt * 7919u + s) & 0xFFFFFF,
            .max_dest_rd_atomic = 4,
            .max_rd_atomic = 4,
            .min_rnr_timer = 1,
            .timeout = 9,
            .retry_cnt = 7,
            .rnr_retry = 7,
        };

        address(fabric->encap, link->dev[!s], attr.av.dmac, attr.av.dgid);
        for (unsigned k = 0; k < 3; k++) {
            attr.state = states[k];
            EXPECT_EQ(rnic_qp_modify(link->qp[s], &attr, fabric->net.now), RNIC_OK);
        }
    }
    return fabric->link_cnt++;
}

int fabric_send(struct fabric *fabric, unsigned link, unsigned side, uint64_t wr_id,
                enum rnic_wr_opcode opcode, uint32_t off, uint32_t len, uint32_t roff)
{
    const struct rnic_sge sge = {off, len, FABRIC_KEY};
    const struct rnic_send_wr wr = {.wr_id = wr_id,
                                    .opcode = opcode,
                                    .flags = RNIC_SEND_SIGNALED,
                                    .sge = &sge,
                                    .sge_cnt = 1,
                                    .remote_addr = roff,
                                    .rkey = FABRIC_KEY};

    return rnic_post_send(fabric->link[link].qp[side], &wr);
}

struct rnic_counters fabric_counters(const struct fabric *fabric, unsigned dev)
{
    struct rnic_counters counters;

    rnic_counters_get(fabric->dev[dev].rnic, &counters);
    return counters;
}

void fabric_check_tally(struct fabric *fabric)
{
    const unsigned requests = SIMNET_BIT(DATA) | SIMNET_BIT(READ) | SIMNET_BIT(ATOMIC);
    const struct simnet *net = &fabric->net;

    for (unsigned i = 0; i < fabric->dev_cnt; i++) {
        struct rnic_counters c = fabric_counters(fabric, i);
        unsigned node = fabric->dev[i].node;
        int me = (int)node;

        EXPECT_EQ(c.tx_packets, simnet_count(net, me, SIMNET_ANY, SIMNET_SENT));
        EXPECT_EQ(c.tx_bytes, net->sent_bytes[node]);
        EXPECT_EQ(c.rx_packets, net->arrived[node]);
        EXPECT_EQ(c.rx_bytes, net->got_bytes[node]);
        EXPECT_EQ(c.rx_icrc_encapsulated + c.rx_malformed, net->arrived_bad[node]);
        EXPECT_EQ(c.packet_seq_nak, simnet_count(net, me, SIMNET_BIT(NAK_SEQ), SIMNET_SENT));
        EXPECT_EQ(c.resp_rnr_nak, simnet_count(net, me, SIMNET_BIT(NAK_RNR), SIMNET_SENT));
        EXPECT_EQ(c.resp_invalid_request + c.resp_remote_access_errors + c.resp_operational_errors,
                  simnet_count(net, me, SIMNET_BIT(NAK_FATAL), SIMNET_SENT));
        EXPECT_EQ(c.np_cnp_sent, simnet_count(net, me, SIMNET_BIT(CNP), SIMNET_SENT));
        EXPECT_EQ(c.rp_cnp_handled + c.rp_cnp_ignored, net->got[node][SIMNET_CNP]);
        EXPECT_EQ(c.np_ecn_marked_roce_packets,
                  simnet_sum(net->marked[node], requests | SIMNET_BIT(READ_RESP)));
        EXPECT_EQ(c.rx_send_requests + c.rx_write_requests + c.rx_read_requests +
                      c.rx_atomic_requests + c.duplicate_request + c.out_of_sequence +
                      c.out_of_buffer,
                  simnet_sum(net->got[node], requests));
        EXPECT_EQ(c.rx_not_roce + c.rx_no_qp + c.rx_bad_pkey + c.rx_no_request, 0);
    }
}
