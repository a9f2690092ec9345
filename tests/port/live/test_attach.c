/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* One live device: errors, idle CPU time, changes of links and addresses, fork. Also the neighbour
 * table of a device whose frames stay in memory. */
#include <errno.h>
#include <net/if.h>
#include <netinet/in.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "base/clock.h"
#include "port/live/live.h"
#include "port/netns.h"
#include "port/shared/process.h"
#include "port/shared/qpn_alloc.h"
#include "port/shared/registry.h"
#include "port/wrap.h"
#include "support/port_mem.h"
#include "support/suite.h"
#include "wire/codes.h"

static struct rnic_live *open_on(const char *iface)
{
    struct rnic_live_attr attr = {.iface = iface, .ring = 1u << 20};
    struct rnic_live *live = NULL;
    struct error why;

    if (rnic_live_open(&attr, &live, &why) != 0)
        suite_fail(__FILE__, __LINE__, "%s: %s", iface, why.text);
    return live;
}

static void nap(long ms)
{
    const struct timespec time = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};

    nanosleep(&time, NULL);
}

/* ---- errors of opening ----------------------------------------------------------------------- */

static void expect_error(struct rnic_live_attr attr, int error, const char *says)
{
    struct rnic_live *live;
    struct error why = {""};

    EXPECT_EQ(rnic_live_open(&attr, &live, &why) == error, true);
    if (!strstr(why.text, says))
        suite_fail(__FILE__, __LINE__, "\"%s\" does not say \"%s\"", why.text, says);
}

static void failed_open_names_the_reason(void)
{
    static const struct rnic_gid gid;
    struct sockaddr_in addr = {.sin_family = AF_INET};
    const uint8_t port[2] = {4791 >> 8, 4791 & 0xff};
    int fd;

    expect_error((struct rnic_live_attr){.iface = "nix0"}, -ENODEV, "no interface nix0");
    expect_error((struct rnic_live_attr){.iface = "lo", .impair = "loss=200%"}, -EINVAL, "200%");
    expect_error((struct rnic_live_attr){.iface = "lo", .record = "/nix/there.pcapng"}, -ENOENT,
                 "/nix/there.pcapng");
    expect_error((struct rnic_live_attr){.iface = "lo", .gid = &gid, .gid_cnt = 99}, -EINVAL,
                 "GIDs");
    CU_ASSERT(netns_sh("ip link add d0 type veth peer name d1"));
    expect_error((struct rnic_live_attr){.iface = "d0"}, -ENETDOWN, "d0 is down");
    CU_ASSERT(netns_sh("ip link set d0 mtu 300 up"));
    expect_error((struct rnic_live_attr){.iface = "d0"}, -EMSGSIZE, "MTU of 300");
    /* Another socket is bound to UDP port 4791 and does not share it, like the socket of rdma_rxe.
     */
    fd = socket(AF_INET, SOCK_DGRAM, 0);
    memcpy(&addr.sin_port, port, 2);
    EXPECT_EQ(bind(fd, (const struct sockaddr *)&addr, sizeof(addr)), 0);
    expect_error((struct rnic_live_attr){.iface = "lo"}, -EADDRINUSE, "rdma_rxe");
    close(fd);
    rnic_live_close(open_on("lo"));
    rnic_live_close(NULL);
}

/* ---- describing the device ------------------------------------------------------------------- */

int __real_pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*run)(void *),
                          void *user);
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*run)(void *),
                          void *user);

static bool slow_create; /* pthread_create() returns 100 ms after the new thread began */

/* The linker replaces pthread_create() by this function (option --wrap). */
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*run)(void *),
                          void *user)
{
    int error = __real_pthread_create(thread, attr, run, user);

    if (slow_create)
        nap(100);
    return error;
}

struct opening {
    struct rnic_live *live;
    /* number of calls of count_description(); number of those before `live` was set */
    _Atomic unsigned described, early;
    _Atomic bool ends;
};

static void count_description(void *user, struct rnic *rnic, FILE *out)
{
    struct opening *opening = user;

    (void)rnic;
    fputs("described\n", out);
    opening->early += opening->live == NULL;
    opening->described++;
}

