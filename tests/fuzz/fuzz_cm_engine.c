/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Fuzz target: two CM engines (rnic/cm). The input selects, in any order, calls of the program,
 * received MADs, and advances of the time. Some MADs are the latest message of an engine with some
 * bytes changed.
 *
 * Invariants: the ids of both engines have valid states, and the engines send only messages that
 * can be parsed.
 *
 * The input is a list of steps. One byte selects the step, and the next bytes are its parameters.
 */
#include <string.h>
#include "cm/conn.h"
#include "fuzz.h"

#define IDS 8

static const struct rnic_cm_addr addr_of[2] = {{{1}, {2}}, {{2}, {1}}};

struct side {
    struct rnic_cm *cm;
    struct rnic_cm_id *id[IDS];
};

struct input {
    const uint8_t *p;
    size_t len;
};

static uint8_t next(struct input *in)
{
    if (in->len == 0)
        return 0;
    in->len--;
    return *in->p++;
}

/* Fetches the events of one side. Stores the ids of new requests in side->id; deletes a new id if
 * side->id is full. */
static void take_events(struct side *side, rnic_time now)
{
    struct rnic_cm_event event;

    while (rnic_cm_event(side->cm, &event)) {
        unsigned at = 0;

        FUZZ_CHECK(event.id && rnic_cm_id_state(event.id) <= RNIC_CM_SIDR_DONE);
        if (event.type != RNIC_CM_REQUEST && event.type != RNIC_CM_SIDR_REQUEST)
            continue;
        while (at < IDS && side->id[at])
            at++;
        if (at < IDS)
            side->id[at] = event.id;
        else
            rnic_cm_id_del(event.id, now);
    }
}

static void call(struct side *side, unsigned me, struct input *in, rnic_time now)
{
    static const uint64_t services[] = {0x1061D2F, 0x1111D2F, 5};
    unsigned what = next(in), at = next(in) % IDS;
    struct rnic_cm_id *id = side->id[at];
    struct roce_cm_req req = {.service_id = services[what % 3],
                              .local_ca_guid = 100 + me,
                              .local_qpn = at + 2u,
                              .mtu = 3,
                              .pkey = 0xFFFF,
                              .remote_cm_timeout = next(in) & 31,
                              .local_cm_timeout = 18,
                              .max_cm_retries = 3,
                              .primary_ack_timeout = 14,
                              .private_data = {[1] = 0x40}};
    const struct roce_cm_rep rep = {.local_qpn = at + 2u, .local_ca_guid = 100 + me};
    const struct roce_cm_sidr_req sidr = {.service_id = services[1], .private_data = {[1] = 0x40}};
    const struct roce_cm_sidr_rep sidr_rep = {.qpn = 9};

    memcpy(req.primary_local_gid, addr_of[me].local, 16);
    memcpy(req.primary_remote_gid, addr_of[me].remote, 16);
    if (!id) {
        side->id[at] = rnic_cm_id_new(side->cm, NULL);
        FUZZ_CHECK(side->id[at]);
        return;
    }
    switch (what % 11) {
    case 0:
        rnic_cm_listen(id, services[what / 11 % 3], what & 64 ? addr_of[me].local : NULL);
        break;
    case 1:
    case 2: rnic_cm_connect(id, &req, &addr_of[me], now); break;
    case 3: rnic_cm_accept(id, &rep, now); break;
    case 4: rnic_cm_establish(id, "x", 1, now); break;
    case 5: rnic_cm_reject(id, ROCE_CM_REJ_CONSUMER, NULL, 0, now); break;
    case 6: rnic_cm_disconnect(id, NULL, 0, now); break;
    case 7: rnic_cm_comm_est(id, now); break;
    case 8: rnic_cm_sidr_request(id, &sidr, 10, 3, &addr_of[me], now); break;
    case 9: rnic_cm_sidr_reply(id, &sidr_rep, now); break;
    default:
        rnic_cm_id_del(id, now);
        side->id[at] = NULL;
        break;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct input in = {data, size};
    struct side side[2];
    rnic_time now = 1;
    uint8_t mad[ROCE_MAD_SIZE] = {0};

    memset(side, 0, sizeof(side));
    for (unsigned e = 0; e < 2; e++) {
        side[e].cm = rnic_cm_new(&(struct rnic_cm_attr){
            .ca_guid = 100 + e, .id_prefix = e, .id_prefix_bits = 4, .seed = {7 * e, e}});
        FUZZ_CHECK(side[e].cm);
    }
    while (in.len > 0) {
        unsigned step = next(&in), me = step >> 7;

        switch (step % 6) {
        case 0:
        case 1: call(&side[me], me, &in, now); break;
        case 2: now += (uint64_t)next(&in) << (next(&in) % 32); break;
        case 3: { /* deliver the latest message, with up to three bytes changed */
            unsigned changes = next(&in) % 4;

            for (unsigned i = 0; i < changes; i++) {
                unsigned at = next(&in);

                mad[at] = next(&in);
            }
            rnic_cm_input(side[me].cm, mad, sizeof(mad), &addr_of[me], now);
            break;
        }
        default: { /* deliver the waiting messages of one engine to the other engine, or lose
                    * them */
            struct rnic_cm_addr addr;
            struct roce_cm_msg msg;

            while (rnic_cm_output(side[me].cm, mad, &addr)) {
                FUZZ_CHECK(roce_cm_msg_parse(&msg, mad, sizeof(mad), sizeof(mad)) == 0);
                if (step % 6 == 4)
                    rnic_cm_input(side[1 - me].cm, mad, sizeof(mad), &addr_of[1 - me], now);
            }
            break;
        }
        }
        for (unsigned e = 0; e < 2; e++) {
            take_events(&side[e], now);
            rnic_cm_expire(side[e].cm, now);
            FUZZ_CHECK(rnic_cm_deadline(side[e].cm) > now);
            take_events(&side[e], now);
        }
    }
    rnic_cm_del(side[0].cm);
    rnic_cm_del(side[1].cm);
    return 0;
}
