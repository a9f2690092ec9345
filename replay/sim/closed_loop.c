/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "sim/closed_loop.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/error.h"
#include "sim/rc_loop.h"

/* ---- copying the inferred memory ---------------------------------------------------------------
 */

/* Copies the regions of a host with their current contents. Returns 0, or -1 if out of memory. */
static int clone_memory(struct shadow_memory *to, const struct shadow_memory *from)
{
    shadow_init(to);
    for (uint32_t i = 0; i < from->keys.cnt; i++) {
        const struct shadow_region *region = &from->region[i];

        if ((region->span &&
             shadow_claim(to, region->rkey, region->low, region->span, region->access) != 0) ||
            (region->invalidate && shadow_claim_invalidate(to, region->rkey) != 0))
            return -1;
    }
    if (to->keys.cnt != from->keys.cnt || shadow_map(to) != NULL)
        return -1;
    for (uint32_t i = 0; i < from->keys.cnt; i++) {
        const struct shadow_region *region = &from->region[i];

        for (uint64_t off = shadow_touched_from(region, 0); off < region->span;
             off = shadow_touched_from(region, off + MEMORY_PAGE)) {
            uint64_t len = region->span - off < MEMORY_PAGE ? region->span - off : MEMORY_PAGE;

            memcpy(to->region[i].image + off, region->image + off, len);
            shadow_touch(&to->region[i], off / MEMORY_PAGE);
        }
    }
    return 0;
}

/* Copies the inferred memory of each host. The simulated connections read and write the copies. A
 * copy with keys.key_len 0 is missing: its host failed, or memory ran out. Returns NULL if out of
 * memory. */
static struct shadow_memory *clone_memories(const struct session *d)
{
    struct shadow_memory *memory = calloc(d->host_cnt + 1, sizeof(*memory));

    for (size_t i = 0; memory && i < d->host_cnt; i++)
        if (!d->host[i].failed && clone_memory(&memory[i], &d->host[i].memory) != 0) {
            shadow_free(&memory[i]);
            memory[i] = (struct shadow_memory){0};
        }
    return memory;
}

static void free_memories(struct shadow_memory *memory, size_t cnt)
{
    for (size_t i = 0; memory && i < cnt; i++)
        if (memory[i].keys.key_len)
            shadow_free(&memory[i]);
    free(memory);
}

static int hash_pages(struct rc_loop_result *conn, const struct shadow_memory *memory)
{
    for (uint32_t i = 0; i < memory->keys.cnt; i++) {
        const struct shadow_region *region = &memory->region[i];

        for (uint64_t off = shadow_touched_from(region, 0); off < region->span;
             off = shadow_touched_from(region, off + MEMORY_PAGE)) {
            uint64_t len = region->span - off < MEMORY_PAGE ? region->span - off : MEMORY_PAGE;

            if (!VEC_GROW(conn->page, conn->page_cnt, conn->page_cap))
                return -1;
            conn->page[conn->page_cnt++] = payload_hash(region->image + off, len);
        }
    }
    return 0;
}

/* ---- playing all connections -------------------------------------------------------------------
 */

static int skip_conn(struct rc_loop_result *conn, const char *why)
{
    conn->verdict = VERDICT_SKIPPED;
    snprintf(conn->reason, sizeof(conn->reason), "%s", why);
    return 0;
}

static int play_conn(struct rc_loop_result *conn, const struct closed_loop_sides *ends,
                     uint32_t number, struct shadow_memory *memory, struct impair *impair,
                     struct sim_pcap *pcap)
{
    const struct rc_direction *dir = conn->run;
    const char *why = NULL;

    conn->verdict = VERDICT_PASS;
    if (dir->setup.skip || dir->failed)
        return skip_conn(conn, dir->setup.skip ? dir->setup.skip : dir->failed);
    if (infer_work_requests(&conn->works, &dir->setup) != 0)
        return -1;
    if (conn->works.skip)
        return skip_conn(conn, conn->works.skip);
    if (memory->keys.key_len == 0)
        return skip_conn(conn, "no memory for a copy of the regions");
    sim_pcap_next_conn(pcap);
    if (rc_loop_play(conn, ends, number, memory, impair, pcap, &why) != 0)
        return -1;
    return why ? skip_conn(conn, why) : hash_pages(conn, memory);
}

static int play_cm_exchanges(struct closed_loop *closed, const struct cm_exchanges *xs,
                             struct impair *impair, struct sim_pcap *pcap)
{
    int rc = 0;

