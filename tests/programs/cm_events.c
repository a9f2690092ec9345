/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * CM events: causes each event of rdma_get_cm_event(3), with both ends of a connection in one
 * process. Three events are missing. Linux never raises them for a RoCE device, or only in a
 * special case:
 *
 * - ROUTE_ERROR: the route is computed from the address and cannot fail (cma_resolve_iboe_route in
 *   core/cma.c).
 *
 * - MULTICAST_ERROR: a join succeeds at once, or the call itself fails (cma_iboe_join_multicast).
 *
 * - ADDR_CHANGE: only when a bond changes its active slave (cma_netdev_callback).
 *
 * cm_events ADDRESS [NAME...]: ADDRESS is an address of a device; NAME are the cases to run. The
 * case "removal" deletes the interface whose name follows a colon (removal:rnic0), and the case
 * "scope" adds it (scope:rnic1). Both need the right to do so.
 */
#include <net/if.h>
#include <time.h>
#include <unistd.h>
#include "cm_case.h"

/* ---- the cases of this program --------------------------------------------------------------- */

/* The active side connects without rdma_create_qp(). So it must get the event CONNECT_RESPONSE and
 * then call rdma_establish(). Then both sides disconnect. */
static void connect_and_disconnect(void)
{
    struct rdma_cm_event *event;
    begin(RDMA_PS_TCP, true, true);
    resolve();
    ask();
    take_request();
    accept_it();
    event = next(active, RDMA_CM_EVENT_CONNECT_RESPONSE);
    MUST(event->param.conn.qp_num == qpn + 1 &&
         memcmp(event->param.conn.private_data, "yes", 4) == 0);
    MUST(rdma_ack_cm_event(event) == 0);
    MUST(rdma_establish(asks) == 0);
    expect_no_data(passive, RDMA_CM_EVENT_ESTABLISHED);
    MUST(rdma_disconnect(asks) == 0);
    expect_no_data(passive, RDMA_CM_EVENT_DISCONNECTED);
    MUST(rdma_disconnect(child) == 0); /* sends the DREP */
    expect(active, RDMA_CM_EVENT_DISCONNECTED, 0);
    expect(active, RDMA_CM_EVENT_TIMEWAIT_EXIT, 0);
    expect(passive, RDMA_CM_EVENT_TIMEWAIT_EXIT, 0);
    end();
}

static uint8_t rnr_timer(struct rdma_cm_id *id)
{
    struct ibv_qp_attr attr = {.qp_state = IBV_QPS_RTR};
    int mask;
    MUST(rdma_init_qp_attr(id, &attr, &mask) == 0 && mask & IBV_QP_MIN_RNR_TIMER);
    return attr.min_rnr_timer;
}

/* If the connection has a limited number of RNR retries, the QP must get RNR timer code 0 (655 ms),
 * as Linux always sets. So a peer that posts its receive late, on a busy machine, does not lose the
 * connection. */
static void limited_retries_get_long_rnr_timer(void)
{
    static const uint8_t retries[] = {1, 5, 7};
    for (size_t i = 0; i < sizeof retries; i++) {
        begin(RDMA_PS_TCP, true, true);
        resolve();
        ask_with(retries[i]);
        take_request();
        uint8_t of_child = rnr_timer(child);
        accept_it();
        expect(active, RDMA_CM_EVENT_CONNECT_RESPONSE, 0);
        MUST(rnr_timer(asks) == of_child);
        /* 7 means unlimited retries, so a shorter RNR timer suffices. */
        MUST((of_child == 0) == (retries[i] < 7));
        MUST(rdma_establish(asks) == 0);
        expect(passive, RDMA_CM_EVENT_ESTABLISHED, 0);
        end();
        port++;
    }
}

/* The program resolves addresses that no host has. Meanwhile it sets up and ends another
 * connection, which must not be delayed. On a loopback device all addresses are local, so there is
 * no silent host. */
