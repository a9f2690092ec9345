/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "live/agent_client.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include "util/hex.h"
#include "util/strbuf.h"

#define REPLY_MS  60000      /* longest wait for a reply, ms */
#define IDLE_MS   5          /* wait between two calls of `idle`, ms */
#define REPLY_MAX (2u << 20) /* longest reply, bytes */
#define PROTOCOL  1
#define UNIX      "unix:"
#define TOKEN_MAX 4096

/* ---- connecting to the agent -------------------------------------------------------------------
 */

static int connect_one(const struct addrinfo *to)
{
    int fd = socket(to->ai_family, to->ai_socktype | SOCK_CLOEXEC, to->ai_protocol);
    struct timeval limit = {.tv_sec = REPLY_MS / 1000};
    int on = 1;

    if (fd < 0)
        return -1;
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    if (connect(fd, to->ai_addr, to->ai_addrlen) == 0)
        return fd;
    on = errno;
    close(fd);
    errno = on;
    return -1;
}

static int connect_to_path(struct agent_client *agent, const char *path, struct error *error)
{
    struct sockaddr_un addr = {.sun_family = AF_UNIX};

    if (strlen(path) >= sizeof(addr.sun_path))
        return error_set(error, "--agent %s: %s", agent->name, strerror(ENAMETOOLONG));
    strcpy(addr.sun_path, path);
    agent->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (agent->fd >= 0 && connect(agent->fd, (const struct sockaddr *)&addr, sizeof(addr)) == 0)
        return 0;
    return error_set(error, "--agent %s: %s", agent->name, strerror(errno));
}

static int connect_to(struct agent_client *agent, struct error *error)
{
    char host[sizeof(agent->name)];
    char *colon;
    const char *name = host;
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM}, *list = NULL;
    int rc;

    if (strncmp(agent->name, UNIX, strlen(UNIX)) == 0)
        return connect_to_path(agent, agent->name + strlen(UNIX), error);
    memcpy(host, agent->name, sizeof(host));
    colon = strrchr(host, ':');
    if (!colon || colon == host)
        return error_set(error, "--agent %s: not HOST:PORT or unix:PATH", agent->name);
    *colon = '\0';
    if (host[0] == '[' && colon[-1] == ']') {
        colon[-1] = '\0';
        name++;
    }
    rc = getaddrinfo(name, colon + 1, &hints, &list);
    if (rc != 0)
        return error_set(error, "--agent %s: %s", agent->name, gai_strerror(rc));
    for (const struct addrinfo *to = list; to && agent->fd < 0; to = to->ai_next)
        agent->fd = connect_one(to);
    rc = errno;
    freeaddrinfo(list);
    return agent->fd >= 0 ? 0 : error_set(error, "--agent %s: %s", agent->name, strerror(rc));
}

static int read_hello(struct agent_client *agent, const json_t *hello, const uint8_t target[16],
                      struct error *error)
{
    const json_t *gid, *service;
    char text[64];
    struct strbuf t = strbuf_of(text, sizeof(text));
    size_t at;

    if (json_integer_value(json_object_get(hello, "protocol")) != PROTOCOL)
        return error_set(error, "--agent %s: unsupported protocol version", agent->name);
    snprintf(agent->device, sizeof(agent->device), "%s",
             json_is_string(json_object_get(hello, "device"))
                 ? json_string_value(json_object_get(hello, "device"))
                 : "?");
    agent->mtu = (uint32_t)json_integer_value(json_object_get(hello, "mtu"));
    agent->rd_atomic = (uint32_t)json_integer_value(json_object_get(hello, "rd_atomic"));
    agent->drills = json_is_true(json_object_get(hello, "drills"));
    agent->atomic = json_is_true(json_object_get(hello, "atomic"));
    json_array_foreach(json_object_get(hello, "services"), at, service)
    {
        const char *name = json_string_value(service);

        agent->uc |= name && strcmp(name, "UC") == 0;
        agent->ud |= name && strcmp(name, "UD") == 0;
    }
    agent->gid_index = -1;
    json_array_foreach(json_object_get(hello, "gids"), at, gid)
    {
        const char *value = json_string_value(json_object_get(gid, "gid"));
        const char *type = json_string_value(json_object_get(gid, "type"));
        uint8_t addr[16];

        if (value && type && strcmp(type, "RoCEv2") == 0 && inet_pton(AF_INET6, value, addr) == 1 &&
            memcmp(addr, target, 16) == 0)
            agent->gid_index = (int)json_integer_value(json_object_get(gid, "index"));
    }
    strbuf_add_addr(&t, target);
    if (agent->gid_index < 0)
        return error_set(error, "--agent %s: device %s has no RoCEv2 address %s", agent->name,
                         agent->device, text);
    return json_is_true(json_object_get(hello, "active"))
               ? 0
               : error_set(error, "--agent %s: the port of device %s is not active", agent->name,
                           agent->device);
}

