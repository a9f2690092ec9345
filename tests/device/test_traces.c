/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Datagrams that Linux rxe sent (traces/): unicast, multicast, MADs. Our device sends equal bytes
 * for an equal request, and delivers the recorded frame (R004, R010-R015, R041-R045, R168-R173,
 * R176, R221 of rnic/rules.md).
 *
 * Fields that the specification leaves open, or that rxe sets otherwise, may differ: the IPv4
 * identification, MigReq, which is 0 in rxe (S9, R044), and AckReq, which is 1 in the packets that
 * rxe sends to QP 1 (S7 of traces/linux-rxe.md; R042).
 */
#include <dirent.h>
#include <pcap/pcap.h>
#include "device/rnic.h"
#include "support/suite.h"
#include "wire/gid.h"
#include "wire/pkt.h"

#define KEY 1u
#define LEN 4200u

static struct {
    unsigned all, multicast, mads, imm, ip6, tagged;
} seen;

static struct rnic *rnic;
static struct rnic_pd *pd;
static struct rnic_cq *cq;
static struct rnic_qp *qp;
static uint8_t mem[LEN];

/* Creates a device with one address, and one QP with this QPN in RTS. */
static void begin(const uint8_t mac[6], const uint8_t gid[16], enum roce_encap encap, uint32_t qpn,
                  uint32_t qkey, uint16_t pkey, uint32_t psn)
{
    struct rnic_attr attr = {.gid_cnt = 1};
    struct rnic_mr_attr mra = {.addr = mem, .len = LEN, .access = 1, .key = KEY};
    struct rnic_qp_init init = {.type = qpn == ROCE_QP_GSI ? RNIC_QPT_GSI : RNIC_QPT_UD,
                                .qpn = qpn,
                                .max_recv_wr = 1,
                                .max_recv_sge = 1,
                                .max_send_wr = 1,
                                .max_send_sge = 1};
    struct rnic_qp_attr qpa = {.pkey = pkey, .qkey = qkey, .sq_psn = psn};
    struct rnic_mr *mr;

    memcpy(attr.mac, mac, 6);
    memcpy(attr.gid[0].gid, gid, 16);
    attr.gid[0].type = encap == ROCE_ENCAP_V1 ? RNIC_GID_ROCE_V1 : RNIC_GID_ROCE_V2;
    rnic = rnic_new(&attr);
    CU_ASSERT_FATAL(rnic != NULL);
    EXPECT_EQ(rnic_pd_new(rnic, &pd), RNIC_OK);
    EXPECT_EQ(rnic_mr_reg(pd, &mra, &mr), RNIC_OK);
    EXPECT_EQ(rnic_cq_new(rnic, 4, &cq), RNIC_OK);
    init.recv_cq = init.send_cq = cq;
    EXPECT_EQ(rnic_qp_new(pd, &init, &qp), RNIC_OK);
    for (enum rnic_qp_state s = RNIC_QPS_INIT; s <= RNIC_QPS_RTS; s++) {
        qpa.state = s;
        EXPECT_EQ(rnic_qp_modify(qp, &qpa, 0), RNIC_OK);
    }
}

static void say(const char *file, unsigned frame, const char *what)
{
    suite_fail(__FILE__, __LINE__, "%s, frame %u: %s", file, frame, what);
}

static struct rnic_av vector(const struct roce_pkt *pkt, const uint8_t dst[16])
{
    struct rnic_av av = {.udp_sport = pkt->udp.sport};

