/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Fuzz target: memory windows and regions. They are created, changed, bound and removed between the
 * packets of a peer.
 *
 * Invariants (R207-R213, R250): a byte is written only if the request's key is valid at that
 * moment, the byte is inside the range of the key, and the key has the access right. To check this,
 * the test keeps a simple model: for each key, the range that it opens. It updates the model only
 * from the completions of the device.
 *
 * The first byte of the input selects whether windows of type 2 are 2A or 2B. A QP cannot be
 * deleted while a 2A window is bound to it. A 2B window becomes invalid with its QP.
 */
#include <stdlib.h>
#include <string.h>
#include "device/rnic.h"
#include "fuzz.h"
#include "script.h"
#include "wire/pkt.h"

#define MEM     2048u
#define MTU     256u
#define IOVA    UINT64_C(0x10000)
#define QPN     0x11u
#define REGIONS 3u
#define WINDOWS 3u
#define WRITES  (RNIC_ACCESS_REMOTE_WRITE | RNIC_ACCESS_REMOTE_ATOMIC)

/* Memory range to which a key gives access, as the model of the test computes it. */
struct opened {
    uint32_t key; /* key; 0: there is no access */
    uint32_t off; /* start of the range: offset into fuzz.mem, bytes */
    uint32_t len;
    unsigned access;
};

struct fuzz {
    struct rnic *rnic;
    struct rnic_pd *pd[2];
    struct rnic_cq *cq;
    struct rnic_qp *qp;
    struct rnic_qp_attr attr;
    struct rnic_mr *mr[REGIONS];
    /* Memory range of each region. The key is 0 while the region and the QP have different PDs. */
    struct opened region[REGIONS];
    struct rnic_mw *mw[WINDOWS];
    struct opened window[WINDOWS];
    unsigned bound_to[WINDOWS];
    bool is_2a;
    uint32_t wr_rkey; /* R_Key of the WRITE in progress */
    uint8_t mem[MEM];
    uint8_t before[MEM];
};

static const uint8_t peer_gid[16] = {[10] = 0xFF, 0xFF, 192, 0, 2, 1};
static const uint8_t my_gid[16] = {[10] = 0xFF, 0xFF, 192, 0, 2, 2};

static void bring_up(struct fuzz *f)
{
    struct rnic_wc wc;

    while (rnic_cq_poll(f->cq, &wc, 1)) { /* discard the completions of flushed requests */
    }
    for (int state = RNIC_QPS_RESET; state <= RNIC_QPS_RTS; state++) {
        f->attr.state = (enum rnic_qp_state)state;
        FUZZ_CHECK(rnic_qp_modify(f->qp, &f->attr, 0) == RNIC_OK);
    }
}

/* Chooses a range inside the memory. */
static void pick(struct script *script, uint32_t *off, uint32_t *len)
{
    *off = u8(script) * 8u;
    *len = u8(script) * 8u;
    if (*off + *len > MEM)
        *len = MEM - *off;
}

static unsigned windows_on(const struct fuzz *f, unsigned r)
{
    unsigned cnt = 0;

    for (unsigned w = 0; w < WINDOWS; w++)
        cnt += f->window[w].key != 0 && f->bound_to[w] == r;
    return cnt;
}

/* Registers, changes or removes a region. */
static void change_region(struct fuzz *f, struct script *script)
{
    unsigned r = u8(script) % REGIONS;
    unsigned access = u8(script) & (WRITES | RNIC_ACCESS_REMOTE_READ | RNIC_ACCESS_MW_BIND);
    unsigned how = u8(script);
    unsigned foreign = how >> 4 & 1;
    uint32_t off;
    uint32_t len;
    struct rnic_mr_attr attr;
    int rc;

    pick(script, &off, &len);
    attr = (struct rnic_mr_attr){.addr = f->mem + off,
                                 .len = len,
                                 .iova = IOVA + off,
                                 .access = access | RNIC_ACCESS_LOCAL_WRITE,
                                 .invalidate = true};
    if (!f->mr[r]) {
        FUZZ_CHECK(rnic_mr_reg(f->pd[foreign], &attr, &f->mr[r]) == RNIC_OK);
    } else if (how & 1) {
        rc = rnic_mr_dereg(f->mr[r]);
        FUZZ_CHECK(rc == (windows_on(f, r) ? RNIC_ERR_BUSY : RNIC_OK));
        if (rc == RNIC_OK) {
            f->mr[r] = NULL;
            f->region[r].key = 0;
        }
        return;
    } else {
        rc = rnic_mr_rereg(f->mr[r], 7, f->pd[foreign], &attr);
        FUZZ_CHECK(rc == (windows_on(f, r) ? RNIC_ERR_BUSY : RNIC_OK));
        if (rc != RNIC_OK)
            return;
    }
    f->region[r] = (struct opened){foreign ? 0 : rnic_mr_key(f->mr[r]), off, len, access};
}

