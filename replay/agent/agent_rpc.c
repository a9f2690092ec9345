/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "agent/agent_rpc.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "agent/agent_args.h"
#include "agent/agent_objects.h"
#include "agent/agent_rpc_objects.h"
#include "util/json_util.h"

#define GIDS_MAX 64u

/* ---- operations that a client requests ---------------------------------------------------------
 */

static json_t *list_gids(struct agent_device *dev)
{
    json_t *list = json_array();
    static const union ibv_gid none;

    for (uint32_t i = 0; list && i < (uint32_t)dev->port.gid_tbl_len && i < GIDS_MAX; i++) {
        struct ibv_gid_entry entry;
        char text[INET6_ADDRSTRLEN];

        if (ibv_query_gid_ex(dev->ctx, AGENT_PORT, i, &entry, 0) != 0 ||
            memcmp(&entry.gid, &none, sizeof(none)) == 0)
            continue;
        inet_ntop(AF_INET6, entry.gid.raw, text, sizeof(text));
        json_array_append_new(list,
                              json_pack("{s:i, s:s, s:s}", "index", (int)i, "gid", text, "type",
                                        entry.gid_type == IBV_GID_TYPE_ROCE_V2   ? "RoCEv2"
                                        : entry.gid_type == IBV_GID_TYPE_ROCE_V1 ? "RoCEv1"
                                                                                 : "IB"));
    }
    return list;
}

static json_t *op_hello(struct agent_device *dev, const json_t *in)
{
    (void)in;
    return json_pack("{s:b, s:i, s:s, s:b, s:i, s:b, s:i, s:b, s:[sss], s:o}", "ok", 1, "protocol",
                     AGENT_PROTOCOL, "device", ibv_get_device_name(dev->ctx->device), "active",
                     dev->port.state == IBV_PORT_ACTIVE, "mtu", 128 << dev->port.active_mtu,
                     "atomic", dev->attr.atomic_cap != IBV_ATOMIC_NONE, "rd_atomic",
                     dev->attr.max_qp_rd_atom, "drills", 1, "services", "RC", "UC", "UD", "gids",
                     list_gids(dev));
}

static json_t *mr_reply(const struct agent_device *dev, uint32_t mr)
{
    const struct agent_mr *m = &dev->mr[mr];

    return json_pack("{s:b, s:I, s:I, s:I, s:I}", "ok", 1, "mr", (json_int_t)mr, "addr",
                     (json_int_t)m->addr, "rkey", (json_int_t)m->mr->rkey, "lkey",
                     (json_int_t)m->mr->lkey);
}

static json_t *op_mr(struct agent_device *dev, const json_t *in)
{
    struct agent_mr_attr attr = {.access = agent_access_of(in),
                                 .has_iova = json_object_get(in, "iova") != NULL};
    uint32_t mr;

    if (!agent_read_number(in, "len", AGENT_BYTES_MAX, 0, &attr.len) || attr.access < 0 ||
        !agent_read_number(in, "iova", UINT64_MAX, 0, &attr.iova))
        return agent_error_reply(
            "mr: len and access are required; access is a list of write, read and atomic");
    if (!agent_read_pd(dev, in, &attr.pd))
        return agent_error_reply("mr: no protection domain has this number");
    return agent_mr_new(dev, &attr, &mr) == 0 ? mr_reply(dev, mr) : agent_ok_or_error(dev, -1);
}

/* Finds the memory region that a request names, and reads the range of bytes "off" and "len" in it.
 * Returns NULL if the region does not exist or does not contain the range. */
static struct agent_mr *find_range(struct agent_device *dev, const json_t *in, uint64_t *off,
                                   uint64_t *len)
{
    uint64_t mr;

    if (!json_object_get(in, "mr") || !agent_read_number(in, "mr", UINT32_MAX, 0, &mr) ||
        mr >= dev->mr_cnt || !agent_read_number(in, "off", UINT64_MAX, 0, off) ||
        !agent_read_number(in, "len", UINT64_MAX, 0, len) || *off > dev->mr[mr].len ||
        *len > dev->mr[mr].len - *off)
        return NULL;
    return &dev->mr[mr];
}

