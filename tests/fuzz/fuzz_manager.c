/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Fuzz target: two communication managers (rnic/cm) whose programs make mistakes. The input
 * controls the programs and the network. The programs make any call on any id in any state. The
 * network delivers, drops, duplicates and alters MADs, and delivers arbitrary bytes. Time advances.
 *
 * Invariants (R229, R233, R246, R250): each event is for an id of the program, or reports a
 * new id; no id is reported as new twice. State values are valid. After a timer fired, it is no
 * longer due. The number of MADs that a manager sends after one MAD or one timer is bounded. After
 * the programs have deleted all their ids and all timers have expired, no manager retransmits.
 */
#include <string.h>
#include "cm/cm.h"
#include "cm/conn.h"
#include "fuzz.h"
#include "script.h"

#define IDS    24u
#define FLIGHT 24u
#define SID    (UINT64_C(0x0000000001060000) | 7000u)
/* Maximum number of timer expiries at the end: 16 transmissions of each message, for all ids. */
#define REST 4000u

struct side {
    struct rnic_cm *cm;
    struct rnic_cm_id *id[IDS]; /* ids of the program; NULL: unused element */
};

struct flight {
    unsigned to;
    uint8_t mad[ROCE_MAD_SIZE];
    size_t len;
};

static struct fuzz {
    struct side side[2];
    struct flight flight[FLIGHT];
    unsigned flight_cnt;
    rnic_time now;
} fuzz;

static struct rnic_cm_addr addr_of(unsigned s)
{
    struct rnic_cm_addr addr = {{[10] = 0xFF, 0xFF, 192, 0, 2, 0},
                                {[10] = 0xFF, 0xFF, 192, 0, 2, 0}};

    addr.local[15] = (uint8_t)(1 + s);
    addr.remote[15] = (uint8_t)(2 - s);
    return addr;
}

/* Returns the index of `id` in side->id, or IDS if it is not in side->id. */
static unsigned place_of(const struct side *side, const struct rnic_cm_id *id)
{
    unsigned i = 0;

    while (i < IDS && side->id[i] != id)
        i++;
    return i;
}

/* ---- output of a manager --------------------------------------------------------------------- */

static void take_events(unsigned s)
{
    struct side *side = &fuzz.side[s];
    struct rnic_cm_event event;

    while (rnic_cm_event(side->cm, &event)) {
        unsigned i;

        FUZZ_CHECK(event.id != NULL && event.msg.kind <= ROCE_CM_MSG_CNT);
        FUZZ_CHECK((unsigned)rnic_cm_id_state(event.id) <= RNIC_CM_SIDR_DONE);
        i = place_of(side, event.id);
        if (!event.listener) {
            FUZZ_CHECK(i < IDS);
            continue;
        }
        FUZZ_CHECK(event.type == RNIC_CM_REQUEST || event.type == RNIC_CM_SIDR_REQUEST);
        FUZZ_CHECK(place_of(side, event.listener) < IDS && i == IDS);
        i = place_of(side, NULL);
        if (i < IDS)
            side->id[i] = event.id;
        else
            rnic_cm_id_del(event.id, fuzz.now);
    }
}

static void take(unsigned s)
{
    struct rnic_cm_addr addr;
    uint8_t mad[ROCE_MAD_SIZE];
    unsigned cnt = 0;

    while (rnic_cm_output(fuzz.side[s].cm, mad, &addr)) {
        struct roce_cm_msg msg;

        FUZZ_CHECK(++cnt <= 64);
        FUZZ_CHECK(roce_cm_msg_parse(&msg, mad, sizeof(mad), sizeof(mad)) == 0);
        if (fuzz.flight_cnt == FLIGHT)
            continue;
        fuzz.flight[fuzz.flight_cnt].to = !s;
        fuzz.flight[fuzz.flight_cnt].len = sizeof(mad);
        memcpy(fuzz.flight[fuzz.flight_cnt++].mad, mad, sizeof(mad));
    }
}

static void settle(unsigned s)
{
    take_events(s);
    take(s);
}

/* ---- input of a manager ---------------------------------------------------------------------- */

