/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* Names that processes share: QPN blocks, claims, and what one process tells another. */
#include <errno.h>
#include <malloc.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <poll.h>
#include <stddef.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>
#include "port/netns.h"
#include "port/registry.h"
#include "support/suite.h"

static struct rnic_entropy entropy_of(uint8_t seed)
{
    const uint8_t bytes[32] = {seed};
    struct rnic_entropy entropy;

    rnic_entropy_init(&entropy, bytes);
    return entropy;
}

static void names(void)
{
    int a = rnic_registry_bind("e0", "cm/tcp/7471");
    int b;

    CU_ASSERT(a >= 0);
    EXPECT_EQ(rnic_registry_bind("e0", "cm/tcp/7471") == -EADDRINUSE, true);
    b = rnic_registry_bind("e1", "cm/tcp/7471"); /* of another interface */
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

/* Whether a name is held is seen without /proc, as after chroot(), and without taking it even for a
 * moment: who claims it meanwhile is not refused. */
static void held(void)
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

/* However the holder ends, the name is free at once. */
static void killed(void)
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

/* The same numbers drawn, and still no QPN twice. */
static void blocks(void)
{
    enum { PROCESSES = 100 };
    struct rnic_qpns qpns[PROCESSES];
    static uint8_t taken[4096];

    memset(taken, 0, sizeof(taken));
    for (unsigned i = 0; i < PROCESSES; i++) {
        struct rnic_entropy entropy = entropy_of(7);

        EXPECT_EQ(rnic_qpns_init(&qpns[i], "e0", false, &entropy), 0);
        EXPECT_EQ(taken[qpns[i].block[0].number]++, 0);
        CU_ASSERT(qpns[i].block[0].number >= RNIC_BLOCK_FIRST &&
                  qpns[i].block[0].number <= RNIC_BLOCK_LAST);
    }
    for (unsigned i = 0; i < PROCESSES; i++)
        rnic_qpns_fini(&qpns[i]);
}

/* 10,000 QPNs of one process are all different, take more blocks, and come back. */
static void many(void)
{
    struct rnic_entropy entropy = entropy_of(1);
    struct rnic_qpns qpns;
    uint32_t *qpn = calloc(20000, sizeof(*qpn));
    uint8_t *seen = calloc(1, 1u << 24);
    bool grew;
    unsigned grown = 0;
    unsigned same = 0;

    CU_ASSERT_FATAL(qpn && seen);
    EXPECT_EQ(rnic_qpns_init(&qpns, "e0", false, &entropy), 0);
    for (unsigned i = 0; i < 20000; i++) {
        qpn[i] = rnic_qpns_get(&qpns, &entropy, &grew);
        grown += grew;
        if (qpn[i] < 2 || qpn[i] >= 0xffffff || seen[qpn[i]]++)
            same++;
    }
    EXPECT_EQ(same, 0);
    EXPECT_EQ(grown + 1, qpns.block_cnt);
    CU_ASSERT(qpns.block_cnt >= 5 && qpns.block_cnt <= 8);
    for (unsigned i = 0; i < 20000; i++)
        rnic_qpns_put(&qpns, qpn[i]);
    for (unsigned i = 0; i < qpns.block_cnt; i++)
        EXPECT_EQ(qpns.block[i].free + qpns.block[i].rest_cnt, RNIC_BLOCK_QPNS);
    rnic_qpns_put(&qpns, qpn[0]); /* once more: nothing happens */
    EXPECT_EQ(qpns.block[0].free + qpns.block[0].rest_cnt, RNIC_BLOCK_QPNS);
    rnic_qpns_fini(&qpns);
    free(qpn);
    free(seen);
}

/* Who creates and destroys does not get a number again that a peer may still know; but in need all
 * are there. */
static void rest(void)
{
    enum { TIMES = 100000 };
    struct rnic_entropy entropy = entropy_of(1);
    struct rnic_qpns qpns;
    uint32_t *put_at = calloc(1u << 24, sizeof(*put_at));
    unsigned early = 0;
    bool grew;

    CU_ASSERT_FATAL(put_at != NULL);
    EXPECT_EQ(rnic_qpns_init(&qpns, "e0", false, &entropy), 0);
    for (unsigned i = 1; i <= TIMES; i++) {
        uint32_t qpn = rnic_qpns_get(&qpns, &entropy, &grew);

        early += put_at[qpn] && i - put_at[qpn] <= RNIC_QPNS_REST;
        rnic_qpns_put(&qpns, qpn);
        put_at[qpn] = i;
    }
    EXPECT_EQ(early, 0);
    EXPECT_EQ(qpns.block_cnt, 1);
    memset(put_at, 0, sizeof(*put_at) << 24);
    qpns.block_cnt = RNIC_BLOCKS_MAX; /* no other can be claimed */
    qpns.block = realloc(qpns.block, RNIC_BLOCKS_MAX * sizeof(*qpns.block));
    CU_ASSERT_FATAL(qpns.block != NULL);
    for (unsigned i = 1; i < RNIC_BLOCKS_MAX; i++)
        qpns.block[i] = (struct rnic_block){.fd = -1};
    for (unsigned i = 0; i < RNIC_BLOCK_QPNS; i++) {
        uint32_t qpn = rnic_qpns_get(&qpns, &entropy, &grew);

        early += qpn == 0 || put_at[qpn]++;
    }
    EXPECT_EQ(early, 0);
    EXPECT_EQ(rnic_qpns_get(&qpns, &entropy, &grew), 0);
    rnic_qpns_fini(&qpns);
    free(put_at);
}

/* A child lets go and claims again; while the parent has its names it cannot. */
static void restored(void)
{
    struct rnic_entropy entropy = entropy_of(1);
    struct rnic_qpns qpns;
    uint32_t number;
    int fd;

    EXPECT_EQ(rnic_qpns_init(&qpns, "e0", false, &entropy), 0);
    number = qpns.block[0].number;
    EXPECT_EQ(rnic_registry_block_held("e0", number), true);
    fd = dup(qpns.block[0].fd); /* the parent has it still */
    rnic_qpns_drop(&qpns);
    EXPECT_EQ(rnic_registry_block_held("e0", number), true);
    EXPECT_EQ(rnic_qpns_restore(&qpns) == -EADDRINUSE, true);
    close(fd);
    EXPECT_EQ(rnic_registry_block_held("e0", number), false);
    EXPECT_EQ(rnic_qpns_restore(&qpns), 0);
    EXPECT_EQ(rnic_registry_block_held("e0", number), true);
    rnic_qpns_fini(&qpns);
}

static void write_much(void *user, FILE *out)
{
    for (unsigned i = 0; i < 100000; i++)
        fprintf(out, "%s %u\n", (const char *)user, i);
}

/* Answers whoever asks until it is ended. */
static void serve(const char *iface, char *text, int ready)
{
    int fd = rnic_registry_listen(iface);

    (void)!write(ready, fd >= 0 ? "y" : "n", 1);
    for (;;) {
        struct pollfd wait = {.fd = fd, .events = POLLIN};

        if (poll(&wait, 1, -1) == 1)
            rnic_registry_answer(fd, write_much, text);
    }
}

/* Connects to a process that takes no connections until its queue is full. */
static void ask_in_vain(const char *iface, pid_t pid)
{
    struct sockaddr_un addr = {.sun_family = AF_UNIX};
    int len =
        snprintf(addr.sun_path + 1, sizeof(addr.sun_path) - 1, "rnic/%s/proc/%d", iface, (int)pid);
    int rc;

    do {
        int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);

        rc = connect(fd, (const struct sockaddr *)&addr,
                     (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)len));
        close(fd);
    } while (rc == 0);
    EXPECT_EQ(errno, EAGAIN);
}