static void silent_hosts_delay_nobody(void)
{
    struct rdma_event_channel *silent;
    struct rdma_cm_id *ids[4];
    if (strncmp(address, "127.", 4) == 0)
        return;
    MUST((silent = rdma_create_event_channel()) != NULL);
    for (unsigned i = 0; i < 4; i++) {
        struct sockaddr_in to = at(address, port);
        to.sin_addr.s_addr ^= htonl(100 + i);
        MUST(rdma_create_id(silent, &ids[i], NULL, RDMA_PS_TCP) == 0);
        MUST(rdma_resolve_addr(ids[i], NULL, (struct sockaddr *)&to, WAIT_MS) == 0);
    }
    connect_and_disconnect();
    struct pollfd fd = {.fd = silent->fd, .events = POLLIN};
    MUST(poll(&fd, 1, 0) == 0);
    MUST(rdma_destroy_id(ids[0]) == 0 && rdma_destroy_id(ids[1]) == 0);
    struct sockaddr_in to = at(address, port);
    to.sin_addr.s_addr ^= htonl(200);
    MUST(rdma_create_id(silent, &ids[0], NULL, RDMA_PS_TCP) == 0);
    MUST(rdma_resolve_addr(ids[0], NULL, (struct sockaddr *)&to, 50) == 0);
    expect(silent, RDMA_CM_EVENT_ADDR_ERROR, -ETIMEDOUT);
    MUST(rdma_destroy_id(ids[0]) == 0);
    MUST(rdma_destroy_id(ids[2]) == 0 && rdma_destroy_id(ids[3]) == 0);
    rdma_destroy_event_channel(silent);
}

/* The program binds or resolves an id without a port. The device must assign one: when the id is
 * bound, otherwise when its address is resolved. No other id may get the same port. */
static void device_assigns_an_unnamed_port(void)
{
    struct sockaddr_in here = at(address, 0), any = at("0.0.0.0", 0);
    struct rdma_cm_id *other;
    begin(RDMA_PS_TCP, false, false);
    MUST(rdma_bind_addr(listens, (struct sockaddr *)&any) == 0 && rdma_listen(listens, 5) == 0);
    MUST(rdma_get_src_port(listens) != 0);
    struct sockaddr_in to = at(address, ntohs(rdma_get_src_port(listens)));
    MUST(rdma_resolve_addr(asks, NULL, (struct sockaddr *)&to, 2000) == 0);
    expect(active, RDMA_CM_EVENT_ADDR_RESOLVED, 0);
    MUST(rdma_get_src_port(asks) != 0 && rdma_get_src_port(asks) != rdma_get_src_port(listens));
    MUST(rdma_create_id(active, &other, NULL, RDMA_PS_TCP) == 0);
    here.sin_port = rdma_get_src_port(asks);
    MUST(rdma_bind_addr(other, (struct sockaddr *)&here) == -1 && errno == EADDRINUSE);
    struct sockaddr_in nowhere = at("203.0.113.1", 0);
    MUST(rdma_bind_addr(other, (struct sockaddr *)&nowhere) == -1 && errno == EADDRNOTAVAIL);
    here.sin_port = 0;
    MUST(rdma_bind_addr(other, (struct sockaddr *)&here) == 0 && rdma_get_src_port(other) != 0);
    MUST(rdma_destroy_id(other) == 0);
    MUST(rdma_resolve_route(asks, 2000) == 0);
    expect(active, RDMA_CM_EVENT_ROUTE_RESOLVED, 0);
    ask();
    struct rdma_cm_event *event = next(passive, RDMA_CM_EVENT_CONNECT_REQUEST);
    child = event->id;
    MUST(rdma_get_src_port(child) == rdma_get_src_port(listens));
    MUST(rdma_get_dst_port(child) == rdma_get_src_port(asks));
    MUST(rdma_ack_cm_event(event) == 0);
    end();
}

static double now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

static void set_afonly(struct rdma_cm_id *id, int on)
{
    MUST(rdma_set_option(id, RDMA_OPTION_ID, RDMA_OPTION_ID_AFONLY, &on, sizeof on) == 0);
}

/* Two ids with RDMA_OPTION_ID_AFONLY listen on the same port at the wildcard addresses of IPv4 and
 * IPv6, as tgtd does. This must succeed with the option and fail without it. */
