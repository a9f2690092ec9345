/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* Names that processes of one machine share. */
#include <errno.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include "port/netns.h"
#include "port/shared/registry.h"
#include "support/suite.h"

#define OTHER_USER 65533u

static void name_has_one_owner_on_an_interface(void)
{
    int a = rnic_registry_bind("e0", "cm/tcp/7471");
    int b;

    CU_ASSERT(a >= 0);
    EXPECT_EQ(rnic_registry_bind("e0", "cm/tcp/7471") == -EADDRINUSE, true);
    b = rnic_registry_bind("e1", "cm/tcp/7471"); /* each interface has separate names */
    CU_ASSERT(b >= 0);
    close(b);
    b = rnic_registry_bind("e0", "cm/udp/7471");
    CU_ASSERT(b >= 0);
    close(b);
    close(a);
    a = rnic_registry_bind("e0", "cm/tcp/7471");
    CU_ASSERT(a >= 0);
    close(a);
    b = rnic_registry_bind("e0", "01234567890123456789012345678901234567890123456789"
                                 "01234567890123456789012345678901234567890123456789"
                                 "01234567890");
    EXPECT_EQ(b == -ENAMETOOLONG, true);
}

/* rnic_registry_held() finds that a process has claimed a name (by binding a socket), also without
 * /proc, as after chroot(). It does not claim the name even briefly, so another process can claim
 * it at any time. */
static void claimed_name_is_found_without_proc(void)
{
    char empty[] = "/tmp/rocedrill-registry-XXXXXX";
    int done[2];
    char byte = 0;
    int fd;
    pid_t pid;

    CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(empty));
    fd = rnic_registry_bind("e0", "cm/106/7471");
    EXPECT_EQ(rnic_registry_held("e0", "cm/106/7471"), true);
    EXPECT_EQ(rnic_registry_held("e1", "cm/106/7471"), false);
    EXPECT_EQ(rnic_registry_held("e0", "cm/106/747"), false);
    EXPECT_EQ(pipe(done), 0);
    pid = fork();
    if (pid == 0) {
        bool in = chroot(empty) == 0 && chdir("/") == 0;
        bool seen = rnic_registry_held("e0", "cm/106/7471");

        (void)!write(done[1], in && seen ? "y" : "n", 1);
        for (unsigned i = 0; i < 20000; i++)
            seen = rnic_registry_held("e0", "cm/106/7472");
        (void)!write(done[1], "e", 1);
        _exit(seen);
    }
    EXPECT_EQ(read(done[0], &byte, 1), 1);
    EXPECT_EQ(byte, 'y');
    for (struct pollfd wait = {.fd = done[0], .events = POLLIN}; poll(&wait, 1, 0) == 0;) {
        int other = rnic_registry_bind("e0", "cm/106/7472");

        CU_ASSERT_FATAL(other >= 0);
        close(other);
    }
    netns_wait(pid);
    close(fd);
    EXPECT_EQ(rnic_registry_held("e0", "cm/106/7471"), false);
    close(done[0]);
    close(done[1]);
    rmdir(empty);
}

/* When the process that claimed a name ends in any way, another process can claim the name at
 * once. */
static void name_of_a_killed_process_is_free(void)
{
    int ready[2];
    char byte;
    pid_t pid;
    int fd;

    EXPECT_EQ(pipe(ready), 0);
    pid = fork();
    if (pid == 0) {
        fd = rnic_registry_bind("e0", "gsi");
        (void)!write(ready[1], fd >= 0 ? "y" : "n", 1);
        pause();
        _exit(0);
    }
    EXPECT_EQ(read(ready[0], &byte, 1), 1);
    EXPECT_EQ(byte, 'y');
    EXPECT_EQ(rnic_registry_bind("e0", "gsi") == -EADDRINUSE, true);
    kill(pid, SIGKILL);
    netns_wait(pid);
    fd = rnic_registry_bind("e0", "gsi");
    CU_ASSERT(fd >= 0);
    close(fd);
    close(ready[0]);
    close(ready[1]);
}

/* The registry finds the user of the process that has claimed a name, also if it is another user's
 * process. It also finds whether a user has a packet socket on an interface. */
static void user_of_a_name_is_found(void)
{
    const unsigned lo = if_nametoindex("lo");
    uint32_t uid = 0;
    int ready[2], end[2];
    char byte = 0;
    pid_t pid;

    EXPECT_EQ(rnic_registry_user("e0", "gsi", &uid), false);
    EXPECT_EQ(pipe(ready) == 0 && pipe(end) == 0, true);
    pid = fork();
    if (pid == 0) {
        int fd = -1;

        close(end[1]);
        if (setresuid(OTHER_USER, OTHER_USER, OTHER_USER) == 0)
            fd = rnic_registry_bind("e0", "gsi");
        (void)!write(ready[1], fd >= 0 ? "y" : "n", 1);
        (void)!read(end[0], &byte, 1);
        _exit(0);
    }
    EXPECT_EQ(read(ready[0], &byte, 1), 1);
    if (byte == 'y') { /* otherwise this namespace has one user only */
        EXPECT_EQ(rnic_registry_user("e0", "gsi", &uid), true);
        EXPECT_EQ(uid, OTHER_USER);
        EXPECT_EQ(rnic_registry_user("e0", "gs", &uid), false);
        EXPECT_EQ(rnic_registry_has_device(lo, OTHER_USER), false);
    }
    EXPECT_EQ(rnic_registry_has_device(lo, geteuid()), false);
    int packets = socket(AF_PACKET, SOCK_RAW, 0);
    const struct sockaddr_ll at = {.sll_family = AF_PACKET, .sll_ifindex = (int)lo};

    EXPECT_EQ(bind(packets, (const struct sockaddr *)&at, sizeof(at)), 0);
    EXPECT_EQ(rnic_registry_has_device(lo, geteuid()), true);
    EXPECT_EQ(rnic_registry_has_device(lo, OTHER_USER), false);
    EXPECT_EQ(rnic_registry_has_device(lo + 1, geteuid()), false);
    close(packets);
    close(end[1]);
    netns_wait(pid);
    close(ready[0]);
    close(ready[1]);
    close(end[0]);
}

int main(int argc, char **argv)
{
    static const struct suite_test tests[] = {
        TEST(name_has_one_owner_on_an_interface), TEST(claimed_name_is_found_without_proc),
        TEST(name_of_a_killed_process_is_free), TEST(user_of_a_name_is_found)};

    if (!netns_enter())
        return NETNS_SKIP;
    return suite_main("port.registry", tests, sizeof(tests) / sizeof(tests[0]), argc, argv);
}
