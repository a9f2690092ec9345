/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * FLUSH and ATOMIC WRITE as Linux 6.12 sends them (traces/, recorded between two Soft-RoCE peers).
 * The device receives the recorded requests, whose ICRC the test corrects (D15 of
 * traces/linux-rxe.md). The responses of the device must equal the recorded responses: opcode, PSN,
 * kind of syndrome, NAK code, MSN, and those bytes of READ data that earlier requests of the
 * capture wrote.
 */
#include <string.h>
#include "device/rnic.h"
#include "recorded.h"
#include "support/suite.h"
#include "wire/codes.h"

#define MEM_LEN  (1u << 16)
#define QUIET    0 /* value of `more` in play(): the recorded peer answered every request */
#define ALL      RNIC_ACCESS_ALL
#define NO_FLUSH (ALL & ~(unsigned)(RNIC_ACCESS_FLUSH_GLOBAL | RNIC_ACCESS_FLUSH_PERSISTENT))

static struct recorded rec;
static uint8_t mem[MEM_LEN];
static bool written[MEM_LEN];

static void parse(const struct pktgen_frame *frame, struct roce_pkt *pkt)
{
    CU_ASSERT_FATAL(roce_pkt_parse(pkt, ROCE_LINK_ETHERNET, frame->bytes, frame->len, frame->len) ==
                    ROCE_OK);
}

/* Creates our device in place of the recorded responder. Takes the responder's addresses, QPNs,
 * first PSN and R_Key from the first recorded request and response. */
static struct rnic *asked_device(unsigned access, uint64_t *low)
{
    struct rnic_attr attr = {.gid_cnt = 1, .gid[0].type = RNIC_GID_ROCE_V2};
    struct rnic_qp_attr qp_attr = {.access = ALL,
                                   .pkey = 0xFFFF,
                                   .path_mtu = 1024,
                                   .max_dest_rd_atomic = 4,
                                   .max_rd_atomic = 1};
    struct rnic_mr_attr mr_attr = {.addr = mem, .len = MEM_LEN, .access = access};
    struct rnic_qp_init init = {.type = RNIC_QPT_RC, .max_recv_sge = 1};
    struct roce_pkt ask;
    struct roce_pkt answer;
    unsigned i = 0;
    struct rnic *rnic;
    struct rnic_pd *pd;
    struct rnic_mr *mr;
    struct rnic_qp *qp;

    parse(&rec.frame[0], &ask);
    do
        parse(&rec.frame[++i], &answer);
    while (!roce_opcode_is_response(answer.op));
    memcpy(attr.mac, ask.eth.dst, 6);
    roce_pkt_addr(&ask, qp_attr.av.dgid, attr.gid[0].gid);
    memcpy(qp_attr.av.dmac, ask.eth.src, 6);
    qp_attr.rq_psn = ask.bth.psn;
    qp_attr.dest_qpn = answer.bth.dest_qp;
    init.qpn = ask.bth.dest_qp;
    *low = mr_attr.iova = ask.reth.va & ~UINT64_C(0xFFF);
    mr_attr.key = ask.reth.rkey;
    rnic = rnic_new(&attr);
    CU_ASSERT_FATAL(rnic != NULL);
    EXPECT_EQ(rnic_pd_new(rnic, &pd), RNIC_OK);
    EXPECT_EQ(rnic_mr_reg(pd, &mr_attr, &mr), RNIC_OK);
    EXPECT_EQ(rnic_cq_new(rnic, 16, &init.recv_cq), RNIC_OK);
    EXPECT_EQ(rnic_qp_new(pd, &init, &qp), RNIC_OK);
    for (int state = RNIC_QPS_INIT; state <= RNIC_QPS_RTS; state++) {
        qp_attr.state = (enum rnic_qp_state)state;
        EXPECT_EQ(rnic_qp_modify(qp, &qp_attr, 0), RNIC_OK);
    }
    return rnic;
}

static void compare(const struct roce_pkt *ours, const struct roce_pkt *theirs, uint64_t va)
{
    EXPECT_EQ(ours->bth.opcode, theirs->bth.opcode);
    EXPECT_EQ(ours->bth.psn, theirs->bth.psn);
    EXPECT_EQ(ours->bth.dest_qp, theirs->bth.dest_qp);
    EXPECT_EQ(ours->payload_len, theirs->payload_len);
    if (roce_opcode_has(theirs->op, ROCE_HDR_AETH)) {
        enum roce_syndrome_kind kind = roce_syndrome_kind(theirs->aeth.syndrome);

        EXPECT_EQ(roce_syndrome_kind(ours->aeth.syndrome), kind);
        if (kind != ROCE_SYN_ACK)
            EXPECT_EQ(ours->aeth.syndrome, theirs->aeth.syndrome);
        EXPECT_EQ(ours->aeth.msn, theirs->aeth.msn);
    }
    for (uint32_t i = 0; i < ours->payload_len && i < theirs->payload_len; i++)
        if (written[va + i])
            EXPECT_EQ(ours->payload[i], theirs->payload[i]);
}