static void families_share_a_port(void)
{
    struct sockaddr_in any = at("0.0.0.0", port);
    struct sockaddr_in6 any6 = {.sin6_family = AF_INET6, .sin6_port = htons((uint16_t)port)};
    struct rdma_cm_id *other, *third;
    begin(RDMA_PS_TCP, false, false);
    MUST(rdma_create_id(passive, &other, NULL, RDMA_PS_TCP) == 0);
    MUST(rdma_create_id(passive, &third, NULL, RDMA_PS_TCP) == 0);
    set_afonly(listens, 1);
    MUST(rdma_bind_addr(listens, (struct sockaddr *)&any) == 0 && rdma_listen(listens, 5) == 0);
    MUST(rdma_bind_addr(other, (struct sockaddr *)&any6) != 0 && errno == EADDRNOTAVAIL);
    set_afonly(other, 1);
    MUST(rdma_bind_addr(other, (struct sockaddr *)&any6) == 0 && rdma_listen(other, 5) == 0);
    set_afonly(third, 1);
    MUST(rdma_bind_addr(third, (struct sockaddr *)&any) != 0 && errno == EADDRNOTAVAIL);
    MUST(rdma_bind_addr(third, (struct sockaddr *)&any6) != 0 && errno == EADDRNOTAVAIL);
    resolve();
    ask();
    struct rdma_cm_event *request = next(passive, RDMA_CM_EVENT_CONNECT_REQUEST);
    MUST(request->listen_id == (strchr(address, ':') ? other : listens));
    child = request->id;
    rdma_ack_cm_event(request);
    MUST(rdma_destroy_id(other) == 0 && rdma_destroy_id(third) == 0);
    end();
}

/* A server listens on one port with an id for each of its addresses, as with the results of
 * getaddrinfo(3). Each id must get the requests for its own address. */
static void addresses_share_a_port(void)
{
    struct sockaddr_in6 second = second_address();
    struct sockaddr_in any = at("0.0.0.0", port);
    struct rdma_cm_id *other, *third;
    second.sin6_port = htons((uint16_t)port);
    begin(RDMA_PS_TCP, true, true);
    MUST(rdma_create_id(passive, &other, NULL, RDMA_PS_TCP) == 0);
    MUST(rdma_bind_addr(other, (struct sockaddr *)&second) == 0 && rdma_listen(other, 5) == 0);
    MUST(rdma_create_id(passive, &third, NULL, RDMA_PS_TCP) == 0);
    MUST(rdma_bind_addr(third, (struct sockaddr *)&any) != 0 && errno == EADDRNOTAVAIL);
    MUST(rdma_destroy_id(third) == 0);
    resolve();
    ask();
    struct rdma_cm_event *request = next(passive, RDMA_CM_EVENT_CONNECT_REQUEST);
    MUST(request->listen_id == listens);
    child = request->id;
    rdma_ack_cm_event(request);
    MUST(rdma_destroy_id(other) == 0);
    end();
}

/* A client sends a REQ 50 ms before the server listens. The REQ must wait for the listener, which
 * it does for 250 ms. The case is repeated if this process itself had to wait for a CPU nearly as
 * long. */
static void early_connect_waits_for_listener(void)
{
    for (int tries = 0;; tries++, port++) {
        begin(RDMA_PS_TCP, true, false);
        resolve();
        double asked = now_ms();
        ask();
        usleep(50000);
        MUST(rdma_listen(listens, 5) == 0);
        double took = now_ms() - asked;
        struct pollfd fds[] = {{.fd = passive->fd, .events = POLLIN},
                               {.fd = active->fd, .events = POLLIN}};
        MUST(poll(fds, 2, WAIT_MS) > 0);
        if (fds[0].revents || took < 150 || tries == 20)
            break;
        expect(active, RDMA_CM_EVENT_REJECTED, 8);
        end();
    }
    take_request();
    accept_it();
    expect(active, RDMA_CM_EVENT_CONNECT_RESPONSE, 0);
    end();
}

