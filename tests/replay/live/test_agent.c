/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* Tests the agent's protocol (replay/docs/agent.md) with a fake verbs device. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "agent/agent_rpc.h"
#include "support/fakeverbs.h"
#include "support/suite.h"

static struct agent_device dev;

/* Passes a request line to the agent. Asserts that the JSON text of the reply contains `has`. */
static void say(const char *file, unsigned line, const char *request, const char *has)
{
    json_t *out = agent_rpc_answer(&dev, request, strlen(request));
    char *text = out ? json_dumps(out, JSON_COMPACT) : NULL;

    if (!text || !strstr(text, has)) {
        char why[1024];

        snprintf(why, sizeof(why), "%.400s: no \"%s\" in %.400s", request, has,
                 text ? text : "nothing");
        CU_assertImplementation(CU_FALSE, line, why, file, "", CU_FALSE);
    } else {
        CU_assertImplementation(CU_TRUE, line, request, file, "", CU_FALSE);
    }
    free(text);
    json_decref(out);
}
#define SAY(request, has) say(__FILE__, __LINE__, request, has)

static void open_dev(void)
{
    memset(&dev, 0, sizeof(dev));
    CU_ASSERT_EQUAL_FATAL(agent_device_open(&dev, NULL), 0);
}

static void close_dev(void)
{
    agent_device_close(&dev);
    CU_ASSERT_EQUAL(fakeverbs_live(), 0);
}

static void other_services(void)
{
    open_dev();
    SAY("{\"op\":\"hello\"}", "\"services\":[\"RC\",\"UC\",\"UD\"]");
    SAY("{\"op\":\"qp\",\"type\":\"RD\"}", "type must be RC, UC or UD");
    SAY("{\"op\":\"qp\",\"type\":7}", "type must be RC, UC or UD");
    SAY("{\"op\":\"qp\",\"type\":\"UC\"}", "\"qp\":0");
    SAY("{\"op\":\"qp\",\"type\":\"UD\",\"max_recv\":4}", "\"qp\":1");
    SAY("{\"op\":\"connect\",\"qp\":0,\"dgid\":\"::ffff:192.0.2.1\",\"dest_qpn\":17}",
        "\"ok\":true");
    SAY("{\"op\":\"connect\",\"qp\":1,\"dgid\":\"::ffff:192.0.2.1\",\"qkey\":17}", "\"ok\":true");
    SAY("{\"op\":\"connect\",\"qp\":1,\"dgid\":\"::1\",\"qkey\":4294967296}", "out of range");
    SAY("{\"op\":\"recv\",\"qp\":1,\"len\":4,\"id\":7}", "\"ok\":true");
    SAY("{\"op\":\"send\",\"qp\":1,\"opcode\":\"send\",\"hex\":\"01\",\"dgid\":\"::1\",\"dest_"
        "qpn\":3,"
        "\"qkey\":5}",
        "\"ok\":true");
    SAY("{\"op\":\"send\",\"qp\":1,\"opcode\":\"send\",\"dgid\":\"nobody\"}",
        "must be an IPv6 address");
    SAY("{\"op\":\"send\",\"qp\":1,\"opcode\":\"send\",\"dgid\":\"::1\",\"dest_qpn\":16777216}",
        "out of range");
    fakeverbs_fail(true);
    SAY("{\"op\":\"send\",\"qp\":1,\"opcode\":\"send\",\"dgid\":\"::1\"}", "\"ok\":false");
    fakeverbs_fail(false);
    close_dev();
}