static json_t *op_withdraw(struct agent_device *dev, const json_t *in)
{
    uint64_t off, len;
    struct agent_mr *m = find_range(dev, in, &off, &len);

    return m ? agent_ok_or_error(dev, agent_mr_withdraw(dev, (uint32_t)(m - dev->mr)))
             : agent_error_reply("withdraw: no region has this number");
}

static json_t *op_register(struct agent_device *dev, const json_t *in)
{
    uint64_t off, len;
    struct agent_mr *m = find_range(dev, in, &off, &len);

    if (!m)
        return agent_error_reply("register: no region has this number");
    return agent_mr_register(dev, (uint32_t)(m - dev->mr)) == 0
               ? mr_reply(dev, (uint32_t)(m - dev->mr))
               : agent_error_reply("%s", dev->error.text);
}

static json_t *op_store(struct agent_device *dev, const json_t *in)
{
    uint64_t off, len;
    uint32_t cnt = 0;
    uint8_t *bytes = agent_bytes_of(json_object_get(in, "hex"), &cnt);
    struct agent_mr *m = find_range(dev, in, &off, &len);
    json_t *out;

    if (!bytes || !m || cnt > m->len - off) {
        out = agent_error_reply(
            "store: hex must be at most %u bytes, and the range must lie inside a region",
            AGENT_DATA_MAX);
    } else {
        memcpy(m->bytes + off, bytes, cnt);
        out = agent_ok_or_error(dev, 0);
    }
    free(bytes);
    return out;
}

static json_t *range_error(const char *op, unsigned max)
{
    return agent_error_reply("%s: the range must lie inside a region and be at most %u bytes long",
                             op, max);
}

static json_t *op_load(struct agent_device *dev, const json_t *in)
{
    uint64_t off, len;
    struct agent_mr *m = find_range(dev, in, &off, &len);

    if (!m || len > AGENT_DATA_MAX)
        return range_error("load", AGENT_DATA_MAX);
    return json_pack("{s:b, s:o}", "ok", 1, "hex", json_hex(m->bytes + off, len));
}

static json_t *op_crc(struct agent_device *dev, const json_t *in)
{
    uint64_t off, len;
    struct agent_mr *m = find_range(dev, in, &off, &len);

    if (!m || len > AGENT_CRC_MAX)
        return range_error("crc", AGENT_CRC_MAX);
    return json_pack("{s:b, s:I}", "ok", 1, "crc32", (json_int_t)agent_crc32(m->bytes + off, len));
}

static bool service_of(const json_t *in, enum ibv_qp_type *out)
{
    static const struct {
        const char *name;
        enum ibv_qp_type type;
    } services[] = {{"RC", IBV_QPT_RC}, {"UC", IBV_QPT_UC}, {"UD", IBV_QPT_UD}};
    const json_t *value = json_object_get(in, "type");
    const char *name = value ? json_string_value(value) : "RC";

    for (size_t i = 0; name && i < sizeof(services) / sizeof(services[0]); i++)
        if (strcmp(name, services[i].name) == 0) {
            *out = services[i].type;
            return true;
        }
    return false;
}