    memcpy(av.dgid, dst, 16);
    if (pkt->vlan_cnt) {
        av.tagged = true;
        av.vlan = pkt->vlan[0].vid;
        av.priority = pkt->vlan[0].pcp;
    }
    if (!roce_gid_is_multicast(dst))
        memcpy(av.dmac, pkt->eth.dst, 6);
    switch (pkt->encap) {
    case ROCE_ENCAP_V2_IP4:
        av.tclass = (uint8_t)(pkt->ip4.dscp << 2 | pkt->ip4.ecn);
        av.hop_limit = pkt->ip4.ttl;
        break;
    case ROCE_ENCAP_V2_IP6:
        av.tclass = (uint8_t)(pkt->ip6.dscp << 2 | pkt->ip6.ecn);
        av.hop_limit = pkt->ip6.hop;
        av.flow = pkt->ip6.flow;
        break;
    default:
        av.tclass = pkt->grh.tclass;
        av.hop_limit = pkt->grh.hop;
        av.flow = pkt->grh.flow;
        break;
    }
    return av;
}

static void sent(const char *file, unsigned frame, const struct roce_pkt *pkt)
{
    bool imm = roce_opcode_has(pkt->op, ROCE_HDR_IMMDT);
    const struct rnic_sge sge = {0, pkt->payload_len, KEY};
    struct rnic_send_wr wr = {.opcode = imm ? RNIC_WR_SEND_IMM : RNIC_WR_SEND,
                              .flags = pkt->bth.se ? RNIC_SEND_SOLICITED : 0,
                              .sge = &sge,
                              .sge_cnt = 1,
                              .imm = pkt->immdt.imm,
                              .remote_qpn = pkt->bth.dest_qp,
                              .remote_qkey = pkt->deth.qkey};
    struct roce_pkt model = *pkt;
    struct rnic_av av;
    struct rnic_ah *ah = NULL;
    uint8_t src[16];
    uint8_t dst[16];
    uint8_t want[ROCE_FRAME_MAX];
    uint8_t got[ROCE_FRAME_MAX];
    struct roce_pkt mine;
    size_t len;

    roce_pkt_addr(pkt, src, dst);
    begin(pkt->eth.src, src, pkt->encap, pkt->deth.src_qp, pkt->deth.qkey, pkt->bth.pkey,
          pkt->bth.psn);
    if (pkt->payload_len)
        memcpy(mem, pkt->payload, pkt->payload_len);
    av = vector(pkt, dst);
    EXPECT_EQ(rnic_ah_new(pd, &av, &ah), RNIC_OK);
    wr.ah = ah;
    EXPECT_EQ(rnic_post_send(qp, &wr), RNIC_OK);
    len = rnic_output(rnic, got, sizeof(got), 0);
    if (len == 0 || roce_pkt_parse(&mine, ROCE_LINK_ETHERNET, got, len, len) != 0) {
        say(file, frame, "nothing was sent");
    } else {
        int want_len;

        model.ip4.id = mine.ip4.id;
        if (pkt->bth.dest_qp == ROCE_QP_GSI)
            model.bth.ackreq = 0;
        model.bth.migreq = 1;
        want_len = roce_pkt_build(&model, 0, want, sizeof(want));
        if (want_len != (int)len)
            say(file, frame, "our device sends a frame of another length");
        for (size_t i = 0; i < len && want_len == (int)len; i++) {
            if (want[i] != got[i]) {
                suite_fail(__FILE__, __LINE__,
                           "%s, frame %u, byte %zu: recorded 0x%02x, sent 0x%02x", file, frame, i,
                           want[i], got[i]);
                break;
            }
        }
    }
    rnic_del(rnic);
}