static void *list_repeatedly(void *user)
{
    struct opening *opening = user;
    struct rnic_process *list;
    size_t cnt;

    while (!opening->ends)
        if (rnic_process_list(&list, &cnt) == 0)
            rnic_process_free(list, cnt);
    return NULL;
}

/* rnic-info can request the description as soon as the device's thread runs. The description must
 * not run before rnic_live_open() has set the caller's pointer. */
static void description_sees_the_open_device(void)
{
    struct opening opening = {0};
    struct rnic_live_attr attr = {
        .iface = "lo", .ring = 1u << 20, .describe = count_description, .user = &opening};
    pthread_t thread;
    struct error why;

    CU_ASSERT_FATAL(pthread_create(&thread, NULL, list_repeatedly, &opening) == 0);
    slow_create = true;
    CU_ASSERT_FATAL(rnic_live_open(&attr, &opening.live, &why) == 0);
    slow_create = false;
    for (unsigned wait = 0; opening.described == 0 && wait < 1000; wait++)
        nap(5);
    opening.ends = true;
    pthread_join(thread, NULL);
    rnic_live_close(opening.live);
    CU_ASSERT(opening.described > 0);
    EXPECT_EQ(opening.early, 0);
}

/* Returns whether the kernel answers a datagram to UDP port 4791 with ICMP port unreachable. A
 * connected socket gets this error with its next call. */
static bool refused(const struct sockaddr *to, socklen_t size)
{
    int fd = socket(to->sa_family, SOCK_DGRAM, 0);
    bool heard;

    EXPECT_EQ(connect(fd, to, size), 0);
    EXPECT_EQ(send(fd, "datagram", 8, 0), 8);
    heard = send(fd, "datagram", 8, 0) < 0 && errno == ECONNREFUSED;
    close(fd);
    return heard;
}

static void kernel_sends_no_icmp_for_udp_4791(void)
{
    struct sockaddr_in ip4 = {.sin_family = AF_INET};
    struct sockaddr_in6 ip6 = {.sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT};
    const uint8_t port[2] = {4791 >> 8, 4791 & 0xff};
    const uint8_t host[4] = {127, 0, 0, 1};
    struct rnic_live *one, *two;

    memcpy(&ip4.sin_addr, host, 4);
    memcpy(&ip4.sin_port, port, 2);
    memcpy(&ip6.sin6_port, port, 2);
    EXPECT_EQ(refused((const struct sockaddr *)&ip4, sizeof(ip4)), true);
    EXPECT_EQ(refused((const struct sockaddr *)&ip6, sizeof(ip6)), true);
    one = open_on("lo");
    two = open_on("lo"); /* a second device, as another process would open it */
    EXPECT_EQ(refused((const struct sockaddr *)&ip4, sizeof(ip4)), false);
    EXPECT_EQ(refused((const struct sockaddr *)&ip6, sizeof(ip6)), false);
    rnic_live_close(one);
    EXPECT_EQ(refused((const struct sockaddr *)&ip4, sizeof(ip4)), false);
    EXPECT_EQ(refused((const struct sockaddr *)&ip6, sizeof(ip6)), false);
    rnic_live_close(two);
    EXPECT_EQ(refused((const struct sockaddr *)&ip4, sizeof(ip4)), true);
}

/* A user without the right to capture cannot open a device. */
static void open_without_permission_fails(void)
{
    pid_t pid = fork();

    if (pid == 0) {
        struct rnic_live_attr attr = {.iface = "lo"};
        struct rnic_live *live;
        struct error why = {""};
        int error;

        if (setresgid(65534, 65534, 65534) < 0 || setresuid(65534, 65534, 65534) < 0)
            _exit(NETNS_SKIP); /* this user namespace has no second user */
        error = rnic_live_open(&attr, &live, &why);
        _exit(error == -EPERM && strstr(why.text, "CAP_NET_RAW") ? 0 : 1);
    }
    pid = netns_wait(pid);
    if (pid == NETNS_SKIP)
        suite_skip("this user cannot become another one");
    else
        EXPECT_EQ(pid, 0);
}

/* ---- the idle device ------------------------------------------------------------------------- */