static json_t *op_qp(struct agent_device *dev, const json_t *in)
{
    struct agent_qp_caps caps = {0};
    enum ibv_qp_type type;
    uint64_t send, recv, inlined;
    uint32_t qp, srq, cq;

    if (!service_of(in, &type))
        return agent_error_reply("qp: type must be RC, UC or UD");
    if (!agent_read_number(in, "max_send", AGENT_CQ_LEN, 1, &send) ||
        !agent_read_number(in, "max_recv", AGENT_CQ_LEN, 1, &recv))
        return agent_error_reply("qp: max_send and max_recv must not exceed %u", AGENT_CQ_LEN);
    if (!agent_read_number(in, "max_inline", UINT16_MAX, 0, &inlined))
        return agent_error_reply("qp: max_inline must not exceed %u", UINT16_MAX);
    if (json_object_get(in, "srq")) {
        if (!agent_which_srq(dev, in, &srq))
            return agent_error_reply("qp: no SRQ has this number");
        caps.srq = dev->srq[srq];
    }
    if (json_object_get(in, "cq")) {
        if (!agent_which_cq(dev, in, &cq))
            return agent_error_reply("qp: no CQ has this number");
        caps.cq = dev->own_cq[cq].cq;
    }
    if (!agent_read_pd(dev, in, &caps.pd))
        return agent_error_reply("qp: no protection domain has this number");
    caps.max_send = (uint32_t)send;
    caps.max_recv = (uint32_t)recv;
    caps.max_inline = (uint32_t)inlined;
    if (agent_qp_new(dev, type, &caps, &qp) != 0)
        return agent_ok_or_error(dev, -1);
    return json_pack("{s:b, s:I, s:I}", "ok", 1, "qp", (json_int_t)qp, "qpn",
                     (json_int_t)dev->qp[qp].qp->qp_num);
}

static json_t *op_connect(struct agent_device *dev, const json_t *in)
{
    struct agent_connect to;
    uint32_t qp;

    if (!agent_which_qp(dev, in, &qp))
        return agent_error_reply("connect: no QP has this number");
    if (!agent_read_gid(in, &to.dgid))
        return agent_error_reply("connect: dgid must be an IPv6 address (IPv4 as ::ffff:a.b.c.d)");
    if (!agent_read_connect(in, &to))
        return agent_error_reply("connect: a number is out of range");
    return agent_ok_or_error(dev, agent_qp_connect(dev, qp, &to));
}

static json_t *op_delete(struct agent_device *dev, const json_t *in)
{
    uint32_t number;

    if (agent_which_srq(dev, in, &number))
        return agent_ok_or_error(dev, agent_srq_del(dev, number));
    if (agent_which_mw(dev, in, &number))
        return agent_ok_or_error(dev, agent_mw_del(dev, number));
    if (agent_which_cq(dev, in, &number))
        return agent_ok_or_error(dev, agent_cq_del(dev, number));
    if (agent_which_pd(dev, in, &number))
        return agent_ok_or_error(dev, agent_pd_del(dev, number));
    return agent_which_qp(dev, in, &number) ? agent_ok_or_error(dev, agent_qp_del(dev, number))
                                            : agent_error_reply("delete: no QP has this number");
}

static json_t *op_recv(struct agent_device *dev, const json_t *in)
{
    struct agent_place place;
    bool shared = json_object_get(in, "srq") != NULL;
    uint64_t len, id;
    uint32_t queue;

    if (!(shared ? agent_which_srq(dev, in, &queue) : agent_which_qp(dev, in, &queue)) ||
        !agent_read_number(in, "len", UINT32_MAX / 2, 0, &len) ||
        !agent_read_number(in, "id", UINT64_MAX, 0, &id) || !agent_read_place(in, &place))
        return agent_error_reply("recv: id, len, and qp or srq are required");
    return agent_ok_or_error(dev, shared ? agent_srq_recv(dev, queue, id, (uint32_t)len, &place)
                                         : agent_recv(dev, queue, id, (uint32_t)len, &place));
}