static void received(const char *file, unsigned frame, const struct roce_pkt *pkt)
{
    const struct rnic_sge sge = {0, 40 + pkt->payload_len, KEY};
    const struct rnic_recv_wr wr = {.wr_id = 7, .sge = &sge, .sge_cnt = 1};
    bool group = pkt->bth.dest_qp == ROCE_QP_MULTICAST;
    bool ip4 = pkt->encap == ROCE_ENCAP_V2_IP4;
    static const uint8_t group_member[6] = {2, 0, 0, 0, 0, 9};
    struct rnic_wc wc = {0};
    uint8_t src[16];
    uint8_t dst[16];

    roce_pkt_addr(pkt, src, dst);
    begin(group ? group_member : pkt->eth.dst, group ? src : dst, pkt->encap,
          group ? 0x77 : pkt->bth.dest_qp, pkt->deth.qkey, 0xFFFF, 0);
    if (group)
        EXPECT_EQ(rnic_mcast_attach(qp, dst), RNIC_OK);
    memset(mem, 0xEE, sizeof(mem));
    EXPECT_EQ(rnic_post_recv(qp, &wr), RNIC_OK);
    rnic_input(rnic, pkt->frame, pkt->wire_len, 0);
    if (rnic_cq_poll(cq, &wc, 1) != 1 || wc.status != RNIC_WC_SUCCESS) {
        say(file, frame, "it was not delivered");
    } else {
        EXPECT_EQ(wc.wr_id, 7);
        EXPECT_EQ(wc.byte_len, 40 + pkt->payload_len);
        EXPECT_EQ(wc.src_qp, pkt->deth.src_qp);
        EXPECT_EQ(wc.vlan, pkt->vlan_cnt ? pkt->vlan[0].vid : RNIC_VLAN_NONE);
        if (memcmp(mem + (ip4 ? 20 : 0), pkt->frame + pkt->net_off, ip4 ? 20 : 40) != 0 ||
            (pkt->payload_len && memcmp(mem + 40, pkt->payload, pkt->payload_len) != 0) ||
            mem[40 + pkt->payload_len] != 0xEE)
            say(file, frame, "the receive buffer does not contain the recorded bytes");
    }
    rnic_del(rnic);
}

static void one_file(const char *name)
{
    char path[512];
    char why[PCAP_ERRBUF_SIZE];
    struct pcap_pkthdr *header;
    const u_char *bytes;
    pcap_t *pcap;

    snprintf(path, sizeof(path), "%s/captures/%s", TRACES, name);
    pcap = pcap_open_offline(path, why);
    if (!pcap) {
        suite_fail(__FILE__, __LINE__, "%s", why);
        return;
    }
    for (unsigned frame = 1; pcap_next_ex(pcap, &header, &bytes) == 1; frame++) {
        struct roce_pkt pkt;

        if (pcap_datalink(pcap) != DLT_EN10MB || header->caplen != header->len ||
            roce_pkt_parse(&pkt, ROCE_LINK_ETHERNET, bytes, header->caplen, header->len) != 0 ||
            pkt.op->svc != ROCE_SVC_UD || roce_pkt_dropped(&pkt) ||
            roce_pkt_icrc_check(&pkt, NULL) != ROCE_ICRC_GOOD)
            continue;
        seen.multicast += pkt.bth.dest_qp == ROCE_QP_MULTICAST;
        seen.mads += pkt.bth.dest_qp == ROCE_QP_GSI;
        seen.all++;
        seen.tagged += pkt.vlan_cnt;
        seen.imm += roce_opcode_has(pkt.op, ROCE_HDR_IMMDT);
        seen.ip6 += pkt.encap == ROCE_ENCAP_V2_IP6;
        sent(name, frame, &pkt);
        received(name, frame, &pkt);
    }
    pcap_close(pcap);
}

static void recorded_datagrams(void)
{
    DIR *dir = opendir(TRACES "/captures");
    struct dirent *entry;

    CU_ASSERT_FATAL(dir != NULL);
    while ((entry = readdir(dir)) != NULL) {
        size_t len = strlen(entry->d_name);

        if (len > 5 && strcmp(entry->d_name + len - 5, ".pcap") == 0)
            one_file(entry->d_name);
    }
    closedir(dir);
    CU_ASSERT(seen.all > 100 && seen.multicast >= 6 && seen.mads > 50 && seen.imm >= 3 &&
              seen.ip6 >= 10 && seen.tagged >= 5);
    printf("\n    %u datagrams: %u to groups, %u MADs, %u with immediate, %u over IPv6, %u tagged ",
           seen.all, seen.multicast, seen.mads, seen.imm, seen.ip6, seen.tagged);
}

SUITE("device.traces", TEST(recorded_datagrams))