    closed->cm = calloc(xs->cnt + 1, sizeof(*closed->cm));
    if (!closed->cm)
        return -1;
    while (rc == 0 && closed->cm_cnt < xs->cnt) {
        uint32_t idx = (uint32_t)closed->cm_cnt++;

        rc = cm_loop_play(&closed->cm[idx], xs, idx, impair, pcap);
    }
    return rc;
}

int closed_loop_play(struct closed_loop *closed, const struct session *session,
                     const struct closed_loop_sides *ends, const struct impair_rules *edits,
                     uint64_t seed, struct sim_pcap *pcap, struct error *error)
{
    struct shadow_memory *memory = clone_memories(session);
    struct impair impair;
    int rc = memory ? 0 : -1;

    *closed = (struct closed_loop){.drive = session, .ends = ends, .seed = seed};
    impair_init(&impair, edits, seed);
    closed->conn = calloc(session->dir_cnt + 1, sizeof(*closed->conn));
    if (!closed->conn)
        rc = -1;
    while (rc == 0 && closed->cnt < session->dir_cnt) {
        struct rc_loop_result *conn = &closed->conn[closed->cnt++];

        conn->run = &session->dir[closed->cnt - 1];
        rc = play_conn(conn, ends, (uint32_t)closed->cnt, &memory[conn->run->host], &impair, pcap);
    }
    if (rc == 0 && ends->sides == REPLAY_BOTH && ends->exchanges)
        rc = play_cm_exchanges(closed, ends->exchanges, &impair, pcap);
    if (rc == 0 && ends->streams) {
        sim_pcap_next_conn(pcap);
        rc = dgram_loop_play(&closed->streams, ends->streams, ends->sides, &impair, pcap);
    }
    memcpy(closed->applied, impair.applied, sizeof(closed->applied));
    impair_free(&impair);
    free_memories(memory, session->host_cnt);
    return rc == 0 ? 0 : error_set(error, "%s: no memory", session->trace->name);
}

void closed_loop_free(struct closed_loop *closed)
{
    for (size_t i = 0; i < closed->cnt; i++) {
        struct rc_loop_result *conn = &closed->conn[i];

        work_requests_free(&conn->works);
        free(conn->sent.entry);
        free(conn->received.entry);
        free(conn->page);
    }
    free(closed->conn);
    free(closed->cm);
    dgram_loop_free(&closed->streams);
    memset(closed, 0, sizeof(*closed));
}

/* ---- comparing a play with the reference -------------------------------------------------------
 */