static void deliver(unsigned i, bool keep)
{
    struct rnic_cm_addr addr;
    struct flight f;

    if (i >= fuzz.flight_cnt)
        return;
    f = fuzz.flight[i];
    if (!keep)
        memmove(&fuzz.flight[i], &fuzz.flight[i + 1],
                (--fuzz.flight_cnt - i) * sizeof(fuzz.flight[0]));
    addr = addr_of(f.to);
    rnic_cm_input(fuzz.side[f.to].cm, f.mad, f.len, &addr, fuzz.now);
    settle(f.to);
}

static void alter(struct flight *f, struct script *script)
{
    uint8_t cnt = 1 + u8(script) % 4;

    while (cnt--) {
        uint8_t at = u8(script);

        f->mad[at] = u8(script);
    }
    if (u8(script) == 255)
        f->len = u8(script);
}

/* Builds a CM message of any kind, with the communication IDs of an existing id or with others, and
 * delivers it to a manager. */
static void forge(unsigned s, struct script *script)
{
    struct side *side = &fuzz.side[s];
    struct rnic_cm_addr addr = addr_of(s);
    struct roce_cm_msg msg;
    uint8_t mad[ROCE_MAD_SIZE];
    uint8_t kind = u8(script), which = u8(script);
    const struct rnic_cm_id *id = side->id[which % IDS];

    roce_cm_msg_init(&msg, (enum roce_cm)(kind % ROCE_CM_MSG_CNT), which >> 5);
    FUZZ_CHECK(roce_cm_msg_build(&msg, mad, sizeof(mad)) == ROCE_MAD_SIZE);
    if (id) { /* nearly all messages begin with the two communication IDs */
        roce_bits_put(mad, 24, 0, 32, rnic_cm_id_remote(id));
        roce_bits_put(mad, 28, 0, 32, rnic_cm_id_local(id));
    }
    for (unsigned n = u8(script) % 16; n; n--) {
        uint8_t at = u8(script);

        mad[at] = u8(script);
    }
    rnic_cm_input(side->cm, mad, sizeof(mad), &addr, fuzz.now);
    settle(s);
}

static struct roce_cm_req make_req(unsigned s, struct script *script)
{
    static const enum rnic_qp_type types[] = {RNIC_QPT_RC, RNIC_QPT_UC, RNIC_QPT_XRC_SEND};
    const struct rnic_cm_addr addr = addr_of(s);
    struct rnic_cm_param param = {.type = types[u8(script) % 3],
                                  .qpn = 0x10 + u8(script) % 4,
                                  .starting_psn = 7,
                                  .responder_resources = u8(script) % 17,
                                  .initiator_depth = u8(script) % 17,
                                  .retry_count = 7};
    struct rnic_cm_path path;
    struct rnic_cm_ip ip = {.space = ROCE_CM_PS_TCP, .sport = 1, .dport = 7000};
    struct roce_cm_req req;

    rnic_cm_path_defaults(&path);
    path.mtu = 3;
    path.max_cm_retries = u8(script) % 4;
    memcpy(ip.src, addr.local, 16);
    memcpy(ip.dst, addr.remote, 16);
    FUZZ_CHECK(rnic_cm_make_req(&req, &param, &path, &ip, &addr, 1 + s) == RNIC_OK);
    return req;
}

