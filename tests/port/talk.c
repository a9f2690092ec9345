/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "talk.h"

#include <errno.h>
#include <glob.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "pcapng/pcapng_join.h"
#include "port/net/route.h"
#include "wire/gid.h"

/* timeout of the conversation, ns: long enough that only a stall fails the test */
#define PATIENCE_NS 60000000000u
#define NOTE        64u /* length of a SEND, bytes */
#define NOTES       32u /* number of receive requests, each with a separate buffer */

/* The message in which a side describes its QP to its peer. */
struct hello {
    uint32_t qpn;
    uint32_t psn;
    uint8_t gid[16];
    uint64_t addr;
    uint32_t rkey;
};

struct side {
    const struct talk *talk;
    struct rnic_live *live;
    struct rnic_pd *pd;
    struct rnic_cq *cq;
    struct rnic_qp *qp;
    struct rnic_mr *mr;
    uint32_t qpn;
    int gid_idx;
    struct hello peer;
    uint8_t *mem; /* memory of this side: SEND data, a counter, received data, WRITE data, and READ
                   * data */
    size_t len;
};

static bool fail(const struct side *side, const char *what, int error)
{
    fprintf(stderr, "%s on %s: %s: %d\n", side->talk->client ? "client" : "server",
            side->talk->iface, what, error);
    return false;
}

static uint8_t *at_counter(const struct side *side)
{
    return side->mem + NOTE;
}

static uint8_t *at_note(const struct side *side, uint64_t place)
{
    return side->mem + (2 + place) * NOTE;
}

static uint8_t *at_data(const struct side *side)
{
    return at_note(side, NOTES);
}

static uint8_t *at_back(const struct side *side)
{
    return at_data(side) + side->talk->size;
}

static void fill(uint8_t *buf, uint32_t len, unsigned round)
{
    uint32_t x = 12345 + round;

    for (uint32_t i = 0; i < len; i++) {
        x = x * 1664525 + 1013904223;
        buf[i] = (uint8_t)(x >> 24);
    }
}

/* ---- setting up ------------------------------------------------------------------------------ */

static int find_gid(const struct side *side)
{
    const char *want = side->talk->gid ? side->talk->gid : "v4";
    struct rnic_iface iface;

    if (side->talk->own_gid)
        return 0;
    rnic_live_iface(side->live, &iface);
    for (unsigned i = 0; i < iface.gid_cnt && i < RNIC_GID_MAX; i++) {
        const struct rnic_gid *gid = &iface.gid[i];
        bool v1 = gid->type == RNIC_GID_ROCE_V1;
        bool ip4 = roce_gid_is_ip4(gid->gid);

        if (strcmp(want, "v1") == 0 ? v1 : !v1 && ip4 == (strcmp(want, "v4") == 0))
            return (int)i;
    }
    return -1;
}

static bool create(struct side *side)
{
    struct rnic_qp_init init = {.type = RNIC_QPT_RC,
                                .max_recv_wr = 64,
                                .max_recv_sge = 1,
                                .max_send_wr = 64,
                                .max_send_sge = 1};
    struct rnic_mr_attr mr = {.access = RNIC_ACCESS_ALL};
    struct rnic *rnic;
    int error;

    side->len = (2 + NOTES) * NOTE + 2 * (size_t)side->talk->size;
    side->mem = calloc(1, side->len);
    if (!side->mem)
        return fail(side, "memory", 0);
    mr.addr = side->mem;
    mr.len = side->len;
    mr.iova = (uintptr_t)side->mem;
    rnic = rnic_live_lock(side->live);
    error = rnic_pd_new(rnic, &side->pd);
    if (!error)
        error = rnic_cq_new(rnic, 256, &side->cq);
    if (!error)
        error = rnic_mr_reg(side->pd, &mr, &side->mr);
    init.recv_cq = init.send_cq = side->cq;
    side->qpn = init.qpn = rnic_live_qpn_get(side->live);
    if (!error)
        error = rnic_qp_new(side->pd, &init, &side->qp);
    rnic_live_unlock(side->live);
    return error ? fail(side, "objects", error) : true;
}

static bool swap_hello(struct side *side)
{
    struct hello hello = {.qpn = side->qpn,
                          .psn = side->qpn * 7 & 0xffffff,
                          .addr = (uintptr_t)side->mem,
                          .rkey = rnic_mr_key(side->mr)};
    struct rnic_iface iface;

    rnic_live_iface(side->live, &iface);
    memcpy(hello.gid, side->talk->own_gid ? side->talk->own_gid->gid : iface.gid[side->gid_idx].gid,
           16);
    if (write(side->talk->fd, &hello, sizeof(hello)) != sizeof(hello) ||
        read(side->talk->fd, &side->peer, sizeof(side->peer)) != sizeof(side->peer))
        return fail(side, "the other side is gone", errno);
    return true;
}