static void a_session_does_what_replay_needs(void)
{
    open_dev();
    SAY("{\"op\":\"hello\"}", "\"protocol\":1");
    SAY("{\"op\":\"hello\"}", "::ffff:0.0.0.2");
    SAY("{\"op\":\"mr\",\"len\":64,\"access\":[\"write\",\"read\"]}", "\"mr\":0");
    SAY("{\"op\":\"store\",\"mr\":0,\"off\":3,\"hex\":\"00ff10\"}", "\"ok\":true");
    SAY("{\"op\":\"load\",\"mr\":0,\"off\":2,\"len\":5}", "\"0000ff1000\"");
    SAY("{\"op\":\"crc\",\"mr\":0,\"off\":3,\"len\":3}", "\"crc32\":");
    SAY("{\"op\":\"withdraw\",\"mr\":0}", "\"ok\":true");
    SAY("{\"op\":\"register\",\"mr\":0}", "\"rkey\":");
    /* A crc request covers at most 64 KiB, although the region is larger. This bounds the CPU time
     * of the request. */
    SAY("{\"op\":\"mr\",\"len\":1048576,\"access\":[]}", "\"mr\":1");
    SAY("{\"op\":\"crc\",\"mr\":1,\"off\":983040,\"len\":65536}", "\"crc32\":");
    SAY("{\"op\":\"crc\",\"mr\":1,\"off\":0,\"len\":65537}", "at most 65536 bytes");
    SAY("{\"op\":\"qp\",\"max_send\":4,\"max_recv\":4}", "\"qp\":0");
    SAY("{\"op\":\"connect\",\"qp\":0,\"dgid\":\"::ffff:192.0.2.1\",\"dest_qpn\":17,\"mtu\":1024,"
        "\"access\":[\"read\"]}",
        "\"ok\":true");
    SAY("{\"op\":\"recv\",\"qp\":0,\"len\":4,\"id\":7}", "\"ok\":true");
    SAY("{\"op\":\"send\",\"qp\":0,\"opcode\":\"send\",\"hex\":\"0102030405\",\"id\":8}",
        "\"ok\":true");
    SAY("{\"op\":\"poll\"}", "\"first\":\"01020304\"");
    SAY("{\"op\":\"poll\"}", "\"completions\":[]");
    SAY("{\"op\":\"delete\",\"qp\":0}", "\"ok\":true");
    close_dev();
}