static void rejection_is_reported(void)
{
    struct rdma_cm_event *event;
    begin(RDMA_PS_TCP, true, true);
    resolve();
    ask();
    take_request();
    static const char long_data[149]; /* one byte more than a REJ can carry */
    MUST(rdma_reject(child, long_data, sizeof long_data) == -1 && errno == EINVAL);
    MUST(rdma_reject(child, "no", 3) == 0);
    event = next(active, RDMA_CM_EVENT_REJECTED);
    MUST(event->status == 28 && memcmp(event->param.conn.private_data, "no", 3) == 0);
    MUST(rdma_ack_cm_event(event) == 0);
    end();
}

/* A client connects to a port on which no id listens. The REQ must be rejected with reason 8,
 * invalid service ID, even if an id is bound to the port. */
static void connect_without_listener_is_rejected(void)
{
    for (int bound = 0; bound < 2; bound++) {
        begin(RDMA_PS_TCP, bound, false);
        resolve();
        ask();
        expect(active, RDMA_CM_EVENT_REJECTED, 8);
        end();
    }
}

/* A listener is destroyed while a request waits to be accepted. The request must be rejected. */
static void closed_listener_rejects(void)
{
    begin(RDMA_PS_TCP, true, true);
    resolve();
    ask();
    struct pollfd fd = {.fd = passive->fd, .events = POLLIN};
    MUST(poll(&fd, 1, WAIT_MS) == 1);
    MUST(rdma_destroy_id(listens) == 0);
    expect(active, RDMA_CM_EVENT_REJECTED, 28);
    MUST(rdma_create_id(passive, &listens, NULL, RDMA_PS_TCP) == 0);
    end();
}

/* Resolves a UD service (SIDR) three times. The server accepts the first request and rejects the
 * second; for the third, the service does not exist. For the second and third, the event must be
 * UNREACHABLE with the status of the SIDR_REP. */
static void ud_service_is_resolved(void)
{
    struct rdma_cm_event *event;
    begin(RDMA_PS_UDP, true, true);
    resolve();
    ask();
    take_request();
    accept_it();
    event = next(active, RDMA_CM_EVENT_ESTABLISHED);
    MUST(event->param.ud.qp_num == 78 && event->param.ud.qkey == RDMA_UDP_QKEY);
    MUST(rdma_ack_cm_event(event) == 0);
    end();
    begin(RDMA_PS_UDP, true, true);
    resolve();
    ask();
    take_request();
    MUST(rdma_reject(child, NULL, 0) == 0);
    expect(active, RDMA_CM_EVENT_UNREACHABLE, 2);
    end();
    begin(RDMA_PS_UDP, false, false);
    resolve();
    ask();
    expect(active, RDMA_CM_EVENT_UNREACHABLE, 1);
    end();
}

static void multicast_join_and_leave(void)
{
    struct sockaddr_in group = at("239.1.2.3", 0);
    struct rdma_cm_event *event;
    begin(RDMA_PS_UDP, true, false);
    MUST(rdma_join_multicast(listens, (struct sockaddr *)&group, &group) == 0);
    event = next(passive, RDMA_CM_EVENT_MULTICAST_JOIN);
    MUST(event->param.ud.private_data == &group && event->param.ud.qp_num == 0xFFFFFF);
    MUST(rdma_ack_cm_event(event) == 0);
    MUST(rdma_leave_multicast(listens, (struct sockaddr *)&group) == 0);
    end();
}

/* Resolves an address that no host has. Without a route to it, the call must fail with ENETUNREACH.
 * With a default route, the event must be ADDR_ERROR. */
static void unroutable_address_is_reported(void)
{
    struct sockaddr_in to = at("203.0.113.1", port);
    struct rdma_cm_event *event;
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    bool routed = connect(fd, (struct sockaddr *)&to, sizeof to) == 0;
    close(fd);
    begin(RDMA_PS_TCP, false, false);
    int result = rdma_resolve_addr(asks, NULL, (struct sockaddr *)&to, 300);
    MUST(routed ? result == 0 : result == -1 && errno == ENETUNREACH);
    if (routed) {
        event = next(active, RDMA_CM_EVENT_ADDR_ERROR);
        MUST(event->status < 0);
        MUST(rdma_ack_cm_event(event) == 0);
    }
    end();
}

