/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Raw packet QPs and their flow rules (ibv_create_flow()), with the calls of libpcap's RDMA
 * sniffer. With RNIC_WIRE=shm the device has no raw packet QPs, because its frames are in shared
 * memory and pass no interface.
 *
 * raw [CASE]
 */
#include <arpa/inet.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <poll.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "both.h"

#define FRAMES  128u
#define FRAME   10000u /* size of a receive buffer, bytes */
#define QUIET   300    /* time without a frame after which none is expected, ms */
#define PATIENT 10000  /* longest wait for a frame, ms */
#define ROCE    4791u

static struct ibv_context *context;
static unsigned listed; /* number of calls of pcap_create() below */

/* ---- libpcap with an RDMA sniffer -------------------------------------------------------------
 */

struct pcap *pcap_create(const char *device, char *error);

/* Replaces the function of libpcap, which our device calls when it is opened. First lists the RDMA
 * devices, as a libpcap with an RDMA sniffer does. */
__attribute__((visibility("default"))) struct pcap *pcap_create(const char *device, char *error)
{
    struct pcap *(*next)(const char *, char *) = NULL;
    void *found = dlsym(RTLD_NEXT, "pcap_create");
    struct ibv_device **list = ibv_get_device_list(NULL);
    MUST(found && list);
    ibv_free_device_list(list);
    memcpy(&next, &found, sizeof next);
    listed++;
    return next(device, error);
}

/* ---- a raw packet QP ------------------------------------------------------------------------- */

struct raw {
    struct ibv_comp_channel *channel;
    struct ibv_pd *pd;
    struct ibv_cq *cq;
    struct ibv_qp *qp;
    struct ibv_mr *mr;
    struct ibv_flow *flow;
    uint8_t *buf;
};

static struct ibv_qp_init_attr raw_init(struct ibv_cq *cq)
{
    return (struct ibv_qp_init_attr){
        .send_cq = cq,
        .recv_cq = cq,
        .qp_type = IBV_QPT_RAW_PACKET,
        .cap = {.max_send_wr = 4, .max_send_sge = 1, .max_recv_wr = FRAMES, .max_recv_sge = 1}};
}

static void post(struct raw *raw, uint64_t i)
{
    struct ibv_sge sge = {(uintptr_t)raw->buf + FRAME * i, FRAME, raw->mr->lkey};
    struct ibv_recv_wr wr = {.wr_id = i, .sg_list = &sge, .num_sge = 1}, *bad;
    MUST(ibv_post_recv(raw->qp, &wr, &bad) == 0);
}

/* Opens a raw packet QP in RTS. Creates the flow `flow` if it is not NULL. */
static void raw_open(struct raw *raw, struct ibv_flow_attr *flow)
{
    struct ibv_qp_attr attr = {.qp_state = IBV_QPS_INIT, .port_num = 1};
    memset(raw, 0, sizeof *raw);
    MUST((raw->pd = ibv_alloc_pd(context)) != NULL);
    MUST((raw->channel = ibv_create_comp_channel(context)) != NULL);
    MUST((raw->cq = ibv_create_cq(context, FRAMES, NULL, raw->channel, 0)) != NULL);
    MUST(ibv_req_notify_cq(raw->cq, 0) == 0);
    struct ibv_qp_init_attr init = raw_init(raw->cq);
    MUST((raw->qp = ibv_create_qp(raw->pd, &init)) != NULL);
    MUST(ibv_modify_qp(raw->qp, &attr, IBV_QP_STATE | IBV_QP_PORT) == 0);
    attr.qp_state = IBV_QPS_RTR;
    MUST(ibv_modify_qp(raw->qp, &attr, IBV_QP_STATE) == 0);
    attr.qp_state = IBV_QPS_RTS;
    MUST(ibv_modify_qp(raw->qp, &attr, IBV_QP_STATE) == 0);
    if (flow)
        MUST((raw->flow = ibv_create_flow(raw->qp, flow)) != NULL);
    MUST((raw->buf = malloc((size_t)FRAMES * FRAME)) != NULL);
    MUST((raw->mr = ibv_reg_mr(raw->pd, raw->buf, (size_t)FRAMES * FRAME,
                               IBV_ACCESS_LOCAL_WRITE)) != NULL);
    for (unsigned i = 0; i < FRAMES; i++)
        post(raw, i);
}