static double cpu_seconds(void)
{
    struct rusage usage;

    getrusage(RUSAGE_SELF, &usage);
    return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
           (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
}

/* Asserts that an idle device uses almost no CPU time in a period of `ms` milliseconds. A busy
 * loop would use all of it. The limit is far above the cost of twenty wake-ups. On a slow machine
 * earlier work can still run, so one successful attempt of five is enough. */
static void takes_no_cpu(const char *when, long ms)
{
    double least = 1e9;

    for (unsigned i = 0; i < 5 && least > 0.01; i++) {
        double before;

        nap(50);
        before = cpu_seconds();
        nap(ms);
        before = cpu_seconds() - before;
        if (before < least)
            least = before;
    }
    if (least > 0.01)
        suite_fail(__FILE__, __LINE__, "%s: an idle device used %.4f s of CPU time in %ld ms", when,
                   least, ms);
}

/* A device without traffic uses no CPU time, also after it was polled. */
static void idle_device_uses_no_cpu(void)
{
    struct rnic_live *live = open_on("lo");

    CU_ASSERT_FATAL(live != NULL);
    for (unsigned i = 0; i < 1000; i++)
        rnic_live_poll(live);
    takes_no_cpu("polled before", 1000);
    rnic_live_close(live);
}

/* The device is idle while its link is down or its interface removed: an error on a descriptor must
 * not cause a busy loop. */
static void device_without_link_uses_no_cpu(void)
{
    struct rnic_live *live;

    CU_ASSERT_FATAL(netns_sh("ip link add f0 type veth peer name f1 && ip link set f0 up && "
                             "ip link set f1 up"));
    live = open_on("f0");
    CU_ASSERT_FATAL(live != NULL);
    for (unsigned i = 0; i < 2; i++) {
        CU_ASSERT(netns_sh(i ? "ip link del f0" : "ip link set f0 down"));
        takes_no_cpu(i ? "gone" : "down", 500);
    }
    rnic_live_close(live);
}

/* ---- changes of the interface ---------------------------------------------------------------- */

static unsigned changes;

static void on_changed(void *user, struct rnic *rnic, unsigned what)
{
    (void)user;
    (void)rnic;
    __atomic_or_fetch(&changes, what, __ATOMIC_SEQ_CST);
}

static bool changed_to(unsigned what)
{
    for (unsigned i = 0; i < 2000; i++) {
        if ((__atomic_load_n(&changes, __ATOMIC_SEQ_CST) & what) == what) {
            __atomic_store_n(&changes, 0, __ATOMIC_SEQ_CST);
            return true;
        }
        nap(10);
    }
    return false;
}

static void interface_changes_are_reported(void)
{
    struct rnic_live_attr attr = {.iface = "g0", .changed = on_changed, .ring = 1u << 20};
    struct rnic_iface iface;
    struct rnic_live *live;
    struct error why;
    struct rnic_path path;
    uint8_t gid[16] = {[10] = 0xff, [11] = 0xff, 192, 0, 2, 33};

    /* The interface has no link-local address, because its late arrival would change the GIDs
     * during the test. */
    CU_ASSERT_FATAL(netns_sh("ip link add g0 type veth peer name g1 && ip link set g1 up && "
                             "ip link set g0 addrgenmode none && ip link set g0 up && "
                             "ip addr add 192.0.2.32/24 dev g0"));
    CU_ASSERT_FATAL(rnic_live_open(&attr, &live, &why) == 0);
    nap(50);
    __atomic_store_n(&changes, 0, __ATOMIC_SEQ_CST);
    CU_ASSERT(netns_sh("ip addr add 192.0.2.33/24 dev g0"));
    CU_ASSERT(changed_to(RNIC_CHANGE_GIDS));
    EXPECT_EQ(rnic_live_resolve(live, gid, -1, 0, &path), 0);
    EXPECT_EQ(path.local, true);
    CU_ASSERT(netns_sh("ip addr del 192.0.2.32/24 dev g0"));
    CU_ASSERT(changed_to(RNIC_CHANGE_GIDS));
    CU_ASSERT(netns_sh("ip link set g0 mtu 4300"));
    CU_ASSERT(changed_to(RNIC_CHANGE_MTU));
    rnic_live_iface(live, &iface);
    EXPECT_EQ(iface.path_mtu, 4096);
    CU_ASSERT(netns_sh("ip link set g1 down"));
    CU_ASSERT(changed_to(RNIC_CHANGE_LINK_DOWN));
    CU_ASSERT(netns_sh("ip link set g1 up"));
    CU_ASSERT(changed_to(RNIC_CHANGE_LINK_UP));
    CU_ASSERT(netns_sh("ip link del g0"));
    CU_ASSERT(changed_to(RNIC_CHANGE_GONE | RNIC_CHANGE_LINK_DOWN));
    rnic_live_close(live);
}

/* The linker replaces send() by __wrap_send(), which does not pass the next `dropped_next` netlink
 * requests to the kernel. A dropped call waits until the test releases it, at most 10 s. */
static atomic_int dropped_next; /* number of requests that will be dropped */
static atomic_uint waiting;     /* number of senders that wait */
static sem_t released;

ssize_t __real_send(int fd, const void *data, size_t len, int flags);
ssize_t __wrap_send(int fd, const void *data, size_t len, int flags);

ssize_t __wrap_send(int fd, const void *data, size_t len, int flags)
{
    const struct timespec end = rnic_time_after(10000000000u);
    int domain = AF_UNSPEC;
    socklen_t size = sizeof(domain);

    getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &size);
    if (domain != AF_NETLINK || atomic_fetch_sub(&dropped_next, 1) <= 0)
        return __real_send(fd, data, len, flags);
    atomic_fetch_add(&waiting, 1);
    sem_clockwait(&released, CLOCK_MONOTONIC, &end);
    atomic_fetch_sub(&waiting, 1);
    return (ssize_t)len;
}