/* Sends the agent's access token if ROCEDRILL_TOKEN_FILE names a file that contains it. Returns 0,
 * or -1 and an error. */
static int send_token(struct agent_client *agent, struct error *error)
{
    const char *path = getenv("ROCEDRILL_TOKEN_FILE");
    char token[TOKEN_MAX] = "";
    FILE *file = path ? fopen(path, "re") : NULL;
    json_t *reply;
    bool refused;

    if (!path)
        return 0;
    if (!file)
        return error_set(error, "ROCEDRILL_TOKEN_FILE: %s: %s", path, strerror(errno));
    if (!fgets(token, sizeof(token), file))
        token[0] = '\0';
    fclose(file);
    token[strcspn(token, "\r\n")] = '\0';
    reply = agent_client_call(agent, json_pack("{s:s, s:s}", "op", "token", "token", token),
                              &refused, error);
    json_decref(reply);
    return reply ? 0 : -1;
}

int agent_client_open(struct agent_client *agent, const char *where, const uint8_t target[16],
                      struct error *error)
{
    json_t *hello;
    bool refused;
    int rc;

    *agent = (struct agent_client){.fd = -1, .idle = agent->idle, .idle_ctx = agent->idle_ctx};
    snprintf(agent->name, sizeof(agent->name), "%s", where);
    if (connect_to(agent, error) != 0 || send_token(agent, error) != 0)
        return -1;
    hello = agent_client_call(agent, json_pack("{s:s}", "op", "hello"), &refused, error);
    if (!hello)
        return -1;
    rc = read_hello(agent, hello, target, error);
    json_decref(hello);
    return rc;
}

void agent_client_close(struct agent_client *agent)
{
    if (agent->fd >= 0)
        close(agent->fd);
    free(agent->buf);
    *agent = (struct agent_client){.fd = -1};
}

/* ---- sending a request -------------------------------------------------------------------------
 */

static int send_request(struct agent_client *agent, json_t *request, struct error *error)
{
    char *text = json_dumps(request, JSON_COMPACT);
    size_t len = text ? strlen(text) : 0, off = 0;

    json_decref(request);
    if (!text)
        return error_set(error, "no memory");
    text[len++] = '\n'; /* overwrites the terminating zero */
    while (off < len) {
        ssize_t n = send(agent->fd, text + off, len - off, MSG_NOSIGNAL);

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            break;
        off += (size_t)n;
    }
    free(text);
    return off == len ? 0 : error_set(error, "agent %s: %s", agent->name, strerror(errno));
}

