/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* Tests that packets of every length built with a header template have the same bytes as packets
 * built without a template. */
#include "wire/header_template.h"

#include "support/sample.h"
#include "support/suite.h"

static const enum roce_encap encaps[] = {ROCE_ENCAP_V1, ROCE_ENCAP_V2_IP4, ROCE_ENCAP_V2_IP6};

static void template_gives_same_bytes_as_model(void)
{
    static const uint8_t payload[4096] = {1, 2, 3};
    struct rng rng = rng_of(5);

    for (unsigned i = 0; i < 3000; i++) {
        uint8_t plain[ROCE_FRAME_MAX];
        uint8_t fast[ROCE_FRAME_MAX];
        struct roce_pkt pkt;
        struct roce_header_template env;
        uint32_t len = i < 600 ? i : rng_below(&rng, 4097);
        int want, got;

        sample_pkt(&pkt, &rng, encaps[i % 3], ROCE_OP_RC_SEND_ONLY, i / 3 % 2, payload, len);
        want = roce_pkt_build(&pkt, 0, plain, sizeof(plain));
        EXPECT_EQ(roce_header_template_init(&env, &pkt), ROCE_OK);
        pkt.header_template = &env;
        got = roce_pkt_build(&pkt, 0, fast, sizeof(fast));
        EXPECT_EQ(got, want);
        CU_ASSERT(want > 0 && memcmp(plain, fast, (size_t)want) == 0);
        /* Also build the packet into a buffer of exactly its length, and into one that is a byte
         * too short. */
        EXPECT_EQ(roce_pkt_build(&pkt, 0, fast, (size_t)want), want);
        CU_ASSERT(memcmp(plain, fast, (size_t)want) == 0);
        EXPECT_EQ(roce_pkt_build(&pkt, 0, fast, (size_t)want - 1), ROCE_ERR_NOSPACE);
    }
}

static void unsupported_models_are_refused(void)
{
    struct rng rng = rng_of(6);
    struct roce_pkt pkt;
    struct roce_header_template env;

    sample_pkt(&pkt, &rng, ROCE_ENCAP_IB_GLOBAL, ROCE_OP_RC_ACK, 0, NULL, 0);
    EXPECT_EQ(roce_header_template_init(&env, &pkt), ROCE_ERR_INVALID);
    sample_pkt(&pkt, &rng, ROCE_ENCAP_V2_IP4, ROCE_OP_RC_ACK, 2, NULL, 0);
    EXPECT_EQ(roce_header_template_init(&env, &pkt), ROCE_ERR_INVALID);
}

/* The UDP source port of a template can be changed. For RoCEv1, which has no UDP (R013), the change
 * must have no effect. */
static void source_port_can_be_changed(void)
{
    struct rng rng = rng_of(7);

    for (unsigned i = 0; i < 6; i++) {
        uint8_t plain[ROCE_FRAME_MAX];
        uint8_t fast[ROCE_FRAME_MAX];
        struct roce_pkt pkt;
        struct roce_header_template env;
        int len;

        sample_pkt(&pkt, &rng, encaps[i % 3], ROCE_OP_UD_SEND_ONLY, i / 3, NULL, 0);
        EXPECT_EQ(roce_header_template_init(&env, &pkt), ROCE_OK);
        roce_header_template_set_sport(&env, 0xC0DE);
        pkt.udp.sport = 0xC0DE;
        len = roce_pkt_build(&pkt, 0, plain, sizeof(plain));
        pkt.header_template = &env;
        EXPECT_EQ(roce_pkt_build(&pkt, 0, fast, sizeof(fast)), len);
        CU_ASSERT(len > 0 && memcmp(plain, fast, (size_t)len) == 0);
    }
}

SUITE("wire.header_template", TEST(template_gives_same_bytes_as_model),
      TEST(unsupported_models_are_refused), TEST(source_port_can_be_changed))
