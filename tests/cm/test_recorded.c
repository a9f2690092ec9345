/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Replays recorded conversations of the Linux CM (traces/captures), with our CM in the place of one
 * side and then of the other. The test calls our CM as the recorded program called the Linux CM.
 * Our CM must then send messages with the recorded content, also if messages were lost.
 * Communication ids and transaction ids may differ.
 */
#include <pcap/pcap.h>
#include <string.h>
#include "cm/conn.h"
#include "support/suite.h"
#include "wire/pkt.h"

#define FRAMES_MAX 64

struct said {
    struct roce_cm_msg msg;
    uint8_t src[16], dst[16];
    rnic_time time;
};

static struct said said[FRAMES_MAX];
static unsigned said_cnt;

static void gid_of(const struct roce_pkt *pkt, const uint8_t *ip, uint8_t gid[16])
{
    memset(gid, 0, 16);
    if (pkt->encap == ROCE_ENCAP_V2_IP4) {
        gid[10] = gid[11] = 0xFF;
        memcpy(gid + 12, ip, 4);
    } else {
        memcpy(gid, ip, 16);
    }
}

static void read_capture(const char *name)
{
    char path[512], error[PCAP_ERRBUF_SIZE];
    struct pcap_pkthdr *head;
    const u_char *bytes;
    pcap_t *in;

    snprintf(path, sizeof(path), "%s/captures/%s.pcap", TRACES, name);
    in = pcap_open_offline(path, error);
    CU_ASSERT_PTR_NOT_NULL_FATAL(in);
    said_cnt = 0;
    while (pcap_next_ex(in, &head, &bytes) == 1 && said_cnt < FRAMES_MAX) {
        struct said *one = &said[said_cnt];
        struct roce_pkt pkt;

        if (roce_pkt_parse(&pkt, ROCE_LINK_ETHERNET, bytes, head->caplen, head->len) != 0 ||
            roce_cm_msg_of_pkt(&one->msg, &pkt) != 0)
            continue;
        if (pkt.encap == ROCE_ENCAP_V2_IP4) {
            gid_of(&pkt, pkt.ip4.src, one->src);
            gid_of(&pkt, pkt.ip4.dst, one->dst);
        } else {
            gid_of(&pkt, pkt.ip6.src, one->src);
            gid_of(&pkt, pkt.ip6.dst, one->dst);
        }
        one->time = (rnic_time)head->ts.tv_sec * 1000000000u + (rnic_time)head->ts.tv_usec * 1000u;
        said_cnt++;
    }
    pcap_close(in);
    CU_ASSERT_FATAL(said_cnt > 0);
}

/* Sets *local to the communication id of the sender of a message, and *remote to the communication
 * id of its peer; NULL if the message does not contain the id. */
static void ids_of(struct roce_cm_msg *msg, uint32_t **local, uint32_t **remote)
{
    *local = *remote = NULL;
    switch (msg->kind) {
    case ROCE_CM_REQ: *local = &msg->req.local_comm_id; break;
    case ROCE_CM_SIDR_REQ: *local = &msg->sidr_req.request_id; break;
    case ROCE_CM_SIDR_REP: *remote = &msg->sidr_rep.request_id; break;
#define BOTH(KIND, member)                                                                         \
    case KIND:                                                                                     \
        *local = &msg->member.local_comm_id;                                                       \
        *remote = &msg->member.remote_comm_id;                                                     \
        break;
        BOTH(ROCE_CM_MRA, mra)
        BOTH(ROCE_CM_REJ, rej)
        BOTH(ROCE_CM_REP, rep)
        BOTH(ROCE_CM_RTU, rtu)
        BOTH(ROCE_CM_DREQ, dreq)
        BOTH(ROCE_CM_DREP, drep)
    default: break;
    }
}

/* Writes the MAD of a message with communication ids and transaction id set to 0, so that the rest
 * can be compared. */
static void content(const struct roce_cm_msg *msg, uint8_t mad[ROCE_MAD_SIZE])
{
    struct roce_cm_msg copy = *msg;
    uint32_t *local, *remote;

    ids_of(&copy, &local, &remote);
    if (local)
        *local = 0;
    if (remote)
        *remote = 0;
    copy.mad.tid = 0;
    roce_cm_msg_build(&copy, mad, ROCE_MAD_SIZE);
}

struct replay {
    const char *name;
    struct rnic_cm *cm;
    struct rnic_cm_id *id;
    uint32_t theirs; /* communication id that the recording has for the side that our CM replaces */
    struct rnic_cm_addr addr;
    rnic_time now;
};

/* Makes the call with which a program causes the CM to send the message `msg`. */
static void act(struct replay *r, const struct roce_cm_msg *msg)
{
    switch (msg->kind) {
    case ROCE_CM_REQ:
        r->id = rnic_cm_id_new(r->cm, NULL);
        EXPECT_EQ(rnic_cm_connect(r->id, &msg->req, &r->addr, r->now), RNIC_OK);
        break;
    case ROCE_CM_SIDR_REQ:
        r->id = rnic_cm_id_new(r->cm, NULL);
        EXPECT_EQ(rnic_cm_sidr_request(r->id, &msg->sidr_req, 20, 15, &r->addr, r->now), RNIC_OK);
        break;
    case ROCE_CM_REP: rnic_cm_accept(r->id, &msg->rep, r->now); break;
    case ROCE_CM_RTU: rnic_cm_establish(r->id, NULL, 0, r->now); break;
    case ROCE_CM_REJ:
        if (r->id)
            rnic_cm_reject(r->id, msg->rej.reason, msg->rej.private_data,
                           sizeof(msg->rej.private_data), r->now);
        break;
    case ROCE_CM_DREQ:
    case ROCE_CM_DREP: rnic_cm_disconnect(r->id, NULL, 0, r->now); break;
    case ROCE_CM_SIDR_REP: rnic_cm_sidr_reply(r->id, &msg->sidr_rep, r->now); break;
    default: break;
    }
}