/* The device works while the kernel does not answer the request for the changed interface, and
 * repeats the request later. */
static void silent_kernel_does_not_stop_the_device(void)
{
    struct rnic_live_attr attr = {.iface = "s0", .changed = on_changed, .ring = 1u << 20};
    struct rnic_iface iface;
    struct rnic_live *live;
    struct error why;

    CU_ASSERT_FATAL(netns_sh("ip link add s0 type veth peer name s1 && ip link set s1 up && "
                             "ip link set s0 addrgenmode none && ip link set s0 up && "
                             "ip addr add 192.0.2.40/24 dev s0"));
    CU_ASSERT_FATAL(rnic_live_open(&attr, &live, &why) == 0);
    nap(50);
    CU_ASSERT_FATAL(sem_init(&released, 0, 0) == 0);
    __atomic_store_n(&changes, 0, __ATOMIC_SEQ_CST);
    atomic_store(&dropped_next, 1);
    CU_ASSERT(netns_sh("ip link set s0 mtu 4300"));
    for (unsigned i = 0; i < 2000 && atomic_load(&waiting) == 0; i++)
        nap(10);
    rnic_live_lock(live);
    EXPECT_EQ(atomic_load(&waiting), 1);
    rnic_live_unlock(live);
    sem_post(&released);
    CU_ASSERT(changed_to(RNIC_CHANGE_MTU));
    rnic_live_iface(live, &iface);
    EXPECT_EQ(iface.path_mtu, 4096);
    rnic_live_close(live);
    sem_destroy(&released);
}

/* If the kernel does not answer the request for the list of interfaces, the call fails after one
 * request. (If the list changes while the kernel sends it, the call repeats the request.) */
static void silent_kernel_is_asked_once(void)
{
    struct rnic_iface *list;
    struct error why;
    size_t cnt;

    CU_ASSERT_FATAL(sem_init(&released, 0, 1) == 0);
    atomic_store(&dropped_next, 1);
    EXPECT_EQ(rnic_iface_list(&list, &cnt, &why), -ETIMEDOUT);
    free(list);
    sem_destroy(&released);
}

/* ---- multicast groups ------------------------------------------------------------------------ */

/* Returns whether the interface accepts frames to this MAC address. */
static bool hears(const char *iface, const char *mac)
{
    char line[256], name[64], address[64];
    FILE *table = fopen("/proc/net/dev_mcast", "r");
    bool found = false;

    if (!table)
        return false;
    while (fgets(line, sizeof(line), table))
        found |= sscanf(line, "%*s %63s %*s %*s %63s", name, address) == 2 &&
                 strcmp(name, iface) == 0 && strcmp(address, mac) == 0;
    fclose(table);
    return found;
}

/* A NIC drops frames to multicast groups that no program has joined. So the interface must accept
 * exactly the groups that the device has joined. */