/* An id that is bound to a device resolves an IPv6 address without a route: the call must fail with
 * ENETUNREACH. (For IPv4, Linux assumes that every address is on the link of the bound device.) */
static void bound_id_without_route_is_reported(void)
{
    struct sockaddr_in6 to = {.sin6_family = AF_INET6, .sin6_port = htons((uint16_t)port)};
    struct sockaddr_in6 here = second_address();
    MUST(inet_pton(AF_INET6, "2001:db8::1", &to.sin6_addr) == 1);
    int fd = socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    bool routed = connect(fd, (struct sockaddr *)&to, sizeof to) == 0;
    close(fd);
    begin(RDMA_PS_TCP, false, false);
    MUST(rdma_bind_addr(asks, (struct sockaddr *)&here) == 0);
    if (!routed)
        MUST(rdma_resolve_addr(asks, NULL, (struct sockaddr *)&to, 300) == -1 &&
             errno == ENETUNREACH);
    end();
}

/* A REP arrives for a QP that the program has already moved to ERR. The QP cannot make the required
 * transition, so librdmacm must report CONNECT_ERROR. */
static void wrong_qp_state_is_connect_error(void)
{
    struct ibv_qp_init_attr init = {
        .qp_type = IBV_QPT_RC,
        .cap = {.max_send_wr = 1, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1}};
    struct rdma_conn_param param = {.private_data = "ask", .private_data_len = 4};
    struct ibv_qp_attr attr = {.qp_state = IBV_QPS_ERR};
    struct rdma_cm_event *event;
    begin(RDMA_PS_TCP, true, true);
    resolve();
    MUST(rdma_create_qp(asks, NULL, &init) == 0);
    MUST(rdma_connect(asks, &param) == 0);
    take_request();
    MUST(ibv_modify_qp(asks->qp, &attr, IBV_QP_STATE) == 0);
    accept_it();
    event = next(active, RDMA_CM_EVENT_CONNECT_ERROR);
    MUST(event->status != 0);
    MUST(rdma_ack_cm_event(event) == 0);
    rdma_destroy_qp(asks);
    end();
}

/* Deletes the interface of the device. The program must get the event DEVICE_REMOVAL. */
static void removal(const char *iface)
{
    char command[64];
    struct sockaddr_in here = at(address, port);
    begin(RDMA_PS_TCP, false, false);
    MUST(rdma_bind_addr(asks, (struct sockaddr *)&here) == 0);
    snprintf(command, sizeof command, "ip link delete %s", iface);
    MUST(system(command) == 0);
    struct rdma_cm_event *event = next(active, RDMA_CM_EVENT_DEVICE_REMOVAL);
    MUST(event->id == asks);
    MUST(rdma_ack_cm_event(event) == 0);
    end();
}

/* A listener with a waiting request is migrated to another channel. The request must be reported on
 * the new channel. */
static void request_moves_with_migrated_listener(void)
{
    begin(RDMA_PS_TCP, true, true);
    resolve();
    ask();
    struct pollfd fd = {.fd = passive->fd, .events = POLLIN};
    MUST(poll(&fd, 1, WAIT_MS) == 1);
    struct rdma_event_channel *before = passive;
    MUST((passive = rdma_create_event_channel()) != NULL);
    MUST(rdma_migrate_id(listens, passive) == 0);
    rdma_destroy_event_channel(before);
    take_request();
    accept_it();
    expect(active, RDMA_CM_EVENT_CONNECT_RESPONSE, 0);
    end();
}

/* RDMA_OPTION_ID_REUSEADDR of a listening id and RDMA_OPTION_ID_AFONLY must be refused. A bound id
 * may still set both, but not clear REUSEADDR (core/cma.c, rdma_set_reuseaddr). */
