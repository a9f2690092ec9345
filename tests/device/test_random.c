/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Random connections. In the first test, the test itself is the requester, and the network loses,
 * duplicates and reorders packets of both directions. Memory must equal a model that executes each
 * message once and in order, and every response must be legal. The second test sends single packets
 * with random faults and infers each required response from the rules.
 */
#include <stdio.h>
#include <string.h>
#include "support/device_fixture.h"
#include "support/rng.h"
#include "support/suite.h"
#include "wire/codes.h"

#define ACK    (ROCE_SYNDROME_ACK | ROCE_CREDIT_NONE)
#define NAK(n) (ROCE_SYNDROME_NAK | (n))

static struct device_fixture fixture;
static struct rng rng;
static uint8_t model[FIXTURE_MEM_LEN];

static void failure(unsigned line, const char *what)
{
    suite_fail(__FILE__, line, "%s (see the seed above)", what);
}

#define HOLDS(condition)                                                                           \
    do {                                                                                           \
        if (!(condition))                                                                          \
            failure(__LINE__, #condition);                                                         \
    } while (0)

/* ---- a connection over a bad network --------------------------------------------------------- */

#define MTU      1024u
#define WINDOW   24u /* maximum number of request packets in flight */
#define MESSAGES 250u
/* size of the array of packets: a message has at most 4 request packets */
#define PACKETS  (MESSAGES * 5)
#define RECV_LEN 8192u
#define RECV_OFF                                                                                   \
    (FIXTURE_MEM_LEN / 2) /* receive buffers are in the upper half of the memory, other data in    \
                           * the lower */
#define RECV_BUFS 32u
#define NET_MAX   64u

/* One request packet of the random connection, with its expected effects. */
struct item {
    struct roce_pkt pkt;
    uint8_t payload[MTU];
    uint32_t cnt;  /* number of PSNs */
    bool fence;    /* READ or atomic: the next packet waits for its response */
    uint64_t orig; /* atomic: expected original value */
    uint32_t off;  /* READ: offset of its data in `data` */
};

struct net {
    struct pktgen_frame frame[NET_MAX];
    unsigned cnt;
};

static struct item items[PACKETS];
static unsigned item_cnt;
static uint8_t data[MESSAGES * 4096]; /* data that the READs must return */
static uint32_t data_len;
static struct net to_device;
static struct net from_device;
static unsigned una;       /* oldest unanswered item */
static unsigned nxt;       /* next item to send */
static uint32_t read_next; /* number of PSNs of the oldest READ that were answered */
static bool read_begun;    /* a response to the oldest READ was accepted */
static unsigned posted;    /* number of receive WQEs posted */
static unsigned recv_done; /* number of completions polled */
static unsigned recv_made; /* number of messages that consume a receive WQE */
static uint32_t recv_len[MESSAGES];

/* Puts a frame into the network, which loses one frame in 12, duplicates one in 12, and delivers
 * frames in random order. */
static void net_put(struct net *net, const uint8_t *bytes, size_t len)
{
    unsigned copies = rng_below(&rng, 12) == 0 ? 0 : rng_below(&rng, 12) == 0 ? 2 : 1;

    while (copies-- && net->cnt < NET_MAX) {
        memcpy(net->frame[net->cnt].bytes, bytes, len);
        net->frame[net->cnt++].len = len;
    }
}

static bool net_take(struct net *net, struct pktgen_frame *out)
{
    unsigned idx;

    if (net->cnt == 0)
        return false;
    idx = rng_below(&rng, 4) ? 0 : rng_below(&rng, net->cnt);
    *out = net->frame[idx];
    memmove(&net->frame[idx], &net->frame[idx + 1], (--net->cnt - idx) * sizeof(*out));
    return true;
}

/* Adds the packets of a random message to `items` and executes it on the model. Returns the PSN
 * after it. */
static uint32_t add_message(uint32_t psn)
{
    static const uint8_t send[4] = {ROCE_OP_RC_SEND_FIRST, ROCE_OP_RC_SEND_MIDDLE,
                                    ROCE_OP_RC_SEND_LAST, ROCE_OP_RC_SEND_ONLY};
    static const uint8_t write[4] = {ROCE_OP_RC_WRITE_FIRST, ROCE_OP_RC_WRITE_MIDDLE,
                                     ROCE_OP_RC_WRITE_LAST, ROCE_OP_RC_WRITE_ONLY};
    static const uint8_t imm[4] = {ROCE_OP_RC_WRITE_FIRST, ROCE_OP_RC_WRITE_MIDDLE,
                                   ROCE_OP_RC_WRITE_LAST_IMM, ROCE_OP_RC_WRITE_ONLY_IMM};
    unsigned kind = rng_below(&rng, 6);
    uint32_t len = rng_below(&rng, 3) ? rng_below(&rng, 4 * MTU + 1) : MTU * rng_below(&rng, 5);
    uint32_t off = rng_below(&rng, 65536);
    uint64_t va = FIXTURE_IOVA + off;
    uint32_t cnt = roce_psn_cnt(len, MTU);
    struct item *item = &items[item_cnt];

    if (kind == 3) {
        item->pkt = pktgen_read(&fixture.gen, psn, va, FIXTURE_KEY, len);
        item->cnt = cnt;
        item->fence = true;
        item->off = data_len;
        memcpy(data + data_len, model + off, len);
        data_len += len;
        item_cnt++;
        return psn + cnt;
    }
    if (kind >= 4) {
        uint64_t swap_add = rng_u64(&rng);
        uint64_t value;

        off &= ~7u;
        memcpy(&value, model + off, 8);
        item->pkt = pktgen_atomic(
            &fixture.gen, kind == 4 ? ROCE_OP_RC_CMP_SWAP : ROCE_OP_RC_FETCH_ADD, psn,
            FIXTURE_IOVA + off, FIXTURE_KEY, swap_add, rng_below(&rng, 2) ? value : rng_u64(&rng));
        item->cnt = 1;
        item->fence = true;
        item->orig = value;
        if (kind == 5)
            value += swap_add;
        else if (value == item->pkt.atomiceth.compare)
            value = swap_add;
        memcpy(model + off, &value, 8);
        item_cnt++;
        return psn + 1;
    }
    for (uint32_t i = 0; i < cnt; i++, item++) {
        const uint8_t *opcodes = kind == 0 ? send : kind == 1 ? write : imm;
        bool ends = i == cnt - 1;
        uint32_t part = ends ? len - i * MTU : MTU;

        rng_fill(&rng, item->payload, part);
        item->pkt = pktgen_write(&fixture.gen,
                                 cnt == 1 ? opcodes[3]
                                 : i == 0 ? opcodes[0]
                                 : ends   ? opcodes[2]
                                          : opcodes[1],
                                 psn + i, va, FIXTURE_KEY, len, item->payload, part);
        item->pkt.bth.ackreq = ends || rng_below(&rng, 4) == 0;
        item->cnt = 1;
        item->fence = false;
        if (kind == 0)
            memcpy(model + RECV_OFF + recv_made % RECV_BUFS * RECV_LEN + i * MTU, item->payload,
                   part);
        else
            memcpy(model + off + i * MTU, item->payload, part);
        item_cnt++;
    }
    if (kind != 1)
        recv_len[recv_made++] = len;
    return psn + cnt;
}

static void post_one(void)
{
    if (posted - recv_done < RECV_BUFS &&
        fixture_post(&fixture, posted, RECV_OFF + posted % RECV_BUFS * RECV_LEN, RECV_LEN) ==
            RNIC_OK)
        posted++;
}

static void send_item(unsigned idx)
{
    struct roce_pkt pkt = items[idx].pkt;
    struct pktgen_frame frame;

    if (pkt.bth.opcode == ROCE_OP_RC_READ_REQUEST && idx == una && read_next) {
        /* retransmits only the part of the READ that has no response (R140) */
        pkt.bth.psn = (pkt.bth.psn + read_next) & ROCE_PSN_MASK;
        pkt.reth.va += (uint64_t)read_next * MTU;
        pkt.reth.dma_len -= read_next * MTU;
    }
    pktgen_build(&pkt, &frame);
    net_put(&to_device, frame.bytes, frame.len);
}

static void answered(void)
{
    una++;
    read_next = 0;
    read_begun = false;
    if (nxt < una)
        nxt = una;
}

/* Acknowledges the packets before `psn`. Stops at a READ or atomic, which needs its own response
 * (R139). */
static void acked_before(uint32_t psn)
{
    while (una < nxt && !items[una].fence &&
           roce_psn_cmp(roce_pkt_psn(&items[una].pkt), roce_psn_of(psn)) < 0)
        answered();
}

static void take_read(const struct roce_pkt *pkt)
{
    struct item *item = &items[una];
    uint32_t len = item->pkt.reth.dma_len;
    bool last = read_next == item->cnt - 1;
    bool starts = roce_opcode_starts(pkt->op);

    /* A READ response First in the middle of a READ answers a request for the rest of the READ
     * (R112). */
    HOLDS(starts || read_begun || read_next > 0);
    HOLDS(roce_opcode_ends(pkt->op) == last);
    HOLDS(pkt->payload_len == (last ? len - read_next * MTU : MTU));
    HOLDS(memcmp(pkt->payload ? pkt->payload : data, data + item->off + read_next * MTU,
                 pkt->payload_len) == 0);
    read_begun = true;
    read_next++;
    if (last)
        answered();
}

/* Processes a response that reached the requester. */
static void take_response(const struct roce_pkt *pkt)
{
    struct item *item;

    acked_before(pkt->bth.psn);
    if (pkt->op->kind == ROCE_KIND_ACK) {
        if (roce_syndrome_kind(pkt->aeth.syndrome) == ROCE_SYN_ACK) {
            acked_before(pkt->bth.psn + 1);
            return;
        }
        if (roce_syndrome_kind(pkt->aeth.syndrome) == ROCE_SYN_RNR)
            post_one();
        else
            HOLDS(pkt->aeth.syndrome == NAK(ROCE_NAK_PSN_SEQ));
        nxt = una;
        return;
    }
    item = &items[una];
    if (una == item_cnt || una == nxt ||
        pkt->bth.psn != ((item->pkt.bth.psn + read_next) & ROCE_PSN_MASK))
        return; /* the response does not match the oldest outstanding request (R137, R144) */
    if (pkt->op->kind == ROCE_KIND_READ_RESP && item->pkt.bth.opcode == ROCE_OP_RC_READ_REQUEST) {
        take_read(pkt);
    } else if (pkt->op->kind == ROCE_KIND_ATOMIC_ACK && item->fence) {
        HOLDS(pkt->atomicacketh.orig == item->orig);
        answered();
    }
}

/* Checks a response when the device sends it: its QPN, flags, PSN and MSN must be legal. */
static void check_legal(const struct roce_pkt *pkt)
{
    struct rnic_qp_view view;
    int32_t ahead;

    rnic_qp_view(fixture.qp, &view);
    ahead = roce_psn_diff(roce_pkt_psn(pkt), roce_psn_of(view.epsn));
    HOLDS(pkt->bth.dest_qp == FIXTURE_PEER_QPN);
    HOLDS(!pkt->bth.ackreq && !pkt->bth.se && pkt->bth.migreq);
    if (pkt->op->kind == ROCE_KIND_ACK && roce_syndrome_kind(pkt->aeth.syndrome) != ROCE_SYN_ACK)
        HOLDS(ahead == 0); /* NAK and RNR NAK have the expected PSN */
    else
        HOLDS(ahead < 0); /* an ACK never covers a PSN that was not received */
    if (roce_opcode_has(pkt->op, ROCE_HDR_AETH))
        HOLDS(pkt->aeth.msn <= view.msn); /* cannot wrap: fewer than 2^24 messages */
}

static void drain_device(void)
{
    struct roce_pkt pkt;

    while (fixture_out(&fixture, &pkt)) {
        check_legal(&pkt);
        net_put(&from_device, pkt.frame, pkt.wire_len);
    }
}

static void poll_receives(void)
{
    struct rnic_wc wc;

    while (rnic_cq_poll(fixture.cq, &wc, 1)) {
        HOLDS(wc.status == RNIC_WC_SUCCESS);
        HOLDS(wc.wr_id == recv_done);
        HOLDS(wc.byte_len == recv_len[recv_done]);
        recv_done++;
    }
}

static void lossy_connection(void)
{
    uint32_t psn = FIXTURE_PSN;
    unsigned steps = 0;

    rng = rng_seed();
    fixture_init(&fixture, rng_below(&rng, 2) ? ROCE_ENCAP_V2_IP4 : ROCE_ENCAP_V2_IP6);
    memcpy(model, fixture.mem, FIXTURE_MEM_LEN);
    item_cnt = data_len = una = nxt = posted = recv_done = recv_made = 0;
    read_next = 0;
    to_device.cnt = from_device.cnt = 0;
    for (unsigned i = 0; i < MESSAGES; i++)
        psn = add_message(psn);

    while (una < item_cnt && steps++ < 2000000) {
        struct pktgen_frame frame;
        struct roce_pkt pkt;
        bool fenced = nxt > una && items[nxt - 1].fence;

        switch (rng_below(&rng, 5)) {
        case 0:
        case 1:
            if (nxt < item_cnt && nxt - una < WINDOW && !fenced)
                send_item(nxt++);
            break;
        case 2:
        case 3:
            if (net_take(&to_device, &frame)) {
                rnic_input(fixture.rnic, frame.bytes, frame.len, ++fixture.now);
                drain_device();
                poll_receives();
            }
            break;
        default:
            if (net_take(&from_device, &frame)) {
                pktgen_parse(&frame, &pkt);
                take_response(&pkt);
            } else if (to_device.cnt == 0 && rng_below(&rng, 8) == 0) {
                nxt = una; /* the timer expires: retransmit all items in flight */
            }
            if (rng_below(&rng, 50) == 0)
                post_one();
            break;
        }
    }
    HOLDS(una == item_cnt);
    poll_receives();
    HOLDS(recv_done == recv_made);
    HOLDS(memcmp(fixture.mem, model, FIXTURE_MEM_LEN) == 0);
    fixture_expect_no_event(&fixture);
    EXPECT_EQ(fixture_state(&fixture), RNIC_QPS_RTS);
    printf("    %u request packets, %llu duplicates, %llu PSN gaps, %llu RNR NAKs\n", item_cnt,
           (unsigned long long)fixture_counters(&fixture).duplicate_request,
           (unsigned long long)fixture_counters(&fixture).out_of_sequence,
           (unsigned long long)fixture_counters(&fixture).resp_rnr_nak);
    fixture_free(&fixture);
}

/* ---- single packets with faults -------------------------------------------------------------- */

#define RO_KEY  0x51DE0002u /* read-only region: the last 4096 bytes of the memory */
#define RO_LEN  4096u
#define BAD_KEY 0x51DE0003u

struct verdict {
    int syndrome; /* syndrome of the ACK or NAK; -1: no response */
    bool fatal;
};

static bool range_good(uint32_t key, uint64_t va, uint64_t len, bool writes)
{
    uint64_t base = key == RO_KEY ? FIXTURE_IOVA + FIXTURE_MEM_LEN - RO_LEN : FIXTURE_IOVA;
    uint64_t size = key == RO_KEY ? RO_LEN : FIXTURE_MEM_LEN;

    if (key == BAD_KEY || (key == RO_KEY && writes))
        return false;
    return va >= base && va <= base + size && len <= base + size - va;
}

/* Checks a packet with the expected PSN, in the order of checks that R071 requires. Returns the
 * required response, and executes a valid WRITE on the model. */
static struct verdict judge(const struct roce_pkt *pkt, unsigned access, uint32_t wqes)
{
    bool read = pkt->op->kind == ROCE_KIND_READ;
    bool atomic = roce_opcode_is_atomic(pkt->op);
    unsigned needed = atomic                             ? RNIC_ACCESS_REMOTE_ATOMIC
                      : read                             ? RNIC_ACCESS_REMOTE_READ
                      : pkt->op->kind == ROCE_KIND_WRITE ? RNIC_ACCESS_REMOTE_WRITE
                                                         : 0;
    const struct verdict invalid = {NAK(ROCE_NAK_INVALID_REQ), true};
    const struct verdict no_access = {NAK(ROCE_NAK_REMOTE_ACCESS), true};
    const struct verdict good = {pkt->bth.ackreq || read || atomic ? (int)ACK : -1, false};

    if (!roce_opcode_starts(pkt->op) || (access & needed) != needed)
        return invalid; /* no message is open (R072), or the QP lacks the access right (R075) */
    if (roce_opcode_uses_rq(pkt->op) && wqes == 0)
        /* there is no receive WQE (R093, R094) */
        return (struct verdict){ROCE_SYNDROME_RNR | 12, false};
    if (pkt->payload_len > MTU)
        return invalid; /* the payload exceeds the path MTU (R079) */
    if (pkt->op->kind == ROCE_KIND_SEND)
        /* longer than the receive WQE: invalid (R082) */
        return pkt->payload_len > 256 ? invalid : good;
    if (atomic) {
        if (pkt->atomiceth.va % 8)
            return invalid; /* the address is not aligned to 8 bytes (R120) */
        return range_good(pkt->atomiceth.rkey, pkt->atomiceth.va, 8, true) ? good : no_access;
    }
    if (pkt->reth.dma_len > RNIC_MESSAGE_MAX || (!read && pkt->payload_len != pkt->reth.dma_len))
        return invalid; /* the DMA length is too long (R081) or differs from the payload (R080) */
    if (pkt->reth.dma_len && !range_good(pkt->reth.rkey, pkt->reth.va, pkt->reth.dma_len, !read))
        return no_access; /* the key or the range is invalid (R083, R084) */
    if (!read)
        memcpy(model + (pkt->reth.dma_len ? pkt->reth.va - FIXTURE_IOVA : 0), pkt->payload,
               pkt->payload_len);
    return good;
}

static void random_request(struct roce_pkt *pkt, const uint8_t *payload)
{
    static const uint8_t opcodes[] = {
        ROCE_OP_RC_SEND_ONLY,    ROCE_OP_RC_SEND_ONLY_IMM,  ROCE_OP_RC_WRITE_ONLY,
        ROCE_OP_RC_WRITE_ONLY,   ROCE_OP_RC_WRITE_ONLY_IMM, ROCE_OP_RC_READ_REQUEST,
        ROCE_OP_RC_READ_REQUEST, ROCE_OP_RC_CMP_SWAP,       ROCE_OP_RC_FETCH_ADD,
        ROCE_OP_RC_SEND_LAST,    ROCE_OP_RC_WRITE_MIDDLE};
    static const uint32_t keys[] = {FIXTURE_KEY, FIXTURE_KEY, FIXTURE_KEY, RO_KEY, BAD_KEY};
    static const uint64_t edges[] = {FIXTURE_IOVA, FIXTURE_IOVA + FIXTURE_MEM_LEN, UINT64_MAX,
                                     FIXTURE_IOVA + FIXTURE_MEM_LEN - RO_LEN, FIXTURE_IOVA + 5000};
    uint8_t opcode = opcodes[rng_below(&rng, sizeof(opcodes))];
    uint64_t va = edges[rng_below(&rng, 5)] + rng_below(&rng, 64) - 32;
    uint32_t len = rng_below(&rng, rng_below(&rng, 8) ? 200 : 1100);
    uint32_t key = keys[rng_below(&rng, 5)];
    bool empty = roce_opcode(opcode)->payload == ROCE_PAYLOAD_NONE;
    uint32_t dma_len = rng_below(&rng, 12) ? len : rng_below(&rng, 2) ? UINT32_MAX : len + 1;

    *pkt = pktgen_write(&fixture.gen, opcode, 0, va, key, dma_len, payload, empty ? 0 : len);
    pkt->atomiceth = (struct roce_atomiceth){
        .va = rng_below(&rng, 4) ? va & ~UINT64_C(7) : va, .rkey = key, .swap_add = 0};
    if (opcode == ROCE_OP_RC_CMP_SWAP)
        pkt->atomiceth.compare = 1; /* compare and add values that leave the memory unchanged */
    pkt->bth.ackreq = rng_below(&rng, 2) != 0;
}

static void faulty_packets(void)
{
    static uint8_t payload[1104];
    struct rnic_mr_attr ro = {.len = RO_LEN,
                              .access = RNIC_ACCESS_REMOTE_READ,
                              .key = RO_KEY,
                              .iova = FIXTURE_IOVA + FIXTURE_MEM_LEN - RO_LEN};
    struct rnic_mr *mr;
    unsigned fatal = 0;

    rng = rng_seed();
    fixture_init(&fixture, ROCE_ENCAP_V2_IP4);
    ro.addr = fixture.mem + FIXTURE_MEM_LEN - RO_LEN;
    EXPECT_EQ(rnic_mr_reg(fixture.pd, &ro, &mr), RNIC_OK);
    memset(fixture.mem, 0, FIXTURE_MEM_LEN);
    memset(model, 0, FIXTURE_MEM_LEN);
    for (unsigned round = 0; round < 20000; round++) {
        struct rnic_qp_view view;
        struct verdict verdict;
        struct roce_pkt pkt;
        struct roce_pkt out;
        bool exact = rng_below(&rng, 8) != 0;
        bool got;

        rnic_qp_view(fixture.qp, &view);
        if (view.recv_wr == 0 && rng_below(&rng, 3)) /* receive buffers are in a separate part of
                                                      * the memory */
            HOLDS(fixture_post(&fixture, round, FIXTURE_MEM_LEN / 2, 256) == RNIC_OK);
        rnic_qp_view(fixture.qp, &view);
        memset(payload, (int)(round % 255), sizeof(payload));
        random_request(&pkt, payload);
        pkt.bth.psn = (view.epsn + (exact ? 0 : 1 + rng_below(&rng, 1000))) & ROCE_PSN_MASK;
        if (exact)
            verdict = judge(&pkt, fixture.attr.access, view.recv_wr);
        else
            verdict = (struct verdict){NAK(ROCE_NAK_PSN_SEQ), false};
        if (pkt.op->kind == ROCE_KIND_SEND && exact && !verdict.fatal &&
            verdict.syndrome != (ROCE_SYNDROME_RNR | 12))
            memcpy(model + FIXTURE_MEM_LEN / 2, pkt.payload, pkt.payload_len);
        fixture_in(&fixture, &pkt);
        got = fixture_out(&fixture, &out);
        if (!exact && !got)
            continue; /* a second NAK is not sent (R068, R070) */
        if (got != (verdict.syndrome >= 0) || (got && roce_opcode_has(out.op, ROCE_HDR_AETH) &&
                                               out.aeth.syndrome != verdict.syndrome)) {
            suite_fail(__FILE__, __LINE__,
                       "round %u: %s with %s PSN: syndrome %d expected, %d sent (-1: no response)",
                       round, pkt.op->name, exact ? "the expected" : "a later", verdict.syndrome,
                       got ? out.aeth.syndrome : -1);
            break;
        }
        while (fixture_out(&fixture, &out))
            HOLDS(out.op->kind == ROCE_KIND_READ_RESP);
        HOLDS((fixture_state(&fixture) == RNIC_QPS_ERR) == verdict.fatal);
        if (round % 64 == 0)
            HOLDS(memcmp(fixture.mem, model, FIXTURE_MEM_LEN) == 0);
        if (fixture_state(&fixture) == RNIC_QPS_ERR) {
            struct rnic_qp_attr attr = fixture.attr;
            struct rnic_event event;
            struct rnic_wc wc[8];

            fatal++;
            while (rnic_event_get(fixture.rnic, &event))
                ;
            while (rnic_cq_poll(fixture.cq, wc, 8))
                ;
            attr.state = RNIC_QPS_RESET;
            HOLDS(rnic_qp_modify(fixture.qp, &attr, fixture.now) == RNIC_OK);
            fixture.attr.access = rng_below(&rng, 4) ? 0xF : rng_below(&rng, 16);
            fixture_connect(&fixture, fixture.qp);
        }
        if (round % 16 == 0) {
            struct rnic_wc wc[8];

            while (rnic_cq_poll(fixture.cq, wc, 8))
                ;
        }
    }
    HOLDS(memcmp(fixture.mem, model, FIXTURE_MEM_LEN) == 0);
    CU_ASSERT(fatal > 0);
    fixture_free(&fixture);
}

static void lossy_connections(void)
{
    for (unsigned i = 0; i < 20; i++)
        lossy_connection();
    CU_ASSERT(item_cnt > 0);
}

SUITE("device.random", TEST(lossy_connections), TEST(faulty_packets))
