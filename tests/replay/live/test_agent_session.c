/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* Sessions of the agent with misbehaving clients: other protocols, slow requests, unread replies,
 * wrong tokens. The client is at one end of a socket pair, the session at the other. */
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>
#include "agent/agent_session.h"
#include "support/fakeverbs.h"
#include "support/suite.h"

#define EVER_MS 60000

static struct agent_device dev;
static struct agent_session session;
static pthread_t server;
static int client = -1, served = -1;

static void *serve(void *user)
{
    (void)user;
    agent_session_serve(&session, served, &dev);
    close(served);
    return NULL;
}

static void begin(unsigned seconds, const char *token)
{
    int pair[2];

    CU_ASSERT_FATAL(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0);
    client = pair[0];
    served = pair[1];
    session = (struct agent_session){.seconds = seconds};
    snprintf(session.token, sizeof(session.token), "%s", token);
    session.token_len = strlen(token);
    CU_ASSERT_FATAL(pthread_create(&server, NULL, serve, NULL) == 0);
}

/* Waits until the agent ends the session. The client does not close it before. */
static void expect_ended(void)
{
    pthread_join(server, NULL);
    close(client);
    EXPECT_EQ(fakeverbs_live(), 0);
}

static void end(void)
{
    close(client);
    pthread_join(server, NULL);
    EXPECT_EQ(fakeverbs_live(), 0);
}

static void say(const char *text)
{
    EXPECT_EQ(send(client, text, strlen(text), MSG_NOSIGNAL), strlen(text));
}

/* Reads one line, and asserts that it contains `has`. NULL: asserts that the session has ended. */
static void hear(const char *has)
{
    static char line[1 << 20];
    size_t len = 0;
    struct pollfd wait = {.fd = client, .events = POLLIN};

    while (len < sizeof(line) - 1 && (len == 0 || line[len - 1] != '\n') &&
           poll(&wait, 1, EVER_MS) == 1 && recv(client, line + len, 1, 0) == 1)
        len++;
    line[len] = '\0';
    if (has ? !strstr(line, has) : len > 0)
        suite_fail(__FILE__, __LINE__, "\"%.300s\" instead of \"%s\"", line, has ? has : "the end");
    else
        CU_ASSERT(true);
}

/* A web page could send requests in the body of a POST. The first line of HTTP must end the
 * session. */
static void another_protocol_ends_the_session(void)
{
    begin(60, "");
    say("POST / HTTP/1.1\r\nContent-Type: text/plain\r\n\r\n{\"op\":\"hello\"}\n");
    hear("not a JSON object");
    hear(NULL);
    expect_ended();

    begin(60, "");
    say("{\"op\":\"dance\"}\n{\"op\":\"hello\"}\n[]\n{\"op\":\"hello\"}\n");
    hear("unknown op dance");
    hear("\"protocol\":1");
    hear("not a JSON object: another JSON value");
    hear(NULL);
    expect_ended();
}

/* A client sends one byte at a time, with long pauses. The session must still end at its time
 * limit. */
static void a_slow_request_ends_the_session(void)
{
    struct pollfd wait = {.events = POLLIN};

    begin(1, "");
    wait.fd = client;
    do
        (void)send(client, " ", 1, MSG_NOSIGNAL);
    while (poll(&wait, 1, 50) == 0);
    hear("no complete request arrived in time");
    expect_ended();
}

static void a_client_that_reads_nothing_loses_the_session(void)
{
    char request[64];

    begin(1, "");
    say("{\"op\":\"mr\",\"len\":262144}\n");
    hear("\"mr\":0");
    snprintf(request, sizeof(request), "{\"op\":\"load\",\"mr\":0,\"len\":262144}\n");
    for (unsigned i = 0; i < 64; i++)
        (void)send(client, request, strlen(request), MSG_NOSIGNAL | MSG_DONTWAIT);
    expect_ended();
}

static void the_token_is_the_first_request(void)
{
    static const char token[] = "0123456789abcdef0123456789abcdef";
    static const char *const wrong[] = {
        "{\"op\":\"hello\"}\n",
        "{\"op\":\"token\"}\n",
        "{\"op\":\"token\",\"token\":\"\"}\n",
        "{\"op\":\"token\",\"token\":\"0123456789abcdef\"}\n",
        "{\"op\":\"token\",\"token\":\"0123456789abcdef0123456789abcdee\"}\n",
        "{\"op\":\"token\",\"token\":\"0123456789abcdef0123456789abcdef0123456789abcdef\"}\n",
        "{\"op\":\"token\",\"token\":7}\n",
        "token\n",
    };

    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        begin(60, token);
        say(wrong[i]);
        hear("the first request must contain the token");
        hear(NULL);
        expect_ended();
    }
    begin(60, token);
    say("{\"op\":\"token\",\"token\":\"0123456789abcdef0123456789abcdef\"}\n{\"op\":\"hello\"}\n");
    hear("\"ok\":true");
    hear("\"protocol\":1");
    end();
}

static void a_token_file_is_private(void)
{
    char path[] = "/tmp/rocedrill-token-XXXXXX";
    struct error error = {""};
    int fd = mkstemp(path);

    CU_ASSERT_FATAL(fd >= 0);
    EXPECT_EQ(write(fd, "0123456789abcdef\nother\n", 23), 23);
    EXPECT_EQ(agent_session_token(&session, path, &error), 0);
    EXPECT_EQ(session.token_len, 16);
    EXPECT_EQ(fchmod(fd, 0640), 0);
    EXPECT_EQ(agent_session_token(&session, path, &error), -1);
    CU_ASSERT(strstr(error.text, "other users can read this token file") != NULL);
    EXPECT_EQ(fchmod(fd, 0600), 0);
    EXPECT_EQ(ftruncate(fd, 15), 0);
    EXPECT_EQ(agent_session_token(&session, path, &error), -1);
    CU_ASSERT(strstr(error.text, "at least 16 characters") != NULL);
    close(fd);
    unlink(path);
    EXPECT_EQ(agent_session_token(&session, path, &error), -1);
    CU_ASSERT(strstr(error.text, path) != NULL);
}

/* QPs count towards the memory limit of the session, so creating many of them is refused. */
static void queue_pairs_count_as_memory(void)
{
    static const char qp[] = "{\"op\":\"qp\",\"max_send\":8192,\"max_recv\":8192}";
    unsigned cnt = 0;
    bool more = true;

    memset(&dev, 0, sizeof(dev));
    CU_ASSERT_EQUAL_FATAL(agent_device_open(&dev, NULL), 0);
    for (; more && cnt < AGENT_QPS_MAX; cnt += more) {
        json_t *out = agent_rpc_answer(&dev, qp, strlen(qp));

        more = json_is_true(json_object_get(out, "ok"));
        json_decref(out);
    }
    CU_ASSERT(cnt > 100 && cnt < 1000);
    EXPECT_EQ(agent_qp_del(&dev, 0), 0);
    CU_ASSERT(dev.bytes <= AGENT_BYTES_MAX - 8192 * 2 * AGENT_WQE_BYTES);
    agent_device_close(&dev);
    EXPECT_EQ(fakeverbs_live(), 0);
}

SUITE("replay.agent_session", TEST(another_protocol_ends_the_session),
      TEST(a_slow_request_ends_the_session), TEST(a_client_that_reads_nothing_loses_the_session),
      TEST(the_token_is_the_first_request), TEST(a_token_file_is_private),
      TEST(queue_pairs_count_as_memory))