static void late_options_are_refused(void)
{
    static const int names[] = {RDMA_OPTION_ID_REUSEADDR, RDMA_OPTION_ID_AFONLY};
    int on = 1, off = 0;
    begin(RDMA_PS_TCP, true, false);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        MUST(rdma_set_option(listens, RDMA_OPTION_ID, names[i], &on, sizeof on) == 0);
    MUST(rdma_set_option(listens, RDMA_OPTION_ID, names[0], &off, sizeof off) == -1);
    MUST(errno == EINVAL && rdma_listen(listens, 5) == 0);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        MUST(rdma_set_option(listens, RDMA_OPTION_ID, names[i], &on, sizeof on) == -1 &&
             errno == EINVAL);
    end();
}

/* An id that is bound to an IPv4 address resolves an IPv6 address. The call must fail. */
static void other_family_is_refused(void)
{
    struct sockaddr_in6 to = {.sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT};
    begin(RDMA_PS_TCP, true, false);
    MUST(rdma_resolve_addr(listens, NULL, (struct sockaddr *)&to, 300) == -1 && errno == EINVAL);
    end();
}

/* Resolves 0.0.0.0. The destination must be an address of a device of this machine, as in Linux
 * (core/cma.c, cma_resolve_loopback). */
static void wildcard_destination_is_this_machine(void)
{
    struct sockaddr_in to = at("0.0.0.0", port);
    begin(RDMA_PS_TCP, false, false);
    MUST(rdma_resolve_addr(asks, NULL, (struct sockaddr *)&to, 2000) == 0);
    expect(active, RDMA_CM_EVENT_ADDR_RESOLVED, 0);
    MUST(ntohs(rdma_get_dst_port(asks)) == port);
    MUST(((struct sockaddr_in *)rdma_get_peer_addr(asks))->sin_addr.s_addr != INADDR_ANY);
    end();
}

/* An accept fails because a reply cannot carry so much private data. The peer must be rejected,
 * because it would otherwise wait for an answer (core/cma.c, rdma_accept). */
static void failed_accept_rejects(void)
{
    static const char long_data[255];
    struct rdma_conn_param param = {
        .private_data = long_data, .private_data_len = sizeof long_data, .qp_num = qpn + 1};
    for (int ud = 0; ud < 2; ud++) {
        begin(ud ? RDMA_PS_UDP : RDMA_PS_TCP, true, true);
        resolve();
        ask();
        take_request();
        MUST(rdma_accept(child, &param) == -1 && errno == EINVAL);
        expect(active, ud ? RDMA_CM_EVENT_UNREACHABLE : RDMA_CM_EVENT_REJECTED, ud ? 2 : 28);
        end();
    }
}

/* While the address of an id is being resolved, the id must refuse to be resolved again or bound.
 * */
static void id_that_resolves_is_busy(void)
{
    for (int i = 0; i < 20; i++) { /* several times, because the address may be resolved before
                                    * the next calls */
        struct sockaddr_in to = at(address, port), here = at(address, 0);
        begin(RDMA_PS_TCP, false, false);
        MUST(rdma_resolve_addr(asks, NULL, (struct sockaddr *)&to, 2000) == 0);
        MUST(rdma_bind_addr(asks, (struct sockaddr *)&here) == -1 && errno == EINVAL);
        MUST(rdma_resolve_addr(asks, NULL, (struct sockaddr *)&to, 2000) == -1 && errno == EINVAL);
        expect(active, RDMA_CM_EVENT_ADDR_RESOLVED, 0);
        end();
    }
}

static struct sockaddr_in6 link_local(unsigned last, const char *iface)
{
    struct sockaddr_in6 to = {.sin6_family = AF_INET6,
                              .sin6_port = htons((uint16_t)port),
                              .sin6_addr.s6_addr = {0xfe, 0x80, [15] = (uint8_t)last},
                              .sin6_scope_id = if_nametoindex(iface)};
    return to;
}

/* Binds and resolves link-local addresses with a scope. `iface` is not the first link of the
 * machine (core/cma.c, cma_check_linklocal). Adds a veth pair: `iface` with the address fe80::77,
 * and its other end with fe80::55. */