static void nic_accepts_only_joined_groups(void)
{
    static const uint8_t ip4[16] = {[10] = 0xff, [11] = 0xff, 239, 1, 2, 3};
    static const uint8_t same_mac[16] = {[10] = 0xff, [11] = 0xff, 238, 129, 2, 3};
    static const uint8_t ip6[16] = {0xff, 0x0e, [12] = 1, 2, 3, 4};
    static const uint8_t host[16] = {[10] = 0xff, [11] = 0xff, 192, 0, 2, 1};
    struct rnic_live *live;

    CU_ASSERT_FATAL(netns_sh("ip link add m0 type veth peer name m1 && ip link set m1 up && "
                             "ip link set m0 up && ip addr add 10.9.9.1/24 dev m0"));
    live = open_on("m0");
    CU_ASSERT_FATAL(live != NULL);
    rnic_live_lock(live);
    EXPECT_EQ(rnic_live_join(live, host) == -EINVAL, true);
    EXPECT_EQ(hears("m0", "01005e010203"), false);
    EXPECT_EQ(rnic_live_join(live, ip4), 0);
    EXPECT_EQ(rnic_live_join(live, ip4), 0);
    EXPECT_EQ(rnic_live_join(live, same_mac), 0);
    EXPECT_EQ(rnic_live_join(live, ip6), 0);
    EXPECT_EQ(hears("m0", "01005e010203"), true);
    EXPECT_EQ(hears("m0", "333301020304"), true);
    rnic_live_leave(live, ip4);
    rnic_live_leave(live, ip4);
    EXPECT_EQ(hears("m0", "01005e010203"), true); /* the group `same_mac` has this MAC address, too,
                                                   * and is still joined */
    rnic_live_leave(live, same_mac);
    EXPECT_EQ(hears("m0", "01005e010203"), false);
    EXPECT_EQ(hears("m0", "333301020304"), true);
    rnic_live_unlock(live);
    rnic_live_close(live);
    EXPECT_EQ(hears("m0", "333301020304"), false);
}

/* ---- paths to a destination ------------------------------------------------------------------ */

static void path_has_route_and_neighbour_of_the_kernel(void)
{
    static const uint8_t ll[16] = {0xfe, 0x80, [8] = 0x00, 0x11, 0x22,
                                   0xff, 0xfe, 0x33,       0x44, 0x55};
    static const uint8_t mac[6] = {0x02, 0x11, 0x22, 0x33, 0x44, 0x55};
    static const uint8_t group[16] = {0xff, 0x0e, [12] = 1, 2, 3, 4};
    uint8_t gid[16] = {[10] = 0xff, [11] = 0xff, 192, 0, 2, 7};
    struct rnic_live *live;
    struct rnic_path path;

    CU_ASSERT_FATAL(
        netns_sh("ip link add h0 type veth peer name h1 && ip link set h1 up && "
                 "ip link set h0 up && ip addr add 192.0.2.1/24 dev h0 && "
                 "ip route add 198.51.100.0/24 via 192.0.2.254 && "
                 "ip neigh add 192.0.2.7 lladdr 02:00:00:00:00:77 nud permanent dev h0 && "
                 "ip neigh add 192.0.2.254 lladdr 02:00:00:00:00:fe nud permanent dev h0"));
    live = open_on("h0");
    CU_ASSERT_FATAL(live != NULL);
    EXPECT_EQ(rnic_live_resolve(live, gid, -1, 0, &path), 0);
    EXPECT_EQ(path.dmac[5], 0x77);
    EXPECT_EQ(path.sgid_idx, 3); /* index of the RoCEv2 GID of 192.0.2.1 */
    EXPECT_EQ(path.hop_limit, 1);
    EXPECT_EQ(path.local || path.gateway, false);
    gid[12] = 198;
    gid[13] = 51;
    gid[14] = 100;
    EXPECT_EQ(rnic_live_resolve(live, gid, 3, 0, &path), 0);
    EXPECT_EQ(path.dmac[5], 0xfe);
    EXPECT_EQ(path.gateway, true);
    EXPECT_EQ(path.hop_limit, 64);
    gid[12] = 203; /* an address to which there is no route */
    EXPECT_EQ(rnic_live_resolve(live, gid, 3, 0, &path) == -ENETUNREACH, true);
    gid[12] = 192;
    gid[13] = 0;
    gid[14] = 2;
    gid[15] = 99; /* no host has the address */
    EXPECT_EQ(rnic_live_resolve(live, gid, 3, 100000000, &path) == -ETIMEDOUT, true);
    EXPECT_EQ(rnic_live_resolve(live, gid, 7, 0, &path) == -EINVAL, true);
    EXPECT_EQ(rnic_live_resolve(live, gid, 1000, 0, &path) == -EINVAL, true);
    EXPECT_EQ(rnic_live_resolve(live, ll, 0, 0, &path), 0); /* RoCEv1: the GID contains the MAC
                                                             * address */
    EXPECT_EQ(memcmp(path.dmac, mac, 6), 0);
    EXPECT_EQ(rnic_live_resolve(live, group, -1, 0, &path), 0);
    EXPECT_EQ(path.dmac[0], 0x33);
    EXPECT_EQ(path.dmac[5], 4);
    rnic_live_close(live);
}