/* Creates or frees a window. */
static void change_window(struct fuzz *f, struct script *script)
{
    unsigned w = u8(script) % WINDOWS;

    if (f->mw[w]) {
        FUZZ_CHECK(rnic_mw_del(f->mw[w]) == RNIC_OK);
        f->mw[w] = NULL;
        f->window[w].key = 0;
    } else {
        FUZZ_CHECK(rnic_mw_new(f->pd[0], u8(script) & 1 ? RNIC_MW_TYPE_1 : RNIC_MW_TYPE_2,
                               &f->mw[w]) == RNIC_OK);
    }
}

/* Polls the completion of a local operation (bind or invalidate), which completes at once. Returns
 * whether it succeeded. */
static bool succeeded(struct fuzz *f)
{
    struct rnic_wc wc;

    FUZZ_CHECK(rnic_cq_poll(f->cq, &wc, 1) == 1);
    return wc.status == RNIC_WC_SUCCESS;
}

static void bind(struct fuzz *f, struct script *script)
{
    unsigned w = u8(script) % WINDOWS;
    unsigned r = u8(script) % REGIONS;
    struct rnic_send_wr wr = {.opcode = RNIC_WR_BIND_MW, .flags = RNIC_SEND_SIGNALED};
    uint32_t off;
    uint32_t len;

    pick(script, &off, &len);
    if (!f->mw[w] || !f->mr[r])
        return;
    wr.mw = (struct rnic_mw_bind){.mw = f->mw[w],
                                  .mr = f->mr[r],
                                  .addr = IOVA + off,
                                  .len = len,
                                  .access = u8(script) & (WRITES | RNIC_ACCESS_REMOTE_READ),
                                  .rkey = (rnic_mw_rkey(f->mw[w]) & ~0xFFu) | u8(script)};
    if (rnic_post_send(f->qp, &wr) != RNIC_OK || !succeeded(f)) {
        bring_up(f);
        return;
    }
    f->window[w].key = 0;
    if (len == 0) {
        FUZZ_CHECK(rnic_mw_type(f->mw[w]) == RNIC_MW_TYPE_1);
        return;
    }
    FUZZ_CHECK(f->region[r].key && off >= f->region[r].off &&
               off + len <= f->region[r].off + f->region[r].len);
    f->window[w] = (struct opened){rnic_mw_rkey(f->mw[w]), off, len, wr.mw.access};
    f->bound_to[w] = r;
}

/* Returns a key: valid, no longer valid, or never valid. */
static uint32_t pick_key(struct fuzz *f, struct script *script)
{
    uint8_t choice = u8(script);
    unsigned i = choice / 4 % WINDOWS;

    if (choice & 1 && f->mw[i])
        return rnic_mw_rkey(f->mw[i]) + (choice & 128 ? 1 : 0);
    return f->mr[i] ? rnic_mr_key(f->mr[i]) : choice;
}

/* Removes a key that was invalidated, of a region or of a type 2 window, from the model. */
static void forget(struct fuzz *f, uint32_t key)
{
    for (unsigned i = 0; i < REGIONS; i++)
        if (f->region[i].key == key) {
            FUZZ_CHECK(windows_on(f, i) == 0);
            f->region[i].key = 0;
        }
    for (unsigned i = 0; i < WINDOWS; i++)
        if (f->window[i].key == key) {
            FUZZ_CHECK(rnic_mw_type(f->mw[i]) == RNIC_MW_TYPE_2);
            f->window[i].key = 0;
        }
}

static void invalidate(struct fuzz *f, struct script *script)
{
    const struct rnic_send_wr wr = {.opcode = RNIC_WR_LOCAL_INV,
                                    .flags = RNIC_SEND_SIGNALED,
                                    .invalidate_key = pick_key(f, script)};

    if (rnic_post_send(f->qp, &wr) == RNIC_OK && succeeded(f))
        forget(f, wr.invalidate_key);
    else
        bring_up(f);
}

static bool type_2(const struct fuzz *f, unsigned w)
{
    return f->mw[w] && rnic_mw_type(f->mw[w]) == RNIC_MW_TYPE_2;
}