static void scope(const char *iface)
{
    char command[300], name[64];
    snprintf(command, sizeof command,
             "ip link add %s type veth peer name %s-peer && ip link set %s up && ip link set "
             "%s-peer up && ip address add fe80::77/64 dev %s nodad && ip address add fe80::55/64 "
             "dev %s-peer nodad",
             iface, iface, iface, iface, iface, iface);
    snprintf(name, sizeof name, "rnic_%s", iface);
    MUST(system(command) == 0);
    struct sockaddr_in6 ours = link_local(0x77, iface), elsewhere = link_local(0x77, "rnic0");
    struct sockaddr_in6 nowhere = link_local(0x77, "none"), theirs = link_local(0x55, iface);
    struct sockaddr_in6 silent = link_local(0x55, "rnic0");
    begin(RDMA_PS_TCP, false, false);
    MUST(rdma_bind_addr(listens, (struct sockaddr *)&nowhere) == -1 && errno == EINVAL);
    MUST(rdma_bind_addr(listens, (struct sockaddr *)&elsewhere) == -1 && errno == EADDRNOTAVAIL);
    MUST(rdma_bind_addr(listens, (struct sockaddr *)&ours) == 0);
    MUST(strcmp(listens->verbs->device->name, name) == 0);
    MUST(rdma_resolve_addr(asks, NULL, (struct sockaddr *)&theirs, 3000) == 0);
    expect(active, RDMA_CM_EVENT_ADDR_RESOLVED, 0);
    MUST(strcmp(asks->verbs->device->name, name) == 0);
    MUST(((struct sockaddr_in6 *)rdma_get_local_addr(asks))->sin6_scope_id == theirs.sin6_scope_id);
    end();
    begin(RDMA_PS_TCP, false, false);
    MUST(rdma_resolve_addr(asks, NULL, (struct sockaddr *)&silent, 100) == 0);
    expect(active, RDMA_CM_EVENT_ADDR_ERROR, -ETIMEDOUT);
    end();
}

int main(int argc, char **argv)
{
    static const struct cm_case cases[] = {
        {"connect_and_disconnect", connect_and_disconnect},
        {"limited_retries_get_long_rnr_timer", limited_retries_get_long_rnr_timer},
        {"early_connect_waits_for_listener", early_connect_waits_for_listener},
        {"silent_hosts_delay_nobody", silent_hosts_delay_nobody},
        {"rejection_is_reported", rejection_is_reported},
        {"failed_accept_rejects", failed_accept_rejects},
        {"late_options_are_refused", late_options_are_refused},
        {"families_share_a_port", families_share_a_port},
        {"addresses_share_a_port", addresses_share_a_port},
        {"connect_without_listener_is_rejected", connect_without_listener_is_rejected},
        {"ud_service_is_resolved", ud_service_is_resolved},
        {"multicast_join_and_leave", multicast_join_and_leave},
        {"closed_listener_rejects", closed_listener_rejects},
        {"unroutable_address_is_reported", unroutable_address_is_reported},
        {"bound_id_without_route_is_reported", bound_id_without_route_is_reported},
        {"id_that_resolves_is_busy", id_that_resolves_is_busy},
        {"wildcard_destination_is_this_machine", wildcard_destination_is_this_machine},
        {"other_family_is_refused", other_family_is_refused},
        {"wrong_qp_state_is_connect_error", wrong_qp_state_is_connect_error},
        {"device_assigns_an_unnamed_port", device_assigns_an_unnamed_port},
        {"request_moves_with_migrated_listener", request_moves_with_migrated_listener},
    };
    address = argc > 1 ? argv[1] : "127.0.0.1";
    if (argc > 2 && strncmp(argv[2], "removal:", 8) == 0) {
        removal(argv[2] + 8);
        puts("removal: as it should be");
        return 0;
    }
    if (argc > 2 && strncmp(argv[2], "scope:", 6) == 0) {
        scope(argv[2] + 6);
        puts("scope: as it should be");
        return 0;
    }
    return run_cases(argc, argv, cases, sizeof cases / sizeof *cases);
}