/* ---- a child of fork() ----------------------------------------------------------------------- */

static void fork_keeps_apart(void)
{
    struct rnic_live *live = open_on("lo");
    uint32_t block = rnic_live_block(live);
    const struct rnic_block_name name = rnic_qpn_alloc_block_name(block);
    pid_t pid = fork();

    if (pid == 0) {
        struct rnic_live *other;
        bool fine;

        rnic_live_lock(live); /* calls of the child succeed but send nothing, because the parent
                               * owns the QPNs */
        rnic_live_unlock(live);
        rnic_live_poll(live);
        other = open_on("lo");
        fine = other && rnic_live_block(other) != block;
        rnic_live_close(other);
        rnic_live_close(live);
        _exit(fine ? 0 : 1);
    }
    EXPECT_EQ(netns_wait(pid), 0);
    EXPECT_EQ(rnic_registry_held("lo", name.text), true); /* the parent still owns the block */
    rnic_live_lock(live);
    rnic_live_unlock(live);
    rnic_live_close(live);
    EXPECT_EQ(rnic_registry_held("lo", name.text), false);
}

static void one_process_owns_qp1(void)
{
    struct rnic_live *a = open_on("lo");
    struct rnic_live *b = open_on("lo");

    EXPECT_EQ(rnic_live_gsi_owner(a), true);
    EXPECT_EQ(rnic_live_gsi_owner(b), false);
    EXPECT_EQ(rnic_live_gsi_owner(a), true);
    rnic_live_close(a);
    EXPECT_EQ(rnic_live_gsi_owner(b), true);
    rnic_live_close(b);
}

/* ---- a port in memory ------------------------------------------------------------------------ */

static void devices_converse_over_memory_ports(void)
{
    struct rnic_iface iface = {.mac = {2, 0, 0, 0, 0, 1},
                               .path_mtu = 1024,
                               .gid = {{.gid = {0xfd, [15] = 1}, .type = RNIC_GID_ROCE_V2}},
                               .gid_cnt = 1};
    struct rnic_live_attr attr = {.seed = 1};
    struct rnic_live *live[2];
    struct rnic_port *pair[2];
    struct rnic_path path;
    struct error why;
    uint8_t gid[16] = {0xfd, [15] = 2};

    CU_ASSERT_FATAL(rnic_port_mem_pair(8, pair, &why) == 0);
    for (unsigned i = 0; i < 2; i++) {
        iface.mac[5] = iface.gid[0].gid[15] = (uint8_t)(i + 1);
        CU_ASSERT_FATAL(rnic_live_open_port(&attr, &iface, pair[i], &live[i], &why) == 0);
    }
    /* The two devices resolve each other by Neighbour Discovery. */
    EXPECT_EQ(rnic_live_resolve(live[0], gid, 0, 20000000000u, &path), 0);
    EXPECT_EQ(path.dmac[5], 2);
    rnic_live_close(live[0]);
    rnic_live_close(live[1]);
}

/* ---- time of received frames ----------------------------------------------------------------- */

/* A port in front of another port. Its receive call takes 5 ms, as if the thread had lost its CPU.
 */
struct slow {
    struct wrap wrap;
    uint64_t nak_at, again_at; /* times of the RNR NAK's reception and of the request's
                                * retransmission, ns */
    uint8_t last;              /* opcode of the latest frame */
};