/* Calls the operations that only drills need, not replays. */
static void a_session_does_what_drills_need(void)
{
    char request[256], state[64];
    json_t *region;
    long long addr, lkey, qpn;

    open_dev();
    SAY("{\"op\":\"hello\"}", "\"drills\":true");
    snprintf(request, sizeof(request), "{\"op\":\"mr\",\"len\":64,\"access\":17}");
    region = agent_rpc_answer(&dev, request, strlen(request));
    addr = json_integer_value(json_object_get(region, "addr"));
    lkey = json_integer_value(json_object_get(region, "lkey"));
    json_decref(region);
    CU_ASSERT_NOT_EQUAL(addr, 0);
    CU_ASSERT_NOT_EQUAL(lkey, 0);
    SAY("{\"op\":\"store\",\"mr\":0,\"off\":8,\"hex\":\"01020304\"}", "\"ok\":true");
    SAY("{\"op\":\"srq\",\"depth\":4}", "\"srq\":0");
    SAY("{\"op\":\"modify\",\"srq\":0,\"limit\":2}", "\"ok\":true");
    SAY("{\"op\":\"qp\",\"srq\":0}", "\"qp\":0");
    SAY("{\"op\":\"qp\",\"max_inline\":64,\"max_send\":4}", "\"qp\":1");
    qpn = dev.qp[1].qp->qp_num;
    SAY("{\"op\":\"recv\",\"srq\":0,\"id\":1,\"len\":8}", "\"ok\":true");
    SAY("{\"op\":\"connect\",\"qp\":1,\"dgid\":\"::1\",\"state\":\"RTR\"}", "\"ok\":true");
    SAY("{\"op\":\"query\",\"qp\":1}", "\"state\":\"RTR\"");
    SAY("{\"op\":\"modify\",\"qp\":1,\"state\":\"RTS\",\"transition\":true}", "\"ok\":true");
    SAY("{\"op\":\"modify\",\"qp\":1,\"timeout\":10}", "\"ok\":true");
    SAY("{\"op\":\"query\",\"qp\":1}", "\"state\":\"RTS\"");
    /* A SEND from a named buffer arrives in a named receive buffer. */
    snprintf(request, sizeof(request),
             "{\"op\":\"recv\",\"qp\":1,\"id\":7,\"len\":4,\"addr\":%lld,\"lkey\":%lld}", addr + 32,
             lkey);
    SAY(request, "\"ok\":true");
    snprintf(request, sizeof(request),
             "{\"op\":\"send\",\"qp\":1,\"opcode\":\"send\",\"id\":8,\"len\":4,\"addr\":%lld,"
             "\"lkey\":%lld,\"inline\":true}",
             addr + 8, lkey);
    SAY(request, "\"ok\":true");
    SAY("{\"op\":\"load\",\"mr\":0,\"off\":32,\"len\":4}", "\"01020304\"");
    SAY("{\"op\":\"poll\",\"events\":true}", "\"byte_len\":4");
    /* A buffer outside of the region of its key completes with an error. */
    SAY("{\"op\":\"send\",\"qp\":1,\"opcode\":\"send\",\"id\":10,\"len\":4,\"addr\":4096,\"lkey\":"
        "1}",
        "\"ok\":true");
    SAY("{\"op\":\"poll\"}", "\"status\":4");
    /* Inline data must come from the session's own memory, because the device does not check a key
     * for it. Other addresses are refused. */
    snprintf(
        request, sizeof(request),
        "{\"op\":\"send\",\"qp\":1,\"opcode\":\"send\",\"len\":65,\"addr\":%lld,\"inline\":true}",
        addr);
    SAY(request, "inside a registered region");
    SAY("{\"op\":\"send\",\"qp\":1,\"opcode\":\"send\",\"len\":8,\"addr\":4096,\"inline\":true}",
        "inside a registered region");
    SAY("{\"op\":\"mw\",\"type\":1}", "\"mw\":0");
    snprintf(request, sizeof(request),
             "{\"op\":\"bind\",\"qp\":1,\"mw\":0,\"mr\":0,\"id\":9,\"addr\":%lld,\"len\":8,"
             "\"access\":2}",
             addr);
    SAY(request, "\"rkey\":");
    SAY("{\"op\":\"poll\"}", "\"id\":9");
    fakeverbs_event(IBV_EVENT_QP_ACCESS_ERR, (unsigned)qpn);
    snprintf(state, sizeof(state), "\"type\":%d", IBV_EVENT_QP_ACCESS_ERR);
    SAY("{\"op\":\"poll\"}", "\"completions\":[]");
    fakeverbs_fail(true);
    SAY("{\"op\":\"delete\",\"mw\":0}", "\"errno\":16");
    SAY("{\"op\":\"delete\",\"mw\":0}", "\"ok\":true");
    SAY("{\"op\":\"query\",\"mw\":0}", "no QP or memory window");
    SAY("{\"op\":\"poll\",\"events\":true}", state);
    SAY("{\"op\":\"poll\",\"events\":true}", "\"events\":[]");
    close_dev();
}

/* Returns the entry of an outstanding work request. */
static const struct agent_wr *wr_of(uint64_t id)
{
    uint32_t i = 0;

    while (i + 1 < AGENT_CQ_LEN && (!dev.wr[i].bytes || dev.wr[i].id != id))
        i++;
    return &dev.wr[i];
}