/* Replays a capture. The device must send the recorded responses, and then `more` responses that
 * the capture lacks. */
static void play(const char *name, unsigned access, unsigned more)
{
    unsigned next = 0; /* index of the frame after the last recorded response that was compared */
    unsigned extra = 0;
    uint64_t low = 0;
    uint64_t read_off = 0; /* memory offset of the next READ response's data */
    uint64_t write_off = 0;
    struct rnic *rnic;

    memset(mem, 0x5A, sizeof(mem));
    memset(written, 0, sizeof(written));
    recorded_read(&rec, name);
    rnic = asked_device(access, &low);
    for (unsigned i = 0; i < rec.cnt; i++) {
        struct pktgen_frame out;
        struct roce_pkt pkt;

        parse(&rec.frame[i], &pkt);
        if (roce_opcode_is_response(pkt.op))
            continue;
        CU_ASSERT_FATAL(pktgen_seal(&rec.frame[i]));
        if (roce_opcode_has(pkt.op, ROCE_HDR_RETH)) {
            write_off = pkt.reth.va - low;
            if (pkt.op->kind == ROCE_KIND_READ)
                read_off = write_off;
        }
        if (pkt.payload_len && write_off < MEM_LEN - pkt.payload_len) {
            memset(written + write_off, true, pkt.payload_len);
            write_off += pkt.payload_len;
        }
        rnic_input(rnic, rec.frame[i].bytes, rec.frame[i].len, i);
        while ((out.len = rnic_output(rnic, out.bytes, sizeof(out.bytes), i)) != 0) {
            struct roce_pkt ours;
            struct roce_pkt theirs;

            parse(&out, &ours);
            do
                if (next < rec.cnt)
                    parse(&rec.frame[next++], &theirs);
                else
                    theirs.op = NULL;
            while (theirs.op && !roce_opcode_is_response(theirs.op));
            if (!theirs.op) {
                EXPECT_EQ(ours.bth.opcode, ROCE_OP_RC_READ_RESP_ONLY);
                EXPECT_EQ(ours.bth.psn, pkt.bth.psn);
                extra++;
                continue;
            }
            compare(&ours, &theirs, read_off);
            read_off += ours.payload_len;
        }
    }
    for (; next < rec.cnt; next++) { /* the device must have sent all recorded responses */
        struct roce_pkt pkt;

        parse(&rec.frame[next], &pkt);
        CU_ASSERT(!roce_opcode_is_response(pkt.op));
    }
    EXPECT_EQ(extra, more);
    rnic_del(rnic);
}

static void flush(void)
{
    play("rc-flush", ALL, QUIET);
}

static void flush_bad_rkey(void)
{
    play("rc-flush-bad-rkey", ALL, QUIET);
}

static void flush_no_permission(void)
{
    play("rc-flush-no-permission", NO_FLUSH, QUIET);
}

static void atomic_write(void)
{
    play("rc-atomic-write", ALL, QUIET);
}

static void atomic_write_unaligned(void)
{
    play("rc-atomic-write-unaligned", ALL, QUIET);
}

/* The recorded requester retransmits an ATOMIC WRITE with address 0 (D17 of traces/linux-rxe.md).
 * The device must answer it. */
static void repeated_atomic_write(void)
{
    play("rc-loss-atomic-write", ALL, QUIET);
}

/* The device answers a retransmitted FLUSH. The recorded peer never does (D16 of
 * traces/linux-rxe.md). */
static void repeated_flush(void)
{
    unsigned repeats = 0;

    recorded_read(&rec, "rc-loss-flush");
    for (unsigned i = 0; i < rec.cnt; i++) {
        struct roce_pkt pkt;

        parse(&rec.frame[i], &pkt);
        repeats += pkt.op->kind == ROCE_KIND_FLUSH;
    }
    CU_ASSERT_FATAL(repeats > 1);
    play("rc-loss-flush", ALL, repeats - 1);
}

SUITE("device.recorded", TEST(flush), TEST(flush_bad_rkey), TEST(flush_no_permission),
      TEST(atomic_write), TEST(atomic_write_unaligned), TEST(repeated_atomic_write),
      TEST(repeated_flush))