/* Calls a random function on a random id. */
static void call(unsigned s, struct script *script)
{
    static const uint8_t data[16] = {1, 2, 3};
    struct side *side = &fuzz.side[s];
    const struct rnic_cm_addr addr = addr_of(s);
    uint8_t what = u8(script), which = u8(script) % IDS;
    struct rnic_cm_id *id = side->id[which];
    struct roce_cm_req req;
    struct roce_cm_rep rep = {.local_qpn = 0x20u + which};
    struct roce_cm_sidr_req sidr_req = {.service_id = SID};
    struct roce_cm_sidr_rep sidr_rep = {.qpn = 0x30};

    if (!id) {
        side->id[which] = rnic_cm_id_new(side->cm, NULL);
        FUZZ_CHECK(side->id[which] != NULL);
        return;
    }
    switch (what % 12) {
    case 0: rnic_cm_listen(id, SID + (what >> 7), what & 64 ? addr.local : NULL); break;
    case 1:
    case 2:
        req = make_req(s, script);
        rnic_cm_connect(id, &req, &addr, fuzz.now);
        break;
    case 3:
    case 4: rnic_cm_accept(id, &rep, fuzz.now); break;
    case 5:
    case 6: rnic_cm_establish(id, data, what >> 4, fuzz.now); break;
    case 7: rnic_cm_reject(id, ROCE_CM_REJ_CONSUMER, data, what >> 4, fuzz.now); break;
    case 8: rnic_cm_disconnect(id, NULL, 0, fuzz.now); break;
    case 9: rnic_cm_comm_est(id, fuzz.now); break;
    case 10:
        rnic_cm_sidr_request(id, &sidr_req, 16, what >> 4, &addr, fuzz.now);
        rnic_cm_sidr_reply(id, &sidr_rep, fuzz.now);
        break;
    default:
        side->id[which] = NULL;
        rnic_cm_id_del(id, fuzz.now);
        break;
    }
    settle(s);
}

static void next_timer(unsigned s)
{
    struct side *side = &fuzz.side[s];
    rnic_time at = rnic_cm_deadline(side->cm);

    if (at == RNIC_NEVER)
        return;
    if (at > fuzz.now)
        fuzz.now = at;
    rnic_cm_expire(side->cm, fuzz.now);
    settle(s);
    FUZZ_CHECK(rnic_cm_deadline(side->cm) > fuzz.now);
}

/* Deletes all ids of the programs and lets all timers expire. Checks that then no manager has a
 * timer or an event left. */
static void come_to_rest(void)
{
    unsigned fired = 0;

    for (unsigned s = 0; s < 2; s++) {
        for (unsigned i = 0; i < IDS; i++) {
            rnic_cm_id_del(fuzz.side[s].id[i], fuzz.now);
            fuzz.side[s].id[i] = NULL;
        }
        take(s);
    }
    for (unsigned s = 0; s < 2; s++) {
        struct rnic_cm_event event;

        while (rnic_cm_deadline(fuzz.side[s].cm) != RNIC_NEVER) {
            FUZZ_CHECK(++fired < REST);
            fuzz.flight_cnt = 0;
            next_timer(s);
        }
        FUZZ_CHECK(!rnic_cm_event(fuzz.side[s].cm, &event));
        FUZZ_CHECK(rnic_cm_disconnecting(fuzz.side[s].cm) == 0);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct script script = {data, size};

    memset(&fuzz, 0, sizeof(fuzz));
    for (unsigned s = 0; s < 2; s++) {
        const struct rnic_cm_attr attr = {.ca_guid = 1 + s, .seed = {s, 7}};

        fuzz.side[s].cm = rnic_cm_new(&attr);
        fuzz.side[s].id[0] = rnic_cm_id_new(fuzz.side[s].cm, NULL);
        FUZZ_CHECK(fuzz.side[s].id[0] && rnic_cm_listen(fuzz.side[s].id[0], SID, NULL) == RNIC_OK);
    }
    while (script.left) {
        uint8_t op = u8(&script);
        unsigned s = op >> 7;

        switch (op % 12) {
        case 0:
        case 1:
        case 2:
        case 3: call(s, &script); break;
        case 4: deliver(op >> 4, true); break;
        case 5:
            if (fuzz.flight_cnt)
                alter(&fuzz.flight[u8(&script) % fuzz.flight_cnt], &script);
            break;
        case 6:
            if (fuzz.flight_cnt)
                fuzz.flight_cnt--;
            break;
        case 7: next_timer(s); break;
        case 8: forge(s, &script); break;
        case 9: fuzz.now += u8(&script) * UINT64_C(100000000); break;
        default: deliver(u8(&script) % FLIGHT % (fuzz.flight_cnt + 1), false); break;
        }
        settle(s);
    }
    come_to_rest();
    for (unsigned s = 0; s < 2; s++)
        rnic_cm_del(fuzz.side[s].cm);
    return 0;
}