static void raw_close(struct raw *raw)
{
    MUST(!raw->flow || ibv_destroy_flow(raw->flow) == 0);
    MUST(ibv_destroy_qp(raw->qp) == 0 && ibv_destroy_cq(raw->cq) == 0);
    MUST(ibv_dereg_mr(raw->mr) == 0 && ibv_dealloc_pd(raw->pd) == 0);
    MUST(ibv_destroy_comp_channel(raw->channel) == 0);
    free(raw->buf);
}

/* Waits at most `ms` for a frame. Returns its length, or 0 if there is none. The frame is valid
 * until FRAMES more frames have arrived. */
static uint32_t next_frame(struct raw *raw, int ms, const uint8_t **frame)
{
    struct pollfd fd = {.fd = raw->channel->fd, .events = POLLIN};
    struct ibv_cq *cq;
    struct ibv_wc wc;
    void *user;
    while (ibv_poll_cq(raw->cq, 1, &wc) == 0) {
        if (poll(&fd, 1, ms) == 0)
            return 0;
        MUST(ibv_get_cq_event(raw->channel, &cq, &user) == 0 && cq == raw->cq);
        ibv_ack_cq_events(cq, 1);
        MUST(ibv_req_notify_cq(cq, 0) == 0);
    }
    MUST(wc.status == IBV_WC_SUCCESS);
    if (wc.opcode == IBV_WC_SEND)
        return next_frame(raw, ms, frame);
    MUST(wc.opcode == IBV_WC_RECV && wc.qp_num == raw->qp->qp_num && wc.wc_flags == 0);
    *frame = raw->buf + FRAME * wc.wr_id;
    post(raw, wc.wr_id);
    return wc.byte_len;
}

/* ---- building frames ------------------------------------------------------------------------- */

static const uint8_t dst_mac[] = {2, 0, 0, 0, 0, 0x10}, src_mac[] = {2, 0, 0, 0, 0, 0x20};

/* Writes an IPv4 frame from 192.0.2.1 to 192.0.2.2 with these ports; returns its length. */
static uint32_t make(uint8_t *to, uint8_t proto, uint16_t from_port, uint16_t to_port)
{
    static const uint8_t ip[] = {0x45, 0, 0,   46, 0, 1, 0,   0, 64, 0,
                                 0,    0, 192, 0,  2, 1, 192, 0, 2,  2};
    memset(to, 0x5A, 60);
    memcpy(to, dst_mac, 6);
    memcpy(to + 6, src_mac, 6);
    to[12] = 0x08;
    to[13] = 0x00;
    memcpy(to + 14, ip, sizeof ip);
    to[23] = proto;
    to[34] = (uint8_t)(from_port >> 8);
    to[35] = (uint8_t)from_port;
    to[36] = (uint8_t)(to_port >> 8);
    to[37] = (uint8_t)to_port;
    return 60;
}

static void send_frame(struct raw *raw, const uint8_t *frame, uint32_t len)
{
    struct ibv_sge sge = {(uintptr_t)frame, len, 0};
    struct ibv_send_wr wr = {.wr_id = 7,
                             .sg_list = &sge,
                             .num_sge = 1,
                             .opcode = IBV_WR_SEND,
                             .send_flags = IBV_SEND_INLINE},
                       *bad;
    MUST(ibv_post_send(raw->qp, &wr, &bad) == 0);
}

static unsigned be16(const uint8_t *at)
{
    return (unsigned)at[0] << 8 | at[1];
}

/* Returns the BTH of a RoCEv2 packet over IPv4 or IPv6, or NULL. */
static const uint8_t *bth(const uint8_t *frame)
{
    const uint8_t *udp = be16(frame + 12) == 0x0800 ? frame + 34 : frame + 54;
    return be16(udp + 2) == ROCE ? udp + 8 : NULL;
}

/* ---- the cases of this program --------------------------------------------------------------- */

/* A QP with a sniffer flow must receive nothing while there is no traffic, and then the packets of
 * an RC WRITE and its acknowledgement. */