/* A session creates its own protection domains and CQs. An armed CQ notifies exactly once. */
static void domains_and_completion_queues(void)
{
    open_dev();
    SAY("{\"op\":\"pd\"}", "\"pd\":0");
    SAY("{\"op\":\"cq\",\"depth\":4}", "\"cq\":0");
    SAY("{\"op\":\"cq\"}", "\"cq\":1");
    SAY("{\"op\":\"mr\",\"len\":64,\"pd\":0,\"iova\":4097}", "\"addr\":4097");
    CU_ASSERT_EQUAL((uintptr_t)dev.mr[0].bytes % 4096, 1);
    CU_ASSERT_PTR_EQUAL(dev.mr[0].mr->pd, dev.own_pd[0]);
    SAY("{\"op\":\"srq\",\"pd\":0,\"limit\":2}", "\"srq\":0");
    SAY("{\"op\":\"recv\",\"srq\":0,\"id\":1,\"len\":8}", "\"ok\":true");
    CU_ASSERT_PTR_EQUAL(wr_of(1)->mr->pd, dev.own_pd[0]);
    EXPECT_EQ(wr_of(1)->len, 8);
    SAY("{\"op\":\"qp\",\"pd\":0,\"cq\":0}", "\"qp\":0");
    CU_ASSERT_PTR_EQUAL(dev.qp[0].qp->pd, dev.own_pd[0]);
    SAY("{\"op\":\"qp\",\"type\":\"UD\",\"pd\":0,\"srq\":0}", "\"qp\":1");
    SAY("{\"op\":\"recv\",\"srq\":0,\"id\":2,\"len\":8}", "\"ok\":true");
    EXPECT_EQ(wr_of(2)->len, 8 + AGENT_AREA);
    SAY("{\"op\":\"delete\",\"qp\":1}", "\"ok\":true");
    SAY("{\"op\":\"modify\",\"cq\":0,\"depth\":8}", "\"ok\":true");
    SAY("{\"op\":\"poll\",\"events\":true}", "\"notified\":[]");
    SAY("{\"op\":\"arm\",\"cq\":1}", "\"ok\":true");
    SAY("{\"op\":\"send\",\"qp\":0,\"opcode\":\"write\",\"id\":1}", "\"ok\":true");
    SAY("{\"op\":\"poll\",\"events\":true}", "\"notified\":[1]");
    SAY("{\"op\":\"poll\",\"events\":true}", "\"notified\":[]");
    SAY("{\"op\":\"connect\",\"qp\":0,\"dgid\":\"::1\",\"pkey\":32769}", "\"errno\":95");
    SAY("{\"op\":\"modify\",\"qp\":0,\"pkey\":65535,\"port\":1}", "\"ok\":true");
    SAY("{\"op\":\"delete\",\"qp\":0}", "\"ok\":true");
    SAY("{\"op\":\"delete\",\"cq\":0}", "\"ok\":true");
    SAY("{\"op\":\"delete\",\"cq\":0}", "no QP has this number");
    SAY("{\"op\":\"delete\",\"pd\":0}", "\"ok\":true");
    SAY("{\"op\":\"qp\",\"pd\":0}", "no protection domain has this number");
    SAY("{\"op\":\"qp\",\"cq\":0}", "no CQ has this number");
    SAY("{\"op\":\"mr\",\"len\":8,\"pd\":7}", "no protection domain has this number");
    SAY("{\"op\":\"cq\",\"depth\":0}", "cq: depth must be 1 to 8192");
    SAY("{\"op\":\"modify\",\"cq\":1,\"depth\":0}", "modify: depth must be 1 to 8192");
    SAY("{\"op\":\"arm\",\"cq\":9}", "arm: no CQ has this number");
    close_dev();
}

