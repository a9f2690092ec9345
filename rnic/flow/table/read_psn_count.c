/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "flow/table/read_psn_count.h"

/* Returns the number of PSNs of a READ of `len` bytes. If the path MTU is unknown, returns the
 * lowest possible number and sets *guess to true. */
static uint32_t psn_count_of(const struct roce_conn *conn, uint32_t len, bool *guess)
{
    uint32_t mtu = conn->facts.mtu_sure ? conn->facts.mtu : 0;

    *guess = true;
    if (len == ROCE_LEN_UNKNOWN)
        return 1;
    *guess = false;
    if (mtu)
        return roce_psn_cnt(len, mtu);
    *guess = len > 256;
    return roce_psn_cnt(len, 4096);
}

uint32_t roce_read_psn_count(const struct roce_ctx *ctx, bool *guess)
{
    const struct roce_pkt *pkt = ctx->pkt;

    return psn_count_of(
        ctx->conn, roce_pkt_has(pkt, ROCE_HDR_RETH) ? pkt->reth.dma_len : ROCE_LEN_UNKNOWN, guess);
}

void roce_read_psn_count_confirm(const struct roce_ctx *ctx, struct roce_req *req,
                                 struct roce_sent_packet *e)
{
    if (!(e->flags & ROCE_SENT_PSN_CNT_GUESS) || e->psn_cnt != 1 || ctx->pkt->bth.psn != e->psn ||
        ctx->pkt->op->pos != ROCE_POS_ONLY || ctx->pkt->payload_len != e->dma_len)
        return;
    e->flags &= (uint8_t)~ROCE_SENT_PSN_CNT_GUESS;
    if (e == roce_window_tail(&req->win))
        req->psn_cnt_guess = false;
}

/* Subtracts `cnt` PSNs of a READ from missing_psns of its sender, because they are not missing. */
static void uncount_missing(struct roce_endpoint *side, uint32_t cnt)
{
    struct roce_cold_counters *cold = side->counts.cold;

    if (cold)
        cold->missing_psns -= cold->missing_psns < cnt ? cold->missing_psns : cnt;
}

void roce_read_psn_count_update(struct roce_conn *conn, bool all)
{
    for (int s = 0; s < 2; s++) {
        struct roce_req *req = &conn->side[s].req;

        for (uint32_t i = 0; i < req->win.cnt; i++) {
            struct roce_sent_packet *e = roce_window_at(&req->win, i);
            uint32_t psn_cnt;

            if (roce_opcode(e->op)->kind != ROCE_KIND_READ || e->dma_len == ROCE_LEN_UNKNOWN ||
                !(all || e->flags & ROCE_SENT_PSN_CNT_GUESS))
                continue;
            psn_cnt = roce_psn_cnt(e->dma_len, conn->facts.mtu);
            if (i + 1 < req->win.cnt &&
                ((roce_window_at(&req->win, i + 1)->psn - e->psn) & ROCE_PSN_MASK) < psn_cnt)
                continue; /* keep the guess: the computed number is too high, because the READ would
                           * end after the PSN of the next request */
            if (!(e->flags & ROCE_SENT_PSN_CNT_GUESS) && psn_cnt > e->psn_cnt &&
                i + 1 < req->win.cnt)
                uncount_missing(&conn->side[s], psn_cnt - e->psn_cnt);
            e->psn_cnt = psn_cnt;
            e->flags &= (uint8_t)~ROCE_SENT_PSN_CNT_GUESS;
            if (i + 1 == req->win.cnt) {
                req->nxt = roce_sent_end(e);
                req->psn_cnt_guess = false;
            }
        }
    }
}