static void new_qp(struct fuzz *f)
{
    const struct rnic_qp_init init = {.type = RNIC_QPT_RC,
                                      .qpn = QPN,
                                      .recv_cq = f->cq,
                                      .send_cq = f->cq,
                                      .max_recv_wr = 4,
                                      .max_recv_sge = 1,
                                      .max_send_wr = 2,
                                      .max_send_sge = 1};

    FUZZ_CHECK(rnic_qp_new(f->pd[0], &init, &f->qp) == RNIC_OK);
}

/* Deletes the QP and creates another with the same QPN. The deletion must fail if a 2A window is
 * bound to the QP (R213). */
static void change_qp(struct fuzz *f)
{
    bool bound = false;
    int rc;

    for (unsigned w = 0; w < WINDOWS; w++)
        bound = bound || (f->window[w].key && type_2(f, w));
    rc = rnic_qp_del(f->qp);
    FUZZ_CHECK(rc == (f->is_2a && bound ? RNIC_ERR_BUSY : RNIC_OK));
    if (rc != RNIC_OK)
        return;
    for (unsigned w = 0; w < WINDOWS; w++)
        if (type_2(f, w))
            f->window[w].key = 0;
    new_qp(f);
    bring_up(f);
}

static bool may_change(const struct fuzz *f, uint32_t key, unsigned right, uint32_t byte)
{
    for (unsigned i = 0; i < REGIONS + WINDOWS; i++) {
        const struct opened *o = i < REGIONS ? &f->region[i] : &f->window[i - REGIONS];

        if (o->key && o->key == key && (o->access & right) && byte - o->off < o->len)
            return true;
    }
    return false;
}

/* Gives most requests a valid key. The request then accesses the last bytes of the key's range, or
 * begins 8 bytes later and exceeds the range. */
static void edge(const struct fuzz *f, struct script *script, struct roce_reth *reth, uint32_t *len)
{
    uint8_t choice = u8(script);
    unsigned i = choice % (REGIONS + WINDOWS);
    const struct opened *o = i < REGIONS ? &f->region[i] : &f->window[i - REGIONS];

    if (choice >= 200 || !o->key)
        return;
    reth->rkey = o->key;
    *len = o->len < 64 ? o->len : 64;
    reth->va = IOVA + o->off + o->len - *len + (choice & 64 ? 8 : 0);
    reth->dma_len = *len;
}

/* Passes a request of the peer to the device. Checks that the model allows every change of a byte
 * that it caused. */
static void request(struct fuzz *f, struct script *script)
{
    static const uint8_t opcodes[] = {ROCE_OP_RC_WRITE_ONLY,   ROCE_OP_RC_WRITE_FIRST,
                                      ROCE_OP_RC_WRITE_MIDDLE, ROCE_OP_RC_WRITE_LAST,
                                      ROCE_OP_RC_READ_REQUEST, ROCE_OP_RC_CMP_SWAP,
                                      ROCE_OP_RC_FETCH_ADD,    ROCE_OP_RC_ATOMIC_WRITE,
                                      ROCE_OP_RC_FLUSH,        ROCE_OP_RC_SEND_ONLY_INV};
    uint8_t payload[MTU];
    uint8_t buf[ROCE_FRAME_MAX];
    struct rnic_qp_view view;
    struct roce_pkt pkt;
    unsigned right = RNIC_ACCESS_REMOTE_WRITE;
    uint32_t off;
    uint32_t len;
    int built;

    memset(payload, u8(script) | 1, sizeof(payload));
    roce_pkt_init(&pkt, ROCE_ENCAP_V2_IP4, opcodes[u8(script) % sizeof(opcodes)]);
    rnic_qp_view(f->qp, &view);
    memcpy(pkt.eth.dst, "\2\0\0\0\0\2", 6);
    memcpy(pkt.ip4.src, peer_gid + 12, 4);
    memcpy(pkt.ip4.dst, my_gid + 12, 4);
    pkt.bth.dest_qp = QPN;
    pkt.bth.psn = (view.epsn - u8(script) / 200) & ROCE_PSN_MASK;
    pkt.bth.ackreq = 1;
    off = u8(script) * 8u;
    len = u8(script) * 4u;
    pkt.reth = (struct roce_reth){.va = IOVA + off, .rkey = pick_key(f, script), .dma_len = len};
    edge(f, script, &pkt.reth, &len);
    pkt.atomiceth = (struct roce_atomiceth){
        .va = pkt.reth.va, .rkey = pkt.reth.rkey, .swap_add = 3, .compare = 0};
    pkt.feth = (struct roce_feth){.plt = 1, .sel = len & 1};
    pkt.ieth.rkey = pkt.reth.rkey;
    switch (pkt.op->kind) {
    case ROCE_KIND_WRITE:
        if (roce_opcode_starts(pkt.op))
            f->wr_rkey = pkt.reth.rkey;
        pkt.payload_len = pkt.op->payload == ROCE_PAYLOAD_MTU ? MTU : len % (MTU + 1);
        if (pkt.op->pos == ROCE_POS_ONLY)
            pkt.reth.dma_len = pkt.payload_len;
        else
            pkt.reth.dma_len = 2 * MTU + len % MTU;
        break;
    case ROCE_KIND_ATOMIC_WRITE:
        f->wr_rkey = pkt.reth.rkey;
        pkt.payload_len = pkt.reth.dma_len = 8;
        break;
    case ROCE_KIND_CMP_SWAP:
    case ROCE_KIND_FETCH_ADD:
        f->wr_rkey = pkt.reth.rkey;
        right = RNIC_ACCESS_REMOTE_ATOMIC;
        break;
    default: break;
    }
    pkt.payload = pkt.payload_len ? payload : NULL;
    memcpy(f->before, f->mem, MEM);
    built = roce_pkt_build(&pkt, 0, buf, sizeof(buf));
    if (built > 0)
        rnic_input(f->rnic, buf, (size_t)built, 0);
    for (uint32_t i = 0; i < MEM; i++)
        FUZZ_CHECK(f->mem[i] == f->before[i] || may_change(f, f->wr_rkey, right, i));
    while (rnic_output(f->rnic, buf, sizeof(buf), 0))
        ;
    if (pkt.op->kind == ROCE_KIND_SEND) {
        struct rnic_wc wc;

        while (rnic_cq_poll(f->cq, &wc, 1))
            if (wc.status == RNIC_WC_SUCCESS && (wc.flags & RNIC_WC_WITH_INV))
                forget(f, wc.invalidated_key);
    }
    rnic_qp_view(f->qp, &view);
    if (view.state == RNIC_QPS_ERR) {
        bring_up(f);
    }
}