/* Fetches the next MAD that our CM sends. If there is none, advances the time to the next timers
 * until there is one. Returns true, or false if the CM sends none. */
static bool say(struct replay *r, struct roce_cm_msg *msg)
{
    uint8_t mad[ROCE_MAD_SIZE];
    struct rnic_cm_addr addr;

    for (unsigned tries = 0; tries < 3; tries++) {
        if (rnic_cm_output(r->cm, mad, &addr))
            return roce_cm_msg_parse(msg, mad, sizeof(mad), sizeof(mad)) == 0;
        if (rnic_cm_deadline(r->cm) == RNIC_NEVER)
            return false;
        r->now = rnic_cm_deadline(r->cm);
        rnic_cm_expire(r->cm, r->now);
    }
    return false;
}

/* Returns whether the recorded message is a retransmission of an earlier one. */
static bool again(unsigned frame)
{
    for (unsigned i = 0; i < frame; i++)
        if (said[i].msg.kind == said[frame].msg.kind &&
            said[i].msg.mad.tid == said[frame].msg.mad.tid &&
            memcmp(said[i].src, said[frame].src, 16) == 0)
            return true;
    return false;
}

/* Returns whether the recorded message was lost on its way to the peer. If so, the next recorded
 * message is a retransmission: of this message, or of the message that this message answers. */
static bool was_lost(unsigned frame)
{
    return !again(frame) && frame + 1 < said_cnt && again(frame + 1);
}

static void ours(struct replay *r, unsigned frame)
{
    const struct said *one = &said[frame];
    uint8_t want[ROCE_MAD_SIZE], have[ROCE_MAD_SIZE];
    struct roce_cm_msg mine, copy = one->msg;
    uint32_t *local, *remote;

    ids_of(&copy, &local, &remote);
    if (local && *local)
        r->theirs = *local;
    if (!again(frame))
        act(r, &one->msg);
    if (!say(r, &mine)) {
        suite_fail(__FILE__, __LINE__, "%s, message %u: our CM does not send the %s", r->name,
                   frame + 1, roce_cm_name(one->msg.kind));
        return;
    }
    content(&one->msg, want);
    content(&mine, have);
    if (memcmp(want, have, sizeof(want)) != 0)
        suite_fail(__FILE__, __LINE__,
                   "%s, message %u: the bytes of the %s differ (our CM sent a %s)", r->name,
                   frame + 1, roce_cm_name(one->msg.kind), roce_cm_name(mine.kind));
}

static void theirs(struct replay *r, unsigned frame)
{
    struct roce_cm_msg msg = said[frame].msg;
    uint8_t mad[ROCE_MAD_SIZE];
    uint32_t *local, *remote;
    struct rnic_cm_event event;

    ids_of(&msg, &local, &remote);
    if (remote && r->id && (*remote == r->theirs || *remote != 0))
        *remote = rnic_cm_id_local(r->id);
    roce_cm_msg_build(&msg, mad, sizeof(mad));
    CU_ASSERT(rnic_cm_input(r->cm, mad, sizeof(mad), &r->addr, r->now));
    while (rnic_cm_event(r->cm, &event))
        if (event.type == RNIC_CM_REQUEST || event.type == RNIC_CM_SIDR_REQUEST)
            r->id = event.id;
}

static void replay(const char *name, bool active, bool listens)
{
    struct replay r = {.name = name};
    const uint8_t *me = active ? said[0].src : said[0].dst;

    memcpy(r.addr.local, me, 16);
    memcpy(r.addr.remote, active ? said[0].dst : said[0].src, 16);
    r.cm = rnic_cm_new(&(struct rnic_cm_attr){.ca_guid = 1, .seed = {42, 43}});
    r.now = said[0].time;
    if (!active && listens)
        rnic_cm_listen(rnic_cm_id_new(r.cm, NULL),
                       said[0].msg.kind == ROCE_CM_REQ ? said[0].msg.req.service_id
                                                       : said[0].msg.sidr_req.service_id,
                       NULL);
    for (unsigned i = 0; i < said_cnt; i++) {
        if (said[i].time > r.now)
            r.now = said[i].time;
        if (memcmp(said[i].src, me, 16) == 0)
            ours(&r, i);
        else if (!was_lost(i))
            theirs(&r, i);
    }
    rnic_cm_del(r.cm);
}

static void both_sides(const char *name, bool listens)
{
    read_capture(name);
    replay(name, true, listens);
    replay(name, false, listens);
}

static void recorded_exchange_is_repeated(void)
{
    both_sides("cm-connect-disconnect", true);
    both_sides("ipv6-cm", true);
    both_sides("rping", true);
    both_sides("udaddy", true);
}

static void recorded_rejection_is_repeated(void)
{
    both_sides("cm-reject", true);
    both_sides("cm-reject-no-listener", false);
}

static void recorded_loss_is_survived(void)
{
    both_sides("cm-lost-req", true);
    both_sides("cm-lost-rep", true);
    both_sides("cm-lost-rtu", true);
    both_sides("cm-lost-dreq", true);
}

SUITE("cm.recorded", TEST(recorded_exchange_is_repeated), TEST(recorded_rejection_is_repeated),
      TEST(recorded_loss_is_survived))
