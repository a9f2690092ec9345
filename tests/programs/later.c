/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Later: tests what rdma-core added to the verbs header after release 44. The program calls an
 * added function through the header only if this system's header declares it (macros HAVE_... of
 * rnic/verbs/CMakeLists.txt). It also looks functions up by name, so that they are tested with
 * every header.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <dlfcn.h>
#include <fcntl.h>
#include <rdma/rdma_user_cm.h>
#include <unistd.h>
#include "both.h"

static struct ibv_context *context;

static void *name(const char *symbol, const char *node)
{
    void *found = dlvsym(RTLD_DEFAULT, symbol, node);
    if (!found)
        die("the library lacks %s@%s", symbol, node);
    return found;
}

/* Our library must have every symbol of every release of libibverbs, so that a program built with
 * any release of rdma-core starts. */
static void names(void)
{
    static const struct {
        const char *symbol, *node;
    } all[] = {
        {"ibv_alloc_dmah", "IBVERBS_1.15"},
        {"ibv_dealloc_dmah", "IBVERBS_1.15"},
        {"ibv_reg_mr_ex", "IBVERBS_1.15"},
        {"ibv_dm_export_dmabuf_fd", "IBVERBS_1.16"},
        {"ibv_query_port_speed", "IBVERBS_1.16"},
        {"ibv_alloc_buf", "IBVERBS_1.17"},
        {"ibv_free_buf", "IBVERBS_1.17"},
        {"ibv_reg_buf_mr", "IBVERBS_1.17"},
        {"_ibv_query_comp_cntr_caps", "IBVERBS_1.18"},
        {"ibv_create_comp_cntr", "IBVERBS_1.18"},
        {"ibv_destroy_comp_cntr", "IBVERBS_1.18"},
        {"ibv_export_buf_dmabuf_fd", "IBVERBS_1.18"},
        {"ibv_inc_comp_cntr", "IBVERBS_1.18"},
        {"ibv_inc_err_comp_cntr", "IBVERBS_1.18"},
        {"ibv_qp_attach_comp_cntr", "IBVERBS_1.18"},
        {"ibv_read_comp_cntr", "IBVERBS_1.18"},
        {"ibv_read_err_comp_cntr", "IBVERBS_1.18"},
        {"ibv_set_comp_cntr", "IBVERBS_1.18"},
        {"ibv_set_err_comp_cntr", "IBVERBS_1.18"},
        {"ibv_cmd_create_cq_ex2", "IBVERBS_PRIVATE_34"},
        {"ibv_cmd_create_cq_ex2", "IBVERBS_PRIVATE_65"},
        {"ibv_query_gid_type", "IBVERBS_PRIVATE_65"},
        {"verbs_register_driver_65", "IBVERBS_PRIVATE_65"},
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        name(all[i].symbol, all[i].node);
    const char *(*word)(enum ibv_wr_opcode);
    *(void **)&word = name("ibv_wr_opcode_str", "IBVERBS_PRIVATE_34");
    MUST(strcmp(word(IBV_WR_RDMA_READ), "rdma-read") == 0);
    MUST(strcmp(word((enum ibv_wr_opcode)1000), "unknown") == 0);
}

static void port_speed(void)
{
    int (*speed_of)(struct ibv_context *, uint32_t, uint64_t *);
    *(void **)&speed_of = name("ibv_query_port_speed", "IBVERBS_1.16");
    uint64_t speed = 0;
    int result = speed_of(context, 1, &speed);
    /* The loopback interface has no speed, so the call may fail. */
    MUST(result == EOPNOTSUPP || (result == 0 && speed > 0));
    MUST(speed_of(context, 2, &speed) == EINVAL);
}

static void no_completion_counter(void)
{
    void *(*create)(struct ibv_context *, void *);
    int (*caps_of)(struct ibv_context *, void *, size_t);
    char room[64] = "";
    *(void **)&create = name("ibv_create_comp_cntr", "IBVERBS_1.18");
    *(void **)&caps_of = name("_ibv_query_comp_cntr_caps", "IBVERBS_1.18");
    errno = 0;
    MUST(create(context, room) == NULL && errno == EOPNOTSUPP);
    MUST(caps_of(context, room, sizeof room) == EOPNOTSUPP);
}

/* Allocates and registers a buffer through the device (ibv_alloc_buf()). The handle of the buffer
 * is an opaque pointer, so no header is needed. */
static void buffer(void)
{
    struct both both;
    void *(*alloc)(struct ibv_pd *, size_t, void **);
    void (*release)(void *);
    struct ibv_mr *(*reg)(struct ibv_pd *, void *, void *, size_t, int);
    int (*export)(void *);
    *(void **)&alloc = name("ibv_alloc_buf", "IBVERBS_1.17");
    *(void **)&release = name("ibv_free_buf", "IBVERBS_1.17");
    *(void **)&reg = name("ibv_reg_buf_mr", "IBVERBS_1.17");
    *(void **)&export = name("ibv_export_buf_dmabuf_fd", "IBVERBS_1.18");
    both_open(&both, context);
    void *handle = NULL;
    char *bytes = alloc(both.b.pd, 10000, &handle);
    MUST(bytes && handle && (uintptr_t)bytes % (uintptr_t)sysconf(_SC_PAGESIZE) == 0);
    memset(bytes, 0, 10000);
    struct ibv_mr *mr = reg(both.b.pd, handle, bytes + 5000, 5000, ALL_ACCESS);
    MUST(mr != NULL && mr->addr == bytes + 5000);
    MUST(both_write(&both, (uintptr_t)bytes + 5000, mr->rkey, 5000) == IBV_WC_SUCCESS);
    MUST(memcmp(bytes + 5000, both.buf_a, 5000) == 0 && bytes[4999] == 0);
    errno = 0;
    MUST(reg(both.b.pd, handle, bytes + 5000, 5001, ALL_ACCESS) == NULL && errno == EINVAL);
    errno = 0;
    MUST(reg(both.b.pd, handle, bytes - 1, 10, ALL_ACCESS) == NULL && errno == EINVAL);
    errno = 0;
    MUST(reg(both.a.pd, handle, bytes, 10, ALL_ACCESS) == NULL && errno == EINVAL);
    errno = 0;
    MUST(export(handle) == -1 && errno == ENODATA);
    MUST(ibv_dereg_mr(mr) == 0);
    release(handle);
    both_close(&both);
}

static void by_attributes(void)
{
#ifdef HAVE_VERBS_REG_MR_EX
    struct both both;
    both_open(&both, context);
    static char bytes[BUF];
    struct ibv_mr_init_attr attr = {.length = sizeof bytes,
                                    .access = ALL_ACCESS,
                                    .comp_mask = IBV_REG_MR_MASK_ADDR | IBV_REG_MR_MASK_IOVA,
                                    .addr = bytes,
                                    .iova = 0x10000};
    struct ibv_mr *mr = ibv_reg_mr_ex(both.b.pd, &attr);
    MUST(mr != NULL && mr->addr == bytes && mr->length == sizeof bytes);
    MUST(both_write(&both, 0x10000 + 64, mr->rkey, 1000) == IBV_WC_SUCCESS);
    MUST(memcmp(bytes + 64, both.buf_a, 1000) == 0);
    MUST(ibv_dereg_mr(mr) == 0);
    attr.comp_mask = IBV_REG_MR_MASK_IOVA;
    errno = 0;
    MUST(ibv_reg_mr_ex(both.b.pd, &attr) == NULL && errno == EINVAL);
    attr.comp_mask = IBV_REG_MR_MASK_ADDR | IBV_REG_MR_MASK_DMAH;
    errno = 0;
    MUST(ibv_reg_mr_ex(both.b.pd, &attr) == NULL && errno == EOPNOTSUPP);
    both_close(&both);
#else
    printf("(not in this header)");
#endif
}

/* Sends a FLUSH (A19) of a range and of a whole region: both must succeed. A FLUSH without the
 * access right must fail with a remote access error. */
static void flush(void)
{
#ifdef HAVE_VERBS_FLUSH
    struct both both;
    struct ibv_qp_init_attr_ex init = {
        .qp_type = IBV_QPT_RC,
        .cap = both_init(IBV_QPT_RC).cap,
        .comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
        .send_ops_flags = IBV_QP_EX_WITH_FLUSH | IBV_QP_EX_WITH_RDMA_WRITE,
    };
    const int flushes = IBV_ACCESS_FLUSH_GLOBAL | IBV_ACCESS_FLUSH_PERSISTENT;
    struct ibv_qp_init_attr plain = both_init(IBV_QPT_RC);
    memset(&both, 0, sizeof both);
    endpoint_open(&both.a, context, 32, &plain);
    plain = both_init(IBV_QPT_RC);
    endpoint_open(&both.b, context, 32, &plain);
    both_memory(&both);
    MUST(ibv_destroy_qp(both.a.qp) == 0);
    init.pd = both.a.pd;
    init.send_cq = init.recv_cq = both.a.cq;
    MUST((both.a.qp = ibv_create_qp_ex(context, &init)) != NULL);
    struct ibv_qp_attr attr = {
        .qp_state = IBV_QPS_INIT, .port_num = 1, .qp_access_flags = ALL_ACCESS | flushes};
    const int mask = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS;
    MUST(ibv_modify_qp(both.a.qp, &attr, mask) == 0);
    MUST(ibv_modify_qp(both.b.qp, &attr, IBV_QP_ACCESS_FLAGS) == 0);
    both_connect(&both);
    struct ibv_mr *mr = ibv_reg_mr(both.b.pd, both.buf_b, BUF, ALL_ACCESS | flushes);
    MUST(mr != NULL);
    struct ibv_qp_ex *qp = ibv_qp_to_qp_ex(both.a.qp);
    ibv_wr_start(qp);
    qp->wr_flags = 0;
    ibv_wr_rdma_write(qp, mr->rkey, (uintptr_t)both.buf_b);
    ibv_wr_set_sge(qp, both.mr_a->lkey, (uintptr_t)both.buf_a, BUF);
    qp->wr_id = 8;
    qp->wr_flags = IBV_SEND_SIGNALED;
    ibv_wr_flush(qp, mr->rkey, (uintptr_t)both.buf_b + 10, 100, IBV_FLUSH_GLOBAL, IBV_FLUSH_RANGE);
    qp->wr_id = 9;
    ibv_wr_flush(qp, mr->rkey, 0, 0, IBV_FLUSH_PERSISTENT, IBV_FLUSH_MR);
    MUST(ibv_wr_complete(qp) == 0);
    for (uint64_t wr_id = 8; wr_id < 10; wr_id++) {
        struct ibv_wc wc = endpoint_wait(both.a.cq);
        MUST(wc.status == IBV_WC_SUCCESS && wc.wr_id == wr_id && wc.opcode == IBV_WC_FLUSH);
    }
    MUST(memcmp(both.buf_a, both.buf_b, BUF) == 0);
    ibv_wr_start(qp);
    ibv_wr_flush(qp, both.mr_b->rkey, (uintptr_t)both.buf_b, 1, IBV_FLUSH_GLOBAL, IBV_FLUSH_RANGE);
    MUST(ibv_wr_complete(qp) == 0);
    MUST(endpoint_wait(both.a.cq).status == IBV_WC_REM_ACCESS_ERR);
    MUST(ibv_dereg_mr(mr) == 0);
    both_close(&both);
#else
    printf("(not in this header)");
#endif
}

/* ---- rdma_cm: the commands of Linux 6.17, as librdmacm writes them ----------------------------
 */

static const uint32_t event_user = 18; /* RDMA_CM_EVENT_USER */
static const uint32_t command_write_event = RDMA_USER_CM_CMD_JOIN_MCAST + 2;

/* Writes one rdma_cm command to the device file. The body begins with the address to which the
 * kernel writes its answer, as in struct rdma_ucm_create_id. Returns 0 or an errno. */
static int tell(int fd, uint32_t cmd, const void *body, uint16_t len, uint16_t out)
{
    struct {
        struct rdma_ucm_cmd_hdr hdr;
        char body[512];
    } message = {.hdr = {.cmd = cmd, .in = len, .out = out}};
    memcpy(message.body, body, len);
    size_t all = sizeof message.hdr + len;
    return write(fd, &message, all) == (ssize_t)all ? 0 : errno;
}

static void own_event(void)
{
    struct rdma_ucm_create_id_resp id = {0};
    struct rdma_ucm_event_resp resp;
    const struct rdma_ucm_create_id create = {
        .uid = 4711, .response = (uintptr_t)&id, .ps = 0x0106 /* RDMA_PS_TCP */};
    const struct rdma_ucm_get_event get = {.response = (uintptr_t)&resp};
    struct {
        uint32_t id, reserved, event, status;
        uint64_t arg;
    } put = {.event = event_user, .status = 0x11223344, .arg = 0x55667788aabbccdd};
    uint64_t arg;
    int fd = open("/dev/infiniband/rdma_cm", O_RDWR | O_CLOEXEC | O_NONBLOCK);
    MUST(fd >= 0);
    MUST(tell(fd, RDMA_USER_CM_CMD_CREATE_ID, &create, sizeof create, sizeof id) == 0);
    put.id = id.id;
    MUST(tell(fd, command_write_event, &put, sizeof put, 0) == 0);
    MUST(tell(fd, RDMA_USER_CM_CMD_GET_EVENT, &get, sizeof get, sizeof resp) == 0);
    memcpy(&arg, &resp.param, sizeof arg);
    MUST(resp.uid == 4711 && resp.id == id.id && resp.event == event_user &&
         resp.status == 0x11223344 && arg == put.arg);
    MUST(tell(fd, RDMA_USER_CM_CMD_GET_EVENT, &get, sizeof get, sizeof resp) == EAGAIN);
    put.event = 0; /* RDMA_CM_EVENT_ADDR_RESOLVED: a program is not allowed to write this event */
    MUST(tell(fd, command_write_event, &put, sizeof put, 0) == EINVAL);
    put.event = event_user;
    put.id++;
    MUST(tell(fd, command_write_event, &put, sizeof put, 0) == ENOENT);
    /* Must fail: the command RESOLVE_IB_SERVICE is not supported. */
    MUST(tell(fd, command_write_event - 1, &put, sizeof put, 0) == ENOSYS);
    /* Must fail: no command has this number. */
    MUST(tell(fd, command_write_event + 1, &put, sizeof put, 0) == EINVAL);
    MUST(close(fd) == 0);
}

/* Tests the same commands through librdmacm, if it has version RDMACM_1.4. The header of librdmacm
 * is not needed: handles are opaque pointers, and the test reads only one member of an event,
 * `event`, which follows two pointers. */
static void addrinfo(void)
{
    void *library = dlopen("librdmacm.so.1", RTLD_NOW);
    if (!library || !dlvsym(library, "rdma_resolve_addrinfo", "RDMACM_1.4")) {
        printf("(not in this librdmacm)");
        return;
    }
    struct event {
        void *id, *listen_id;
        int event;
    } *event = NULL;
    void *(*create_channel)(void);
    int (*create_id)(void *, void **, void *, int);
    int (*resolve)(void *, const char *, const char *, const void *);
    int (*query)(void *, void **);
    void (*free_info)(void *);
    int (*get_event)(void *, struct event **);
    int (*ack_event)(struct event *);
    int (*write_event)(void *, int, int, uint64_t);
    int (*destroy_id)(void *);
    void (*destroy_channel)(void *);
    *(void **)&create_channel = dlsym(library, "rdma_create_event_channel");
    *(void **)&create_id = dlsym(library, "rdma_create_id");
    *(void **)&resolve = dlsym(library, "rdma_resolve_addrinfo");
    *(void **)&query = dlsym(library, "rdma_query_addrinfo");
    *(void **)&free_info = dlsym(library, "rdma_freeaddrinfo");
    *(void **)&get_event = dlsym(library, "rdma_get_cm_event");
    *(void **)&ack_event = dlsym(library, "rdma_ack_cm_event");
    *(void **)&write_event = dlsym(library, "rdma_write_cm_event");
    *(void **)&destroy_id = dlsym(library, "rdma_destroy_id");
    *(void **)&destroy_channel = dlsym(library, "rdma_destroy_event_channel");
    void *channel = create_channel(), *id = NULL, *info = NULL;
    MUST(channel && create_id(channel, &id, NULL, 0x0106) == 0);
    MUST(resolve(id, "127.0.0.1", "7471", NULL) == 0);
    MUST(get_event(channel, &event) == 0 && event->id == id && event->event == 16); /* RESOLVED */
    MUST(ack_event(event) == 0);
    MUST(query(id, &info) == 0 && info);
    free_info(info);
    MUST(write_event(id, (int)event_user, 5, 6) == 0);
    MUST(get_event(channel, &event) == 0 && event->id == id && event->event == (int)event_user);
    MUST(ack_event(event) == 0);
    MUST(destroy_id(id) == 0);
    destroy_channel(channel);
}

int main(int argc, char **argv)
{
    static const struct both_case cases[] = {
        {"names", names},
        {"port_speed", port_speed},
        {"no_completion_counter", no_completion_counter},
        {"buffer", buffer},
        {"by_attributes", by_attributes},
        {"flush", flush},
        {"own_event", own_event},
        {"addrinfo", addrinfo},
    };
    context = endpoint_device(NULL);
    int status = both_run(cases, sizeof cases / sizeof *cases, argc, argv);
    MUST(ibv_close_device(context) == 0);
    return status;
}