#define OPCODE_AT (14 + 40 + 8) /* offset of the opcode, after Ethernet, IPv6 and UDP */
#define RNR_CODE  14            /* RNR timer code of 1.28 ms */

static void note(void *user, const struct rnic_frame *frame)
{
    if (frame->len > OPCODE_AT)
        ((struct slow *)user)->last = frame->data[OPCODE_AT];
}

struct passed {
    struct slow *slow;
    rnic_frame_fn *fn;
    void *user;
};

static void pass(void *user, const struct rnic_frame *frame)
{
    struct passed *passed = user;

    note(passed->slow, frame);
    if (passed->slow->last == 0x11 && passed->slow->nak_at == 0) /* RC Acknowledge */
        passed->slow->nak_at = rnic_live_now();
    passed->fn(passed->user, frame);
}

static int slow_recv(struct rnic_port *port, unsigned max, rnic_frame_fn *fn, void *user,
                     uint64_t now)
{
    struct passed passed = {(struct slow *)port, fn, user};

    if (!passed.slow->nak_at)
        nap(5);
    return rnic_port_recv(wrap_behind(port), max, pass, &passed, now);
}

static unsigned slow_send(struct rnic_port *port, struct rnic_frame *frames, unsigned cnt,
                          uint64_t now)
{
    struct slow *slow = (struct slow *)port;

    for (unsigned i = 0; i < cnt; i++) {
        note(slow, &frames[i]);
        if (slow->last == 0x04 && slow->nak_at && !slow->again_at) /* RC SEND Only */
            slow->again_at = rnic_live_now();
    }
    return rnic_port_send(wrap_behind(port), frames, cnt, now);
}

static struct rnic_qp *new_qp(struct rnic_live *live, uint32_t *qpn)
{
    struct rnic_qp_init init = {.type = RNIC_QPT_RC,
                                .max_recv_wr = 1,
                                .max_recv_sge = 1,
                                .max_send_wr = 1,
                                .max_send_sge = 1};
    struct rnic *rnic = rnic_live_lock(live);
    struct rnic_qp *qp = NULL;
    struct rnic_pd *pd;

    EXPECT_EQ(rnic_pd_new(rnic, &pd), 0);
    EXPECT_EQ(rnic_cq_new(rnic, 4, &init.send_cq), 0);
    init.recv_cq = init.send_cq;
    *qpn = init.qpn = rnic_live_qpn_get(live);
    EXPECT_EQ(rnic_qp_new(pd, &init, &qp), 0);
    rnic_live_unlock(live);
    return qp;
}

/* A timer that a response starts runs from the time at which the response is received. It must not
 * run from the beginning of the receive call, which can be long before (R156). */
