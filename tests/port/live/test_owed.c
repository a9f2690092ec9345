/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * What a device owes while its program polls: how long the acknowledgement of a stream waits, at
 * times that the test sets. Of the loop there is only what live_owed.c looks at, and the device.
 */
#include <string.h>
#include "port/live/live_impl.h"
#include "support/device_fixture.h"
#include "support/suite.h"

/* As in live_owed.c. */
#define STREAM_NS    12000u
#define STREAM_TURNS 32u
#define RESUMED_NS   10000u

static struct device_fixture fixture;
static struct rnic_live live;
static uint64_t now;
static uint32_t psn, msn;

static void begin(void)
{
    fixture_init(&fixture, ROCE_ENCAP_V2_IP4);
    memset(&live, 0, sizeof(live));
    live.rnic = fixture.rnic;
    now = 1000000000;
    psn = FIXTURE_PSN;
    msn = 0;
}

/* A turn in which the peer's next message comes. */
static void came(void)
{
    static const uint8_t payload[64];
    struct roce_pkt pkt = pktgen_write(&fixture.gen, ROCE_OP_RC_WRITE_ONLY, psn, FIXTURE_IOVA,
                                       FIXTURE_KEY, sizeof(payload), payload, sizeof(payload));

    pkt.bth.ackreq = 1;
    fixture_in(&fixture, &pkt);
    psn = (psn + 1) & ROCE_PSN_MASK;
    msn++;
    live_came(&live, now);
}

/* What is owed goes: one ACK, whatever came. */
static void gives_out(void)
{
    live_learn_polling(&live, now);
    live.owed = false;
    fixture_expect_aeth(&fixture, (psn - 1) & ROCE_PSN_MASK, 0x1F, msn);
    fixture_expect_nothing(&fixture);
}

static void one_ack_for_a_stream(void)
{
    begin();
    for (unsigned turn = 0; turn < STREAM_TURNS; turn++) {
        came();
        CU_ASSERT(live.owed);
        now += STREAM_NS; /* the next one comes just in time */
        CU_ASSERT(live_owed_waits(&live, now));
    }
    came();
    CU_ASSERT(!live_owed_waits(&live, now));
    gives_out();
    came();
    CU_ASSERT(live_owed_waits(&live, now));
    fixture_free(&fixture);
}

static void a_stream_ends(void)
{
    begin();
    came();
    came();
    now += STREAM_NS;
    CU_ASSERT(live_owed_waits(&live, now));
    now++;
    CU_ASSERT(!live_owed_waits(&live, now));
    gives_out();
    fixture_free(&fixture);
}

/* Times that the ACK waited, of so many messages; the next comes `after` the ACK of one. */
static unsigned waits(unsigned messages, uint64_t after)
{
    unsigned cnt = 0;

    for (unsigned i = 0; i < messages; i++) {
        came();
        if (live_owed_waits(&live, now + 1)) {
            cnt++;
            now += STREAM_NS + 1;
            CU_ASSERT(!live_owed_waits(&live, now));
        }
        gives_out();
        now += after;
    }
    return cnt;
}

/* A peer that goes on as soon as it has the ACK waits for it: it is waited for ever more seldom,
 * until a stream comes. One that comes later did not wait. */
static void a_peer_that_waits(void)
{
    unsigned vain;

    begin();
    vain = waits(1000, RESUMED_NS / 2);
    CU_ASSERT(vain >= 4 && vain < 20);
    CU_ASSERT(waits(300, RESUMED_NS / 2) <= 2);
    for (unsigned turn = 0; turn < 20000; turn++) { /* streams: 32 turns at a time, and more */
        came();
        if (!live_owed_waits(&live, now))
            gives_out();
        now += 100;
    }
    if (live.owed)
        gives_out();
    now += 1000000;
    CU_ASSERT(waits(300, RESUMED_NS / 2) >= 4);
    fixture_free(&fixture);
}

static void a_peer_that_does_not(void)
{
    begin();
    EXPECT_EQ(waits(100, RESUMED_NS + 1), 100);
    fixture_free(&fixture);
}

/* A response is not held for more frames. */
static void not_with_a_response(void)
{
    struct roce_pkt pkt;

    begin();
    came();
    CU_ASSERT(live_owed_waits(&live, now));
    pkt = pktgen_read(&fixture.gen, psn, FIXTURE_IOVA, FIXTURE_KEY, 64);
    fixture_in(&fixture, &pkt);
    live_came(&live, now);
    CU_ASSERT(live.owed && !live_owed_waits(&live, now));
    fixture_free(&fixture);
}

SUITE("port.owed", TEST(one_ack_for_a_stream), TEST(a_stream_ends), TEST(a_peer_that_waits),
      TEST(a_peer_that_does_not), TEST(not_with_a_response))