/* Receives one reply line into agent->buf. Returns the length of the line, or -1 and an error. */
static ssize_t receive_reply(struct agent_client *agent, struct error *error)
{
    int waited = 0;

    for (;;) {
        char *end = agent->len ? memchr(agent->buf, '\n', agent->len) : NULL;
        struct pollfd wait = {.fd = agent->fd, .events = POLLIN};
        ssize_t n;
        int rc;

        if (end)
            return end - agent->buf;
        if (agent->cap - agent->len < 4096) {
            size_t cap = agent->cap ? 2 * agent->cap : 64 * 1024;
            char *more = cap > REPLY_MAX ? NULL : realloc(agent->buf, cap);

            if (!more)
                return error_set(
                    error,
                    "agent %s: a reply has more than %u bytes; does rocedrill agent listen there?",
                    agent->name, REPLY_MAX);
            agent->buf = more;
            agent->cap = cap;
        }
        rc = poll(&wait, 1, agent->idle ? IDLE_MS : REPLY_MS);
        if (rc < 0 && errno == EINTR)
            continue;
        if (rc == 0 && agent->idle && (waited += IDLE_MS) < REPLY_MS) {
            agent->idle(agent->idle_ctx);
            continue;
        }
        if (rc <= 0)
            return error_set(error, "agent %s: no reply within %d s", agent->name, REPLY_MS / 1000);
        n = recv(agent->fd, agent->buf + agent->len, agent->cap - agent->len, 0);
        if (n <= 0)
            return error_set(error, "agent %s: connection closed", agent->name);
        agent->len += (size_t)n;
    }
}

json_t *agent_client_call(struct agent_client *agent, json_t *request, bool *refused,
                          struct error *error)
{
    json_error_t json_error;
    json_t *reply;
    ssize_t len;

    *refused = false;
    if (!request) {
        error_set(error, "no memory");
        return NULL;
    }
    if (send_request(agent, request, error) != 0 || (len = receive_reply(agent, error)) < 0)
        return NULL;
    reply = json_loadb(agent->buf, (size_t)len, 0, &json_error);
    agent->len -= (size_t)len + 1;
    memmove(agent->buf, agent->buf + len + 1, agent->len);
    if (!json_is_object(reply)) {
        error_set(error, "agent %s: reply is not a JSON object", agent->name);
        json_decref(reply);
        return NULL;
    }
    if (json_is_true(json_object_get(reply, "ok")))
        return reply;
    *refused = true;
    agent->code = (int)json_integer_value(json_object_get(reply, "errno"));
    error_set(error, "agent %s: request refused: %s", agent->name,
              json_is_string(json_object_get(reply, "error"))
                  ? json_string_value(json_object_get(reply, "error"))
                  : "no reason given");
    json_decref(reply);
    return NULL;
}

int agent_client_poll(struct agent_client *agent,
                      int (*take)(void *ctx, const json_t *completion, struct error *error),
                      void *ctx, size_t *cnt, struct error *error)
{
    bool refused;
    json_t *reply = agent_client_call(agent, json_pack("{s:s}", "op", "poll"), &refused, error);
    const json_t *list = json_object_get(reply, "completions"), *c;
    int rc = reply ? 0 : -1;
    size_t at;

    if (cnt)
        *cnt = json_array_size(list);
    json_array_foreach(list, at, c)
    {
        if (rc == 0)
            rc = take(ctx, c, error);
    }
    json_decref(reply);
    return rc;
}

int agent_client_read(struct agent_client *agent, uint32_t mr, uint64_t off, uint8_t *bytes,
                      size_t len, struct error *error)
{
    bool refused;
    json_t *reply =
        agent_client_call(agent,
                          json_pack("{s:s, s:I, s:I, s:I}", "op", "load", "mr", (json_int_t)mr,
                                    "off", (json_int_t)off, "len", (json_int_t)len),
                          &refused, error);
    const char *hex = json_string_value(json_object_get(reply, "hex"));
    int rc = reply ? 0 : -1;

    if (reply && (!hex || strlen(hex) != 2 * len || !hex_parse(hex, bytes, len)))
        rc = error_set(error, "agent %s: reply has the wrong number of bytes", agent->name);
    json_decref(reply);
    return rc;
}

void agent_client_describe(char *out, size_t cap, const char *status, uint32_t len, uint32_t crc32,
                           bool has_imm, uint32_t imm)
{
    struct strbuf t = strbuf_of(out, cap);

    strbuf_addf(&t, "%s, %u bytes, CRC-32 0x%08x", status, len, crc32);
    if (has_imm)
        strbuf_addf(&t, ", immediate 0x%08x", imm);
}