static bool connect_qp(struct side *side)
{
    struct rnic_qp_attr attr = {.pkey = 0xffff,
                                .access = RNIC_ACCESS_ALL,
                                .dest_qpn = side->peer.qpn,
                                .rq_psn = side->peer.psn,
                                .sq_psn = side->qpn * 7 & 0xffffff,
                                .max_dest_rd_atomic = 16,
                                .max_rd_atomic = 16,
                                .min_rnr_timer = 1,
                                .timeout =
                                    14, /* 67 ms, because a peer may have to wait for a CPU */
                                .retry_cnt = 7,
                                .rnr_retry = 7};
    struct rnic_path path;
    int error = rnic_live_resolve(side->live, side->peer.gid, side->gid_idx, 5000000000u, &path);

    if (error)
        return fail(side, "path", error);
    memcpy(attr.av.dmac, path.dmac, 6);
    memcpy(attr.av.dgid, side->peer.gid, 16);
    attr.av.sgid_idx = path.sgid_idx;
    attr.av.hop_limit = path.hop_limit;
    attr.av.tclass = 2; /* traffic class 2: ECN field ECT(0) */
    attr.av.tagged = side->talk->vlan != 0;
    attr.av.vlan = side->talk->vlan;
    attr.path_mtu = side->talk->path_mtu ? side->talk->path_mtu : path.path_mtu;
    rnic_live_lock(side->live);
    for (int state = RNIC_QPS_INIT; state <= RNIC_QPS_RTS && !error; state++) {
        attr.state = (enum rnic_qp_state)state;
        error = rnic_qp_modify(side->qp, &attr, rnic_live_now());
    }
    rnic_live_unlock(side->live);
    return error ? fail(side, "connecting", error) : true;
}

/* ---- a conversation of two devices ----------------------------------------------------------- */

/* Waits for the next completion. Returns false if it has an error or does not arrive in time. */
static bool next_wc(struct side *side, struct rnic_wc *wc)
{
    static const struct timespec nap = {.tv_nsec = 50000};
    uint64_t end = rnic_live_now() + PATIENCE_NS;

    while (rnic_live_now() < end) {
        size_t cnt;

        rnic_live_lock(side->live);
        cnt = rnic_cq_poll(side->cq, wc, 1);
        rnic_live_unlock(side->live);
        if (cnt)
            return wc->status == RNIC_WC_SUCCESS ? true
                                                 : fail(side, "completion status", wc->status);
        if (side->talk->polls)
            rnic_live_poll(side->live);
        else
            nanosleep(&nap, NULL);
    }
    return fail(side, "no completion in time", 0);
}

static bool post_recv(struct side *side, uint64_t place)
{
    struct rnic_sge sge = {
        .addr = (uintptr_t)at_note(side, place), .len = NOTE, .lkey = rnic_mr_key(side->mr)};
    struct rnic_recv_wr wr = {.wr_id = place, .sge = &sge, .sge_cnt = 1};
    int error;

    rnic_live_lock(side->live);
    error = rnic_post_recv(side->qp, &wr);
    rnic_live_unlock(side->live);
    return error ? fail(side, "receive request", error) : true;
}

static bool request(struct side *side, enum rnic_wr_opcode opcode, const uint8_t *at, uint32_t len,
                    const uint8_t *remote)
{
    struct rnic_sge sge = {.addr = (uintptr_t)at, .len = len, .lkey = rnic_mr_key(side->mr)};
    struct rnic_send_wr wr = {.opcode = opcode,
                              .flags = RNIC_SEND_SIGNALED,
                              .sge = &sge,
                              .sge_cnt = 1,
                              .remote_addr = side->peer.addr + (uint64_t)(remote - side->mem),
                              .rkey = side->peer.rkey,
                              .compare_add = 1};
    struct rnic_wc wc;
    int error;

    rnic_live_lock(side->live);
    error = rnic_post_send(side->qp, &wr);
    rnic_live_unlock(side->live);
    if (error)
        return fail(side, "send request", error);
    return next_wc(side, &wc);
}