static bool opcode_of(const json_t *in, enum ibv_wr_opcode *out)
{
    static const struct {
        const char *name;
        enum ibv_wr_opcode opcode;
    } opcodes[] = {
        {"send", IBV_WR_SEND},
        {"send_imm", IBV_WR_SEND_WITH_IMM},
        {"send_inv", IBV_WR_SEND_WITH_INV},
        {"write", IBV_WR_RDMA_WRITE},
        {"write_imm", IBV_WR_RDMA_WRITE_WITH_IMM},
        {"read", IBV_WR_RDMA_READ},
        {"cmp_swap", IBV_WR_ATOMIC_CMP_AND_SWP},
        {"fetch_add", IBV_WR_ATOMIC_FETCH_AND_ADD},
        {"local_inv", IBV_WR_LOCAL_INV},
    };
    const char *name = json_string_value(json_object_get(in, "opcode"));

    for (size_t i = 0; name && i < sizeof(opcodes) / sizeof(opcodes[0]); i++)
        if (strcmp(name, opcodes[i].name) == 0) {
            *out = opcodes[i].opcode;
            return true;
        }
    return false;
}

static json_t *op_send(struct agent_device *dev, const json_t *in)
{
    const json_t *hex = json_object_get(in, "hex");
    struct agent_send send = {0};
    const char *dgid = json_string_value(json_object_get(in, "dgid"));
    uint64_t len, rkey, imm, invalidate, gid, qpn, qkey, hops, tclass;
    uint32_t qp, cnt = 0;
    uint8_t *bytes = NULL;
    json_t *out;

    if (!agent_which_qp(dev, in, &qp))
        return agent_error_reply("send: no QP has this number");
    if (!opcode_of(in, &send.opcode))
        return agent_error_reply("send: opcode must be one of send, send_imm, send_inv, write, "
                                 "write_imm, read, cmp_swap, fetch_add, local_inv");
    if (!agent_read_number(in, "len", UINT32_MAX / 2, 0, &len) ||
        !agent_read_number(in, "id", UINT64_MAX, 0, &send.id) ||
        !agent_read_number(in, "remote_addr", UINT64_MAX, 0, &send.remote_addr) ||
        !agent_read_number(in, "rkey", UINT32_MAX, 0, &rkey) ||
        !agent_read_number(in, "imm", UINT32_MAX, 0, &imm) ||
        !agent_read_number(in, "invalidate", UINT32_MAX, 0, &invalidate) ||
        !agent_read_number(in, "compare_add", UINT64_MAX, 0, &send.compare_add) ||
        !agent_read_number(in, "swap", UINT64_MAX, 0, &send.swap) ||
        !agent_read_number(in, "gid_index", 255, 0, &gid) ||
        !agent_read_number(in, "dest_qpn", 0xFFFFFF, 0, &qpn) ||
        !agent_read_number(in, "qkey", UINT32_MAX, 0, &qkey) ||
        !agent_read_number(in, "hop_limit", 255, 64, &hops) ||
        !agent_read_number(in, "traffic_class", 255, 0, &tclass) ||
        !agent_read_place(in, &send.place))
        return agent_error_reply("send: a number is out of range");
    if (dgid && inet_pton(AF_INET6, dgid, &send.dgid) != 1)
        return agent_error_reply("send: dgid must be an IPv6 address (IPv4 as ::ffff:a.b.c.d)");
    send.gid_index = (int)gid;
    send.dest_qpn = (uint32_t)qpn;
    send.qkey = (uint32_t)qkey;
    send.hop_limit = (uint8_t)hops;
    send.tclass = (uint8_t)tclass;
    send.len = (uint32_t)len;
    send.rkey = (uint32_t)rkey;
    send.imm = (uint32_t)imm;
    send.invalidate = (uint32_t)invalidate;
    send.solicited = json_is_true(json_object_get(in, "solicited"));
    send.fence = json_is_true(json_object_get(in, "fence"));
    send.unsignaled = json_is_true(json_object_get(in, "unsignaled"));
    send.inlined = json_is_true(json_object_get(in, "inline"));
    if (hex) {
        bytes = agent_bytes_of(hex, &cnt);
        if (!bytes)
            return agent_error_reply("send: hex must be at most %u bytes", AGENT_DATA_MAX);
        send.len = cnt;
    }
    out = agent_ok_or_error(dev, agent_send(dev, qp, &send, bytes));
    free(bytes);
    return out;
}

