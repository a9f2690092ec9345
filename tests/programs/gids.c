/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * GIDs: adds and removes addresses of the interface while the device is open, and checks the GID
 * table. Each change must cause an event. An address must keep its GID index as long as it exists;
 * afterwards the index must be empty. A packet sent with an index must have the address that a
 * query of this index returns.
 */
#include <arpa/inet.h>
#include <poll.h>
#include "both.h"

static struct ibv_context *context;
static const char *iface;

static void ip(const char *what)
{
    char command[256];
    snprintf(command, sizeof command, "ip %s dev %s", what, iface);
    MUST(system(command) == 0);
}

static union ibv_gid gid_of(const char *text)
{
    union ibv_gid gid = {.raw = {[10] = 0xff, 0xff}};
    if (strchr(text, ':'))
        MUST(inet_pton(AF_INET6, text, gid.raw) == 1);
    else
        MUST(inet_pton(AF_INET, text, gid.raw + 12) == 1);
    return gid;
}

/* Returns the index of the RoCEv2 GID for an address, or -1 if there is none. Checks that all query
 * functions return the same GID for each index. */
static int index_of(const char *text)
{
    const union ibv_gid wanted = gid_of(text), zero = {.raw = {0}};
    struct ibv_gid_entry table[256], entry;
    struct ibv_port_attr port;
    int found = -1;
    MUST(ibv_query_port(context, 1, &port) == 0 && port.gid_tbl_len <= 256);
    ssize_t cnt = ibv_query_gid_table(context, table, 256, 0);
    MUST(cnt > 0);
    for (int i = 0, at = 0; i < port.gid_tbl_len; i++) {
        union ibv_gid gid;
        MUST(ibv_query_gid(context, 1, i, &gid) == 0);
        int result = ibv_query_gid_ex(context, 1, (uint32_t)i, &entry, 0);
        if (result != 0) {
            MUST(result == ENODATA && memcmp(&gid, &zero, sizeof gid) == 0);
            continue;
        }
        MUST(at < cnt && table[at].gid_index == (uint32_t)i && entry.gid_index == (uint32_t)i);
        MUST(memcmp(&gid, &entry.gid, sizeof gid) == 0);
        MUST(memcmp(&gid, &table[at].gid, sizeof gid) == 0);
        MUST(table[at++].gid_type == entry.gid_type);
        if (entry.gid_type == IBV_GID_TYPE_ROCE_V2 && memcmp(&gid, &wanted, sizeof gid) == 0) {
            MUST(found < 0);
            found = i;
        }
    }
    return found;
}

/* Waits for events until an address has a GID (`there` is true), or has no GID (`there` is false).
 * Returns the index of the GID. */
static int await(const char *text, bool there)
{
    struct pollfd pollfd = {.fd = context->async_fd, .events = POLLIN};
    struct ibv_async_event event;
    int index;
    while (((index = index_of(text)) >= 0) != there) {
        if (poll(&pollfd, 1, 10000) != 1)
            die("no event reported that %s %s", text, there ? "came" : "went");
        MUST(ibv_get_async_event(context, &event) == 0);
        MUST(event.event_type == IBV_EVENT_GID_CHANGE && event.element.port_num == 1);
        ibv_ack_async_event(&event);
    }
    return index;
}

/* Sends a datagram with GID index `index`. It must arrive with the source address `text`. */
static void sends_from(struct both *both, int index, const char *text)
{
    const union ibv_gid gid = gid_of(text);
    struct ibv_ah_attr to = {.is_global = 1,
                             .port_num = 1,
                             .grh = {.dgid = gid, .sgid_index = (uint8_t)index, .hop_limit = 1}};
    struct ibv_ah *ah = ibv_create_ah(both->a.pd, &to);
    struct ibv_ah_attr from;
    if (!ah)
        die("no address handle with index %d of %s: %s", index, text, strerror(errno));
    struct ibv_sge sge = {(uintptr_t)both->buf_a, 100, both->mr_a->lkey};
    struct ibv_send_wr wr = {.sg_list = &sge,
                             .num_sge = 1,
                             .opcode = IBV_WR_SEND,
                             .send_flags = IBV_SEND_SIGNALED,
                             .wr.ud = {ah, both->b.qp->qp_num, BOTH_QKEY}},
                       *bad;
    post_recv(both->b.qp, both->mr_b, 4, 200);
    MUST(ibv_post_send(both->a.qp, &wr, &bad) == 0);
    MUST(endpoint_wait(both->a.cq).status == IBV_WC_SUCCESS);
    struct ibv_wc wc = endpoint_wait(both->b.cq);
    MUST(wc.status == IBV_WC_SUCCESS && wc.byte_len == 140);
    MUST(ibv_init_ah_from_wc(context, 1, &wc, (void *)both->buf_b, &from) == 0);
    if (memcmp(&from.grh.dgid, &gid, sizeof gid) != 0)
        die("what was sent with index %d did not come from %s", index, text);
    MUST(ibv_destroy_ah(ah) == 0);
}

int main(void)
{
    struct both both = {0};
    context = endpoint_device(NULL);
    iface = strchr(ibv_get_device_name(context->device), '_') + 1;
    both_ud_open(&both.a, context);
    both_ud_open(&both.b, context);
    both_memory(&both);
    ip("addr add 198.51.100.71/24");
    int first = await("198.51.100.71", true);
    /* With the prefix length 32, the address is not a secondary address of the first one, so it
     * remains when the first one is removed. */
    ip("addr add 198.51.100.72/32");
    int second = await("198.51.100.72", true);
    ip("-6 addr add 2001:db8:71::1/64 nodad");
    int third = await("2001:db8:71::1", true);
    MUST(first >= 0 && second > first && third > second);
    sends_from(&both, first, "198.51.100.71");
    sends_from(&both, second, "198.51.100.72");
    sends_from(&both, third, "2001:db8:71::1");
    ip("addr del 198.51.100.71/24");
    await("198.51.100.71", false);
    MUST(index_of("198.51.100.72") == second && index_of("2001:db8:71::1") == third);
    sends_from(&both, second, "198.51.100.72");
    sends_from(&both, third, "2001:db8:71::1");
    ip("addr add 198.51.100.73/32");
    MUST(await("198.51.100.73", true) == first);
    sends_from(&both, first, "198.51.100.73");
    ip("-6 addr del 2001:db8:71::1/64");
    await("2001:db8:71::1", false);
    both_close(&both);
    MUST(ibv_close_device(context) == 0);
    printf("all cases passed\n");
    return 0;
}