static bool ask(struct side *side)
{
    for (unsigned round = 0; round < side->talk->rounds; round++) {
        uint64_t old;

        fill(at_data(side), side->talk->size, round);
        memset(at_back(side), 0, side->talk->size);
        /* Dissectors guess the protocol of a SEND by its first bytes. No protocol begins with these
         * bytes. */
        memset(side->mem, 0xff, NOTE);
        memcpy(side->mem + NOTE - sizeof(round), &round, sizeof(round));
        if (!request(side, RNIC_WR_WRITE, at_data(side), side->talk->size, at_data(side)) ||
            !request(side, RNIC_WR_READ, at_back(side), side->talk->size, at_data(side)) ||
            !request(side, RNIC_WR_FETCH_ADD, at_counter(side), 8, at_counter(side)) ||
            !request(side, RNIC_WR_SEND, side->mem, NOTE, side->mem))
            return false;
        memcpy(&old, at_counter(side), sizeof(old));
        if (old != round)
            return fail(side, "the counter", (int)old);
        if (memcmp(at_data(side), at_back(side), side->talk->size) != 0)
            return fail(side, "the READ data differs from the WRITE data in round", (int)round);
    }
    return true;
}

static bool answer(struct side *side)
{
    uint8_t *want = malloc(side->talk->size);
    bool fine = want != NULL;

    for (unsigned round = 0; round < side->talk->rounds && fine; round++) {
        struct rnic_wc wc;
        unsigned said;

        fine = next_wc(side, &wc);
        if (!fine)
            break;
        memcpy(&said, at_note(side, wc.wr_id) + NOTE - sizeof(said), sizeof(said));
        fine = post_recv(side, wc.wr_id);
        if (said != round)
            fine = fail(side, "the SEND belongs to round", (int)said);
    }
    if (fine) { /* check the data of the last round only, because each WRITE overwrites the previous
                 * data */
        fill(want, side->talk->size, side->talk->rounds - 1);
        if (memcmp(want, at_data(side), side->talk->size) != 0)
            fine = fail(side, "the memory differs from the data of the last WRITE", 0);
    }
    free(want);
    return fine;
}

static bool play(struct side *side)
{
    char byte = 'x';

    side->gid_idx = find_gid(side);
    if (side->gid_idx < 0)
        return fail(side, "no such GID", 0);
    if (!create(side) || !swap_hello(side) || !connect_qp(side))
        return false;
    for (unsigned i = 0; i < NOTES && !side->talk->client; i++)
        if (!post_recv(side, i))
            return false;
    /* Each side waits until both sides are ready. At the end, each side waits until both have
     * finished, because the last ACK may be lost. */
    if (write(side->talk->fd, &byte, 1) != 1 || read(side->talk->fd, &byte, 1) != 1)
        return fail(side, "the other side is gone", errno);
    if (!(side->talk->client ? ask(side) : answer(side)))
        return false;
    if (write(side->talk->fd, &byte, 1) != 1 || read(side->talk->fd, &byte, 1) != 1)
        return fail(side, "the other side is gone", errno);
    return true;
}

bool talk_play(const struct talk *talk)
{
    struct rnic_live_attr attr = {.iface = talk->iface,
                                  .impair = talk->impair,
                                  .seed = talk->seed,
                                  .record = talk->record,
                                  .record_shared = talk->shared,
                                  .ring = 4u << 20,
                                  .gid = talk->own_gid,
                                  .gid_cnt = talk->own_gid ? 1 : 0};
    struct side side = {.talk = talk};
    struct error why;
    bool fine;

    if (rnic_live_open(&attr, &side.live, &why) != 0) {
        fprintf(stderr, "%s\n", why.text);
        return false;
    }
    fine = play(&side);
    if (fine && talk->at_end)
        talk->at_end(side.live);
    rnic_live_close(side.live);
    free(side.mem);
    return fine;
}

bool talk_join_recordings(const char *folder, const char *path)
{
    char pattern[PATH_MAX];
    FILE *out = fopen(path, "we");
    struct error why;
    glob_t found;
    bool ok;

    snprintf(pattern, sizeof(pattern), "%s/*.pcapng", folder);
    if (!out || glob(pattern, 0, NULL, &found) != 0)
        return false;
    ok = pcapng_join(out, found.gl_pathv, (unsigned)found.gl_pathc, NULL, &why) == 0;
    ok &= fclose(out) == 0;
    for (size_t i = 0; i < found.gl_pathc; i++)
        unlink(found.gl_pathv[i]);
    globfree(&found);
    return rmdir(folder) == 0 && ok;
}