static void sniffer(void)
{
    struct ibv_flow_attr attr = {.type = IBV_FLOW_ATTR_SNIFFER, .size = sizeof attr, .port = 1};
    const uint8_t *frame;
    struct both both;
    struct raw raw;
    unsigned writes = 0, acks = 0;
    raw_open(&raw, &attr);
    MUST(next_frame(&raw, QUIET, &frame) == 0);
    both_open(&both, context);
    MUST(both_write(&both, (uintptr_t)both.buf_b, both.mr_b->rkey, 4000) == IBV_WC_SUCCESS);
    while (writes < 4 || acks < 1) { /* path MTU 1024: First, two Middle, Last */
        uint32_t len = next_frame(&raw, PATIENT, &frame);
        MUST(len > 54 && bth(frame) != NULL);
        const uint8_t *at = bth(frame);
        uint32_t qpn = (uint32_t)at[5] << 16 | (uint32_t)at[6] << 8 | at[7];
        if (at[0] == 0x11) {
            MUST(qpn == both.a.qp->qp_num);
            acks++;
            continue;
        }
        MUST(qpn == both.b.qp->qp_num && at[0] >= 0x06 && at[0] <= 0x08);
        uint32_t off = writes * 1024, payload = writes == 3 ? 4000 - 3072 : 1024;
        const uint8_t *data = at + 12 + (at[0] == 0x06 ? 16 : 0);
        MUST(data + payload + 4 == frame + len);
        MUST(memcmp(data, both.buf_a + off, payload) == 0);
        writes++;
    }
    both_close(&both);
    raw_close(&raw);
}

/* Two flow rules receive the frames that match them, and a third rule receives all other frames. */
static void flows(void)
{
    struct {
        struct ibv_flow_attr attr;
        struct ibv_flow_spec_eth eth;
        struct ibv_flow_spec_ipv4_ext ip;
        struct ibv_flow_spec_tcp_udp ports;
    } spec = {
        .attr = {.size = sizeof spec, .num_of_specs = 3, .port = 1},
        .eth = {.type = IBV_FLOW_SPEC_ETH, .size = sizeof spec.eth},
        .ip = {.type = IBV_FLOW_SPEC_IPV4_EXT,
               .size = sizeof spec.ip,
               .val = {.dst_ip = htonl(0xC0000202), .proto = 17},
               .mask = {.dst_ip = 0xFFFFFFFF, .proto = 0xFF}},
        .ports = {.type = IBV_FLOW_SPEC_UDP,
                  .size = sizeof spec.ports,
                  .val = {.dst_port = htons(700)},
                  .mask = {.dst_port = 0xFFFF}},
    };
    struct ibv_flow_attr all = {.type = IBV_FLOW_ATTR_ALL_DEFAULT, .size = sizeof all, .port = 1};
    struct raw first, second, rest;
    const uint8_t *got;
    uint8_t frame[60], tagged[64];
    memcpy(spec.eth.val.dst_mac, dst_mac, 6);
    memset(spec.eth.mask.dst_mac, 0xFF, 6);
    raw_open(&first, &spec.attr);
    spec.ports.val.dst_port = htons(701);
    raw_open(&second, &spec.attr);
    raw_open(&rest, &all);
    struct raw *const takes[] = {&first, &second, &rest, &rest};
    for (unsigned i = 0; i < 4; i++) {
        uint32_t len = make(frame, i == 3 ? 6 : 17, 5, (uint16_t)(i == 3 ? 700 : 700 + i));
        send_frame(&rest, frame, len);
        MUST(next_frame(takes[i], PATIENT, &got) == len && memcmp(got, frame, len) == 0);
    }
    /* The kernel removes a VLAN tag from the frame, and the device restores it. */
    make(frame, 17, 5, 700);
    memcpy(tagged, frame, 12);
    memcpy(tagged + 12, (const uint8_t[]){0x81, 0x00, 0x60, 0x07}, 4);
    memcpy(tagged + 16, frame + 12, 48);
    send_frame(&second, tagged, sizeof tagged);
    MUST(next_frame(&first, PATIENT, &got) == sizeof tagged);
    MUST(memcmp(got, tagged, sizeof tagged) == 0);
    /* A RoCE packet is for the RC, UC and UD QPs of the device: a raw packet QP without a sniffer
     * flow must not receive it. */
    send_frame(&first, frame, make(frame, 17, 5, ROCE));
    MUST(next_frame(&first, QUIET, &got) == 0 && next_frame(&second, 0, &got) == 0 &&
         next_frame(&rest, 0, &got) == 0);
    /* After its flow is destroyed, a QP must receive no frames. */
    MUST(ibv_destroy_qp(first.qp) == EBUSY);
    MUST(ibv_destroy_flow(first.flow) == 0);
    first.flow = NULL;
    send_frame(&second, frame, make(frame, 17, 5, 700));
    MUST(next_frame(&rest, PATIENT, &got) == 60 && next_frame(&first, 0, &got) == 0);
    raw_close(&first);
    raw_close(&second);
    raw_close(&rest);
}

/* The device must refuse the flows that it does not support, and a raw packet QP of a program
 * without CAP_NET_RAW. */
