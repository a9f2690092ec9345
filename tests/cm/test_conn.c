/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include <string.h>
#include "cm/conn.h"
#include "support/suite.h"

static const struct rnic_cm_ip ip4 = {
    .space = ROCE_CM_PS_TCP,
    .sport = 40000,
    .dport = 7471,
    .src = {[10] = 0xFF, [11] = 0xFF, 10, 0, 0, 1},
    .dst = {[10] = 0xFF, [11] = 0xFF, 10, 0, 0, 2},
};

/* The REQ must contain port space, ports and addresses in its service id and RDMA-IP header (R241,
 * R242). */
static void rdmaip_header_carries_addresses(void)
{
    struct rnic_cm_param param = {.type = RNIC_QPT_RC, .qpn = 0x1234, .retry_count = 7};
    struct rnic_cm_addr addr = {{0}, {0}};
    struct rnic_cm_path path;
    struct rnic_cm_ip back;
    struct roce_cm_msg msg;
    uint8_t data[RNIC_CM_REQ_PRIVATE + 1];

    memset(data, 0x5A, sizeof(data));
    rnic_cm_path_defaults(&path);
    path.mtu = 3;
    roce_cm_msg_init(&msg, ROCE_CM_REQ, 1);
    param.private_data = data;
    param.private_len = sizeof(data);
    EXPECT_EQ(rnic_cm_make_req(&msg.req, &param, &path, &ip4, &addr, 5), RNIC_ERR_INVALID);
    param.private_len = sizeof(data) - 1;
    EXPECT_EQ(rnic_cm_make_req(&msg.req, &param, &path, &ip4, &addr, 5), RNIC_OK);
    EXPECT_EQ(msg.req.service_id, 0x0000000001061D2F);
    EXPECT_EQ(msg.req.private_data[1] >> 4, 4);
    EXPECT_EQ(msg.req.private_data[91], 0x5A);
    CU_ASSERT(rnic_cm_ip_of(&msg, &back));
    CU_ASSERT_EQUAL(memcmp(&back, &ip4, sizeof(ip4)), 0);
    param.type = RNIC_QPT_UD;
    EXPECT_EQ(rnic_cm_make_req(&msg.req, &param, &path, &ip4, &addr, 5), RNIC_ERR_INVALID);
    param.type = RNIC_QPT_XRC_SEND;
    EXPECT_EQ(rnic_cm_make_req(&msg.req, &param, &path, &ip4, &addr, 5), RNIC_OK);
    EXPECT_EQ(msg.req.transport, ROCE_CM_TRANSPORT_EXTENDED); /* XRC uses an extended transport type
                                                               * (R245) */
    EXPECT_EQ(msg.req.ext_transport, ROCE_CM_EXT_TRANSPORT_XRC);
}

SUITE("cm.conn", TEST(rdmaip_header_carries_addresses))