/* Each invalid request is refused with its own error message and changes nothing. */
static void invalid_requests_are_refused(void)
{
    static const struct {
        const char *request, *has;
    } rows[] = {
        {"", "not a JSON object"},
        {"nonsense", "not a JSON object"},
        {"[1]", "not a JSON object: another JSON value"},
        {"{}", "op required"},
        {"{\"op\":5}", "op required"},
        {"{\"op\":\"dance\"}", "unknown op dance"},
        {"{\"op\":\"mr\",\"op\":\"qp\"}", "not a JSON object"},
        {"{\"op\":\"mr\",\"len\":0}", "len must be at least 1"},
        {"{\"op\":\"mr\",\"len\":-1}", "mr: len"},
        {"{\"op\":\"mr\",\"len\":8,\"access\":[\"all\"]}", "mr: len and access"},
        {"{\"op\":\"store\",\"mr\":0,\"off\":62,\"hex\":\"001122\"}", "store: hex"},
        {"{\"op\":\"store\",\"mr\":0,\"off\":-1,\"hex\":\"00\"}", "store: hex"},
        {"{\"op\":\"store\",\"mr\":0,\"hex\":\"0\"}", "store: hex"},
        {"{\"op\":\"store\",\"mr\":1,\"hex\":\"00\"}", "store: hex"},
        {"{\"op\":\"load\",\"mr\":0,\"off\":1,\"len\":64}", "load: the range must lie"},
        {"{\"op\":\"load\",\"mr\":0,\"off\":64,\"len\":-1}", "load: the range must lie"},
        {"{\"op\":\"crc\",\"mr\":9}", "crc: the range must lie"},
        {"{\"op\":\"withdraw\"}", "withdraw: no region has this number"},
        {"{\"op\":\"qp\",\"max_send\":9000}", "must not exceed 8192"},
        {"{\"op\":\"qp\",\"srq\":0}", "qp: no SRQ has this number"},
        {"{\"op\":\"qp\",\"max_inline\":70000}", "max_inline must not exceed"},
        {"{\"op\":\"recv\",\"srq\":0,\"len\":8}", "recv: id, len, and qp or srq are required"},
        {"{\"op\":\"srq\",\"depth\":9000}", "srq: depth and limit must not exceed 8192"},
        {"{\"op\":\"mw\",\"type\":3}", "mw: type must be 1 or 2"},
        {"{\"op\":\"bind\",\"qp\":0,\"mw\":0}", "bind: no QP or memory window has this number"},
        {"{\"op\":\"query\",\"qp\":9}", "query: no QP or memory window has this number"},
        {"{\"op\":\"modify\",\"qp\":9}", "modify: no QP, SRQ or CQ has this number"},
        {"{\"op\":\"modify\",\"qp\":0,\"state\":\"FAST\"}", "modify: a member is out of range"},
        {"{\"op\":\"mr\",\"len\":8,\"access\":4096}", "mr: len and access"},
        {"{\"op\":\"connect\",\"qp\":3}", "connect: no QP has this number"},
        {"{\"op\":\"connect\",\"qp\":0,\"dgid\":\"192.0.2.1\"}", "dgid must be an IPv6 address"},
        {"{\"op\":\"connect\",\"qp\":0,\"dgid\":\"::1\",\"mtu\":300}", "300 is not a path MTU"},
        {"{\"op\":\"connect\",\"qp\":0,\"dgid\":\"::1\",\"retry_cnt\":8}", "out of range"},
        {"{\"op\":\"delete\",\"qp\":\"0\"}", "delete: no QP has this number"},
        {"{\"op\":\"recv\",\"qp\":0,\"len\":4294967295}", "recv: id, len, and qp or srq"},
        {"{\"op\":\"recv\",\"qp\":0,\"len\":2147483647}", "at most 1073741824 bytes"},
        {"{\"op\":\"send\",\"qp\":0}", "send: opcode must be one of"},
        {"{\"op\":\"send\",\"qp\":0,\"opcode\":\"send\",\"hex\":\"zz\"}", "send: hex must be"},
    };

    open_dev();
    SAY("{\"op\":\"mr\",\"len\":64}", "\"ok\":true");
    SAY("{\"op\":\"qp\"}", "\"ok\":true");
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        SAY(rows[i].request, "\"ok\":false");
        SAY(rows[i].request, rows[i].has);
    }
    SAY("{\"op\":\"poll\"}", "\"completions\":[]");
    close_dev();
}

/* agent.md states the limits of the data bytes: 256 KiB in a request or reply, 64 KiB of crc. */
static void bytes_of_a_request_are_limited(void)
{
    static char request[2 * 262145 + 64];
    size_t begin;

    open_dev();
    SAY("{\"op\":\"mr\",\"len\":300000}", "\"mr\":0");
    SAY("{\"op\":\"load\",\"mr\":0,\"off\":8,\"len\":262144}", "\"ok\":true");
    SAY("{\"op\":\"load\",\"mr\":0,\"off\":8,\"len\":262145}", "at most 262144 bytes");
    SAY("{\"op\":\"crc\",\"mr\":0,\"off\":8,\"len\":65536}", "\"ok\":true");
    SAY("{\"op\":\"crc\",\"mr\":0,\"off\":8,\"len\":65537}", "at most 65536 bytes");
    for (unsigned more = 0; more <= 1; more++) {
        begin = (size_t)sprintf(request, "{\"op\":\"store\",\"mr\":0,\"hex\":\"");
        memset(request + begin, '1', 2 * (262144 + more));
        strcpy(request + begin + (size_t)2 * (262144 + more), "\"}");
        SAY(request, more ? "at most 262144 bytes" : "\"ok\":true");
    }
    close_dev();
}