static void write_nonsense(void *user, FILE *out)
{
    fputs(user, out);
    fflush(out);
    EXPECT_EQ(ftruncate(fileno(out), (off_t)1 << 30), 0);
}

/* What another process says is text, and no more of it than anybody has to say: its names may be
 * another user's. */
static void says_nonsense(void)
{
    struct rnic_process *list;
    int fd = rnic_registry_listen("e0");
    size_t cnt;
    pid_t pid;

    CU_ASSERT_FATAL(fd >= 0);
    pid = fork();
    if (pid == 0) {
        struct pollfd wait = {.fd = fd, .events = POLLIN};
        char text[] = "comm \033[2J\n\r";

        if (poll(&wait, 1, -1) == 1)
            rnic_registry_answer(fd, write_nonsense, text);
        pause();
    }
    EXPECT_EQ(rnic_process_list(&list, &cnt), 0);
    CU_ASSERT_EQUAL_FATAL(cnt, 1);
    EXPECT_EQ(strcmp(list[0].text, "comm ?[2J\n?"), 0);
    CU_ASSERT(malloc_usable_size(list[0].text) < 1u << 30);
    rnic_process_free(list, cnt);
    kill(pid, SIGKILL);
    netns_wait(pid);
    close(fd);
}

static void tells(void)
{
    struct rnic_process *list;
    char text[2][8] = {"one", "two"};
    unsigned found = 0;
    size_t cnt;
    pid_t pid[2];
    int ready[2];
    char byte;

    EXPECT_EQ(pipe(ready), 0);
    for (unsigned i = 0; i < 2; i++) {
        pid[i] = fork();
        if (pid[i] == 0)
            serve(i ? "e1" : "e0", text[i], ready[1]);
        EXPECT_EQ(read(ready[0], &byte, 1), 1);
        EXPECT_EQ(byte, 'y');
    }
    EXPECT_EQ(rnic_process_list(&list, &cnt), 0);
    EXPECT_EQ(cnt, 2);
    for (size_t i = 0; i < cnt; i++)
        for (unsigned j = 0; j < 2; j++)
            if (list[i].pid == pid[j]) {
                found++;
                EXPECT_EQ(strcmp(list[i].iface, j ? "e1" : "e0"), 0);
                EXPECT_EQ(strncmp(list[i].text, j ? "two 0\n" : "one 0\n", 6), 0);
                CU_ASSERT(strlen(list[i].text) > 900000); /* all of it */
            }
    EXPECT_EQ(found, 2);
    rnic_process_free(list, cnt);
    kill(pid[0], SIGSTOP); /* one that does not answer holds nobody up for long ... */
    EXPECT_EQ(rnic_process_list(&list, &cnt), 0);
    EXPECT_EQ(cnt, 2);
    rnic_process_free(list, cnt);
    ask_in_vain("e0", pid[0]); /* ... nor one that was asked so often that no more can ask */
    EXPECT_EQ(rnic_process_list(&list, &cnt), 0);
    EXPECT_EQ(cnt, 2);
    rnic_process_free(list, cnt);
    for (unsigned i = 0; i < 2; i++) {
        kill(pid[i], SIGKILL);
        netns_wait(pid[i]);
    }
    EXPECT_EQ(rnic_process_list(&list, &cnt), 0);
    EXPECT_EQ(cnt, 0);
    rnic_process_free(list, cnt);
    close(ready[0]);
    close(ready[1]);
}

int main(int argc, char **argv)
{
    static const struct suite_test tests[] = {TEST(names),    TEST(held),  TEST(killed),
                                              TEST(blocks),   TEST(many),  TEST(rest),
                                              TEST(restored), TEST(tells), TEST(says_nonsense)};

    if (!netns_enter())
        return NETNS_SKIP;
    return suite_main("port.registry", tests, sizeof(tests) / sizeof(tests[0]), argc, argv);
}