static json_t *op_poll(struct agent_device *dev, const json_t *in)
{
    json_t *list = json_array();
    struct agent_completion c;
    int rc = 0;

    for (unsigned i = 0; list && i < AGENT_POLL_MAX && (rc = agent_poll(dev, &c)) == 1; i++) {
        json_t *item =
            json_pack("{s:I, s:I, s:b, s:i, s:s, s:I, s:I, s:o}", "qp", (json_int_t)c.qp, "id",
                      (json_int_t)c.id, "recv", c.recv, "status", (int)c.status, "text",
                      ibv_wc_status_str(c.status), "len", (json_int_t)c.len, "crc32",
                      (json_int_t)c.crc32, "first", json_hex(c.first, c.len < 8 ? c.len : 8));

        if (c.has_imm)
            json_object_set_new(item, "imm", json_integer((json_int_t)c.imm));
        if (c.status == IBV_WC_SUCCESS)
            json_object_set_new(item, "byte_len", json_integer((json_int_t)c.byte_len));
        if (c.has_invalidated)
            json_object_set_new(item, "invalidated", json_integer((json_int_t)c.invalidated));
        if (c.datagram)
            json_object_set_new(item, "src_qpn", json_integer((json_int_t)c.src_qpn));
        json_array_append_new(list, item);
    }
    if (rc < 0) {
        json_decref(list);
        return agent_error_reply("%s", dev->error.text);
    }
    if (json_is_true(json_object_get(in, "events")))
        return json_pack("{s:b, s:o, s:o, s:o}", "ok", 1, "completions", list, "events",
                         agent_rpc_events(dev), "notified", agent_rpc_notified(dev));
    return json_pack("{s:b, s:o}", "ok", 1, "completions", list);
}

static const struct {
    const char *name;
    json_t *(*run)(struct agent_device *dev, const json_t *in);
} ops[] = {
    {"hello", op_hello},
    {"mr", op_mr},
    {"withdraw", op_withdraw},
    {"register", op_register},
    {"store", op_store},
    {"load", op_load},
    {"crc", op_crc},
    {"qp", op_qp},
    {"connect", op_connect},
    {"delete", op_delete},
    {"recv", op_recv},
    {"send", op_send},
    {"poll", op_poll},
    {"query", agent_op_query},
    {"modify", agent_op_modify},
    {"srq", agent_op_srq},
    {"mw", agent_op_mw},
    {"bind", agent_op_bind},
    {"pd", agent_op_pd},
    {"cq", agent_op_cq},
    {"arm", agent_op_arm},
};

json_t *agent_rpc_answer(struct agent_device *dev, const char *line, size_t len)
{
    json_error_t json_error;
    json_t *in = json_loadb(line, len, JSON_REJECT_DUPLICATES, &json_error);
    const char *name = json_string_value(json_object_get(in, "op"));
    json_t *out = NULL;

    dev->code = 0;
    if (!in || !json_is_object(in)) {
        out =
            agent_error_reply("not a JSON object: %s", in ? "another JSON value" : json_error.text);
        if (!out)
            out = agent_error_reply("not a JSON object");
        json_object_set_new(out, "end", json_true());
    } else {
        for (size_t i = 0; name && i < sizeof(ops) / sizeof(ops[0]) && !out; i++)
            if (strcmp(name, ops[i].name) == 0)
                out = ops[i].run(dev, in);
        if (!out)
            out = name ? agent_error_reply("unknown op %.64s", name)
                       : agent_error_reply("op required");
        if (!out) /* json_pack() failed, because %.64s cut the name inside a UTF-8 character */
            out = agent_error_reply("unknown op");
    }
    json_decref(in);
    return out;
}