static void refused(void)
{
    struct ibv_flow_attr attr = {.type = IBV_FLOW_ATTR_SNIFFER, .size = sizeof attr, .port = 2};
    struct {
        struct ibv_flow_attr attr;
        struct ibv_flow_spec_tunnel tunnel;
    } vxlan = {
        .attr = {.size = sizeof vxlan, .num_of_specs = 1, .port = 1},
        .tunnel = {.type = IBV_FLOW_SPEC_VXLAN_TUNNEL, .size = sizeof vxlan.tunnel},
    };
    struct __user_cap_header_struct hdr = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct had[2], less[2];
    uint8_t frame[60];
    struct both both;
    struct raw raw;
    raw_open(&raw, NULL);
    MUST(!ibv_create_flow(raw.qp, &attr) && errno == EINVAL);
    attr.port = 1;
    attr.flags = IBV_FLOW_ATTR_FLAGS_EGRESS;
    MUST(!ibv_create_flow(raw.qp, &attr) && errno == EOPNOTSUPP);
    attr.flags = 0;
    MUST(!ibv_create_flow(raw.qp, &vxlan.attr) && errno == EOPNOTSUPP);
    vxlan.tunnel.type = IBV_FLOW_SPEC_ETH;
    MUST(!ibv_create_flow(raw.qp, &vxlan.attr) && errno == EINVAL);
    both_open(&both, context);
    MUST(!ibv_create_flow(both.a.qp, &attr) && errno == EINVAL);
    both_close(&both);
    struct ibv_sge sge = {(uintptr_t)frame, 13, 0};
    struct ibv_send_wr wr = {
        .sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND, .send_flags = IBV_SEND_INLINE};
    struct ibv_send_wr *bad;
    MUST(ibv_post_send(raw.qp, &wr, &bad) == EINVAL && bad == &wr);
    struct ibv_qp_init_attr init = raw_init(raw.cq);
    MUST(syscall(SYS_capget, &hdr, had) == 0);
    memcpy(less, had, sizeof less);
    less[0].effective &= ~(1u << CAP_NET_RAW);
    MUST(syscall(SYS_capset, &hdr, less) == 0);
    MUST(!ibv_create_qp(raw.pd, &init) && errno == EPERM);
    MUST(syscall(SYS_capset, &hdr, had) == 0);
    raw_close(&raw);
}

/* The context is closed while flows exist. A child of fork() must be able to close its copies of
 * the objects and to create new ones. */
static void left_open(void)
{
    struct ibv_flow_attr attr = {.type = IBV_FLOW_ATTR_SNIFFER, .size = sizeof attr, .port = 1};
    struct ibv_context *before = context;
    struct raw raw;
    context = endpoint_device(NULL);
    raw_open(&raw, &attr);
    pid_t pid = fork();
    if (pid == 0) {
        alarm(20);
        raw_close(&raw);
        raw_open(&raw, &attr);
        raw_close(&raw);
        _exit(0);
    }
    int status;
    MUST(pid > 0 && waitpid(pid, &status, 0) == pid && status == 0);
    MUST(ibv_close_device(context) == 0);
    free(raw.buf);
    context = before;
}

/* Returns whether the device reports that it does not support raw packet QPs, and refuses to create
 * one. */
static bool wire_has_none(void)
{
    struct ibv_device_attr attr;
    struct ibv_pd *pd = ibv_alloc_pd(context);
    struct ibv_cq *cq = ibv_create_cq(context, 4, NULL, NULL, 0);
    MUST(pd && cq && ibv_query_device(context, &attr) == 0);
    struct ibv_qp_init_attr init = raw_init(cq);
    struct ibv_qp *qp = ibv_create_qp(pd, &init);
    MUST(qp || errno == EOPNOTSUPP);
    MUST(!qp || ibv_destroy_qp(qp) == 0);
    MUST(ibv_destroy_cq(cq) == 0 && ibv_dealloc_pd(pd) == 0);
    MUST(!qp == !(attr.device_cap_flags & IBV_DEVICE_MANAGED_FLOW_STEERING));
    return !qp;
}

int main(int argc, char **argv)
{
    static const struct both_case cases[] = {
        {"sniffer", sniffer}, {"flows", flows}, {"refused", refused}, {"left_open", left_open}};
    const char *wire = getenv("RNIC_WIRE");
    context = endpoint_device(NULL);
    bool shm = wire && strcmp(wire, "shm") == 0;
    MUST(wire_has_none() == shm);
    MUST(shm || listed > 0);
    int status = both_run(cases, shm ? 0 : sizeof cases / sizeof *cases, argc, argv);
    MUST(ibv_close_device(context) == 0);
    return status;
}