static void fail_conn(struct rc_loop_result *conn, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

static void fail_conn(struct rc_loop_result *conn, const char *fmt, ...)
{
    va_list args;

    conn->verdict = VERDICT_FAIL;
    va_start(args, fmt);
    vsnprintf(conn->reason, sizeof(conn->reason), fmt, args);
    va_end(args);
}

/* Sets the remote memory range that a work request accesses. Returns false if it accesses none. */
static bool remote_range(const struct work_requests *w, const struct work_request *wr,
                         uint32_t *rkey, uint64_t *va, uint64_t *len)
{
    struct roce_pkt pkt;

    trace_parse(event_packet(w->setup, wr->event), &pkt);
    if (roce_pkt_has(&pkt, ROCE_HDR_ATOMICETH)) {
        *rkey = pkt.atomiceth.rkey;
        *va = pkt.atomiceth.va;
        *len = 8;
    } else if (roce_pkt_has(&pkt, ROCE_HDR_RETH)) {
        *rkey = pkt.reth.rkey;
        *va = pkt.reth.va;
        *len = pkt.reth.dma_len;
    } else {
        return false;
    }
    return *len != 0;
}

/* Returns whether a work request after READ `idx` may change the bytes that the READ returns. If
 * the requester retransmits the READ, the responder reads the memory again (9.7.5.1.4) and then
 * returns the changed bytes. In the closed loop, different R_Keys never refer to the same
 * memory. */
static bool may_change(const struct work_requests *w, size_t idx)
{
    uint64_t va, len, other_va, other_len;
    uint32_t rkey, other_rkey;

    if (w->wr[idx].kind != ROCE_KIND_READ || !remote_range(w, &w->wr[idx], &rkey, &va, &len))
        return false;
    for (size_t i = idx + 1; i < w->cnt; i++)
        if (w->wr[i].kind != ROCE_KIND_READ && w->wr[i].kind != ROCE_KIND_FLUSH &&
            remote_range(w, &w->wr[i], &other_rkey, &other_va, &other_len) && other_rkey == rkey &&
            other_va < va + len && va < other_va + other_len)
            return true;
    return false;
}

/* Compares the requester's completions with the completions of the reference, which is the play
 * without impairments. If a completion differs, sets the verdict and returns false. If
 * conn->gave_up is set, compares only the completions before the request at which the requester
 * gave up. */
static bool check_sent(struct rc_loop_result *conn, const struct rc_loop_result *clean)
{
    for (size_t i = 0; i < conn->sent.cnt && i < clean->sent.cnt; i++) {
        const struct sim_completion *is = &conn->sent.entry[i], *was = &clean->sent.entry[i];

        if (conn->gave_up && is->status == RNIC_WC_RETRY_EXC_ERR)
            return true;
        if (is->work != was->work || is->status != was->status) {
            fail_conn(conn,
                      "the next completion is that of work request %u with %s; without "
                      "impairments, that of work request %u with %s",
                      is->work + 1, rnic_wc_status_name(is->status), was->work + 1,
                      rnic_wc_status_name(was->status));
            return false;
        }
        if (is->hash != was->hash && !may_change(&conn->works, is->work)) {
            fail_conn(conn,
                      "work request %u returns data that differs from the run without impairments",
                      is->work + 1);
            return false;
        }
    }
    if (conn->sent.cnt != clean->sent.cnt) {
        fail_conn(conn, "%zu work requests complete; without impairments, %zu complete",
                  conn->sent.cnt, clean->sent.cnt);
        return false;
    }
    return true;
}

static bool check_received(struct rc_loop_result *conn, const struct rc_loop_result *clean)
{
    size_t cnt = conn->received.cnt;

    if (conn->gave_up ? cnt > clean->received.cnt : cnt != clean->received.cnt) {
        fail_conn(conn, "%zu receives complete; without impairments, %zu complete", cnt,
                  clean->received.cnt);
        return false;
    }
    for (size_t i = 0; i < cnt; i++) {
        const struct sim_completion *is = &conn->received.entry[i],
                                    *was = &clean->received.entry[i];

        if (is->status != was->status || is->len != was->len || is->hash != was->hash) {
            fail_conn(conn,
                      "receive %zu completes with %u bytes and %s; without impairments, with %u "
                      "bytes and %s%s",
                      i + 1, is->len, rnic_wc_status_name(is->status), was->len,
                      rnic_wc_status_name(was->status),
                      is->hash != was->hash ? ", other data" : "");
            return false;
        }
    }
    return true;
}

static void check_conn(struct rc_loop_result *conn, const struct rc_loop_result *clean,
                       bool recorded, bool *bent)
{
    if (conn->verdict == VERDICT_SKIPPED)
        return;
    if (conn->errors) {
        conn->verdict = VERDICT_FAIL; /* the reason is already set */
        return;
    }
    if (conn->stuck) {
        fail_conn(conn, "the connection makes no progress: %zu of %zu work requests completed",
                  conn->sent.cnt, conn->works.cnt);
        return;
    }
    /* A forged packet may have changed memory that later connections use. So no further data is
     * compared. */
    *bent |= conn->forged != 0;
    *bent |= recorded && conn->moved;
    if (*bent || !check_sent(conn, clean) || !check_received(conn, clean))
        return;
    *bent |= conn->gave_up;
    if (!*bent && (conn->page_cnt != clean->page_cnt ||
                   (conn->page_cnt &&
                    memcmp(conn->page, clean->page, conn->page_cnt * sizeof(*conn->page)) != 0)))
        fail_conn(
            conn,
            "the final data in the responder's memory differs from the run without impairments");
}

void closed_loop_compare(struct closed_loop *closed, const struct closed_loop *clean)
{
    bool bent = false;

    for (size_t i = 0; i < closed->cnt; i++)
        check_conn(&closed->conn[i], &clean->conn[i], closed->ends->sides != REPLAY_BOTH, &bent);
    for (size_t i = 0; i < closed->cm_cnt; i++)
        cm_loop_compare(&closed->cm[i], &clean->cm[i]);
}

/* Adds a verdict to a total verdict: FAIL outweighs PASS, and PASS outweighs SKIPPED. */
static void add_verdict(enum verdict *sum, enum verdict verdict)
{
    if (verdict == VERDICT_FAIL || (verdict == VERDICT_PASS && *sum == VERDICT_SKIPPED))
        *sum = verdict;
}

enum verdict closed_loop_verdict(const struct closed_loop *closed)
{
    enum verdict verdict = VERDICT_SKIPPED;

    for (size_t i = 0; i < closed->cnt; i++)
        add_verdict(&verdict, closed->conn[i].verdict);
    for (size_t i = 0; i < closed->cm_cnt; i++)
        add_verdict(&verdict, closed->cm[i].verdict);
    for (size_t i = 0; i < closed->streams.streams.cnt; i++)
        add_verdict(&verdict, closed->streams.streams.stream[i].verdict);
    return verdict;
}