/* An atomic always has 8 bytes. If its request contains data, the agent ignores the data. */
static void data_of_an_atomic_is_ignored(void)
{
    char request[1024] = "{\"op\":\"send\",\"qp\":0,\"opcode\":\"fetch_add\",\"hex\":\"";
    size_t len = strlen(request);

    memset(request + len, 'a', 600);
    strcpy(request + len + 600, "\"}");
    open_dev();
    SAY("{\"op\":\"qp\"}", "\"ok\":true");
    SAY(request, "\"ok\":true");
    SAY("{\"op\":\"poll\"}", "\"len\":8");
    close_dev();
}

/* The agent truncates the name of an unknown operation, perhaps inside a UTF-8 character. It must
 * still reply with an error message. */
static void unknown_operation_has_an_error_message(void)
{
    char request[256] = "{\"op\":\"";
    size_t len = strlen(request);

    for (unsigned i = 0; i < 60; i++)
        memcpy(request + len + 2 * i + 1, "\xC3\xA4", 2);
    request[len] = 'x';
    strcpy(request + len + 121, "\"}");
    open_dev();
    SAY(request, "\"ok\":false");
    close_dev();
}

static void failed_request_leaves_no_object(void)
{
    static const char *const requests[] = {
        "{\"op\":\"mr\",\"len\":64}",
        "{\"op\":\"qp\"}",
        "{\"op\":\"recv\",\"qp\":0,\"len\":64}",
        "{\"op\":\"recv\",\"qp\":0,\"len\":0}",
        "{\"op\":\"send\",\"qp\":0,\"opcode\":\"send\",\"len\":64}",
        "{\"op\":\"connect\",\"qp\":0,\"dgid\":\"::1\"}",
    };
    unsigned before;
    uint64_t bytes;

    open_dev();
    SAY("{\"op\":\"qp\"}", "\"ok\":true");
    for (size_t i = 0; i < sizeof(requests) / sizeof(requests[0]); i++) {
        before = fakeverbs_live();
        bytes = dev.bytes;
        fakeverbs_fail(true);
        SAY(requests[i], "\"ok\":false");
        fakeverbs_fail(false);
        CU_ASSERT_EQUAL(fakeverbs_live(), before);
        CU_ASSERT_EQUAL(dev.bytes, bytes);
    }
    close_dev();
    for (unsigned i = 0; i < 3; i++) {
        memset(&dev, 0, sizeof(dev));
        fakeverbs_fail(true);
        CU_ASSERT_EQUAL(agent_device_open(&dev, NULL), -1);
        CU_ASSERT_EQUAL(fakeverbs_live(), 0);
    }
    fakeverbs_fail(false);
    memset(&dev, 0, sizeof(dev));
    CU_ASSERT_EQUAL(agent_device_open(&dev, "nosuch"), -1);
    CU_ASSERT_PTR_NOT_NULL(strstr(dev.error.text, "nosuch"));
}

static void device_of_another_name_is_refused_with_those_that_exist(void)
{
    struct error error = {""};

    CU_ASSERT_EQUAL(agent_device_find(NULL, &error), 0);
    CU_ASSERT_EQUAL(agent_device_find(FAKEVERBS_DEVICE, &error), 0);
    CU_ASSERT_STRING_EQUAL(error.text, "");
    CU_ASSERT_EQUAL(agent_device_find("nosuch", &error), -1);
    CU_ASSERT_STRING_EQUAL(error.text,
                           "--device nosuch: no such RDMA device; available: " FAKEVERBS_DEVICE);
}

SUITE("replay.agent", TEST(a_session_does_what_replay_needs), TEST(a_session_does_what_drills_need),
      TEST(domains_and_completion_queues), TEST(other_services), TEST(invalid_requests_are_refused),
      TEST(bytes_of_a_request_are_limited), TEST(data_of_an_atomic_is_ignored),
      TEST(unknown_operation_has_an_error_message), TEST(failed_request_leaves_no_object),
      TEST(device_of_another_name_is_refused_with_those_that_exist))