static void setup(struct fuzz *f, bool is_2a)
{
    struct rnic_attr attr = {.mac = {2, 0, 0, 0, 0, 2}, .gid_cnt = 1, .mw_2a = is_2a};

    memset(f, 0, sizeof(*f));
    f->is_2a = is_2a;
    memcpy(attr.gid[0].gid, my_gid, 16);
    attr.gid[0].type = RNIC_GID_ROCE_V2;
    f->rnic = rnic_new(&attr);
    FUZZ_CHECK(f->rnic != NULL);
    FUZZ_CHECK(rnic_pd_new(f->rnic, &f->pd[0]) == RNIC_OK);
    FUZZ_CHECK(rnic_pd_new(f->rnic, &f->pd[1]) == RNIC_OK);
    FUZZ_CHECK(rnic_cq_new(f->rnic, 64, &f->cq) == RNIC_OK);
    new_qp(f);
    f->attr = (struct rnic_qp_attr){.access = RNIC_ACCESS_ALL,
                                    .pkey = 0xFFFF,
                                    .path_mtu = MTU,
                                    .dest_qpn = 0x22,
                                    .max_dest_rd_atomic = 4,
                                    .max_rd_atomic = 1,
                                    .timeout = 14};
    memcpy(f->attr.av.dgid, peer_gid, 16);
    bring_up(f);
    for (unsigned i = 0; i < REGIONS; i++) {
        const uint8_t region[] = {(uint8_t)i, 0xFF, 0, (uint8_t)(64 * i), 60};
        const uint8_t window[] = {(uint8_t)i, (uint8_t)i};
        const uint8_t bound[] = {(uint8_t)i, (uint8_t)i, (uint8_t)(64 * i + 8), 16, 0xFF, 7};

        change_region(f, &(struct script){region, sizeof(region)});
        change_window(f, &(struct script){window, sizeof(window)});
        bind(f, &(struct script){bound, sizeof(bound)});
        FUZZ_CHECK(f->window[i].key != 0);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct fuzz fuzz;
    struct script script = {data, size};

    setup(&fuzz, size > 0 && (data[0] & 16));
    while (script.left) {
        const struct rnic_recv_wr recv = {.wr_id = 1};

        switch (u8(&script) % 8) {
        case 0: change_region(&fuzz, &script); break;
        case 1: change_window(&fuzz, &script); break;
        case 2: bind(&fuzz, &script); break;
        case 3: invalidate(&fuzz, &script); break;
        case 5: change_qp(&fuzz); break;
        case 4: rnic_post_recv(fuzz.qp, &recv); break;
        default: request(&fuzz, &script); break;
        }
    }
    rnic_del(fuzz.rnic);
    return 0;
}