static void timer_runs_from_arrival_of_the_response(void)
{
    struct rnic_iface iface = {
        .path_mtu = 1024, .gid = {{.gid = {0xfd}, .type = RNIC_GID_ROCE_V2}}, .gid_cnt = 1};
    struct rnic_qp_attr attr = {.pkey = 0xffff,
                                .min_rnr_timer = RNR_CODE,
                                .path_mtu = 1024,
                                .timeout = 20,
                                .retry_cnt = 7,
                                .rnr_retry = 7};
    struct rnic_live_attr how = {.seed = 1};
    struct rnic_send_wr wr = {.opcode = RNIC_WR_SEND};
    struct rnic_port *pair[2];
    struct rnic_live *live[2];
    struct rnic_qp *qp[2];
    uint32_t qpn[2];
    struct error why;
    struct slow slow = {.last = 0xff};

    CU_ASSERT_FATAL(rnic_port_mem_pair(8, pair, &why) == 0);
    wrap_port(&slow.wrap, pair[0]);
    slow.wrap.ops.recv = slow_recv;
    slow.wrap.ops.send = slow_send;
    pair[0] = &slow.wrap.port;
    for (unsigned i = 0; i < 2; i++) {
        iface.mac[0] = 2;
        iface.mac[5] = iface.gid[0].gid[15] = (uint8_t)(i + 1);
        CU_ASSERT_FATAL(rnic_live_open_port(&how, &iface, pair[i], &live[i], &why) == 0);
        qp[i] = new_qp(live[i], &qpn[i]);
    }
    attr.av.dgid[0] = 0xfd;
    attr.av.dmac[0] = 2;
    attr.av.hop_limit = 1;
    for (unsigned i = 0; i < 2; i++) {
        attr.dest_qpn = qpn[1 - i];
        attr.av.dmac[5] = attr.av.dgid[15] = (uint8_t)(2 - i);
        rnic_live_lock(live[i]);
        for (int state = RNIC_QPS_INIT; state <= RNIC_QPS_RTS; state++) {
            attr.state = (enum rnic_qp_state)state;
            EXPECT_EQ(rnic_qp_modify(qp[i], &attr, rnic_live_now()), 0);
        }
        rnic_live_unlock(live[i]);
    }
    rnic_live_lock(live[0]);
    EXPECT_EQ(rnic_post_send(qp[0], &wr), 0);
    rnic_live_unlock(live[0]);
    for (unsigned i = 0; i < 1000; i++) {
        bool done;

        nap(5);
        rnic_live_lock(live[0]);
        done = slow.again_at != 0;
        rnic_live_unlock(live[0]);
        if (done)
            break;
    }
    rnic_live_close(live[0]);
    rnic_live_close(live[1]);
    CU_ASSERT(slow.nak_at != 0 && slow.again_at != 0);
    if (slow.again_at - slow.nak_at < roce_rnr_ns(RNR_CODE))
        suite_fail(__FILE__, __LINE__,
                   "the request was retransmitted %llu ns after the RNR NAK, too early",
                   (unsigned long long)(slow.again_at - slow.nak_at));
}

/* ---- raw packets ----------------------------------------------------------------------------- */

/* Returns the number of packet sockets that are bound to the interface `index`. */
static unsigned sockets_on(unsigned index)
{
    FILE *file = fopen("/proc/net/packet", "r");
    char line[256];
    unsigned cnt = 0, at;

    while (file && fgets(line, sizeof(line), file))
        cnt += sscanf(line, "%*s %*s %*s %*s %u", &at) == 1 && at == index;
    if (file)
        fclose(file);
    return cnt;
}

/* Returns the number of sockets on the loopback that raw packets need, or 99 after an error. */
static int raw_sockets_on_loopback(void)
{
    struct rnic_live *live = open_on("d7");
    unsigned lo = if_nametoindex("loop0"), before = sockets_on(lo);
    int cnt = 99;

    if (live && rnic_live_raw_start(live) == 0) {
        cnt = (int)(sockets_on(lo) - before);
        rnic_live_raw_stop(live);
    }
    rnic_live_close(live);
    return cnt;
}

static void loopback_of_another_name_shows_raw_packets(void)
{
    pid_t pid = netns_fork();

    if (pid == 0)
        _exit(netns_sh("ip link set lo down; ip link set lo name loop0; ip link set loop0 up;"
                       "ip link add d7 type veth peer name e7; ip link set d7 up;"
                       "ip link set e7 up; ip address add 192.0.2.7/24 dev d7")
                  ? raw_sockets_on_loopback()
                  : 99);
    CU_ASSERT_FATAL(pid > 0);
    EXPECT_EQ(netns_wait(pid), 1);
}

int main(int argc, char **argv)
{
    static const struct suite_test tests[] = {
        TEST(failed_open_names_the_reason),
        TEST(description_sees_the_open_device),
        TEST(kernel_sends_no_icmp_for_udp_4791),
        TEST(open_without_permission_fails),
        TEST(idle_device_uses_no_cpu),
        TEST(device_without_link_uses_no_cpu),
        TEST(nic_accepts_only_joined_groups),
        TEST(path_has_route_and_neighbour_of_the_kernel),
        TEST(interface_changes_are_reported),
        TEST(silent_kernel_does_not_stop_the_device),
        TEST(silent_kernel_is_asked_once),
        TEST(one_process_owns_qp1),
        TEST(fork_keeps_apart),
        TEST(devices_converse_over_memory_ports),
        TEST(timer_runs_from_arrival_of_the_response),
        TEST(loopback_of_another_name_shows_raw_packets),
    };

    if (!netns_enter())
        return NETNS_SKIP;
    return suite_main("port.attach", tests, sizeof(tests) / sizeof(tests[0]), argc, argv);
}
