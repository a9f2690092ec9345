/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "agent/agent_session.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/clock.h"

#define LINGER_MS                                                                                  \
    UINT64_C(1000) /* time for the client to close the connection after the last reply, ms */
/* A session without a request ends after this time, ms. */
#define IDLE_MS (UINT64_C(10) * 60 * 1000)

/* TCP connection of a session, and the bytes received over it. */
struct agent_client_conn {
    const struct agent_session *session;
    int fd;
    struct agent_device *dev;
    /* The device is open. The session opens it at once if no token is required, or after the client
     * has sent the right token. */
    bool open;
    char *buf; /* received bytes after the last complete line */
    size_t len;
};

static uint64_t now_ms(void)
{
    return rnic_clock_ns(CLOCK_MONOTONIC) / 1000000;
}

/* ---- checking the token ------------------------------------------------------------------------
 */

int agent_session_token(struct agent_session *session, const char *path, struct error *error)
{
    FILE *file = fopen(path, "re");
    struct stat st;
    int rc = 0;

    if (!file)
        return error_set(error, "%s: %s", path, strerror(errno));
    if (fstat(fileno(file), &st) != 0 || (st.st_mode & (S_IRWXG | S_IRWXO)))
        rc = error_set(error, "%s: other users can read this token file: use chmod 600", path);
    else if (!fgets(session->token, sizeof(session->token), file))
        session->token[0] = '\0';
    fclose(file);
    session->token_len = rc == 0 ? strcspn(session->token, "\r\n") : 0;
    if (rc == 0 && session->token_len < 16)
        rc = error_set(error, "%s: the first line must have at least 16 characters", path);
    return rc;
}

/* Returns whether `text` is the token. The time of the comparison depends only on the length of
 * `text`, so a client cannot measure how many characters are right. */
static bool is_token(const struct agent_session *session, const char *text, size_t len)
{
    unsigned char differs = len != session->token_len;

    for (size_t i = 0; i < len; i++)
        differs |= (unsigned char)(text[i] ^ session->token[i % session->token_len]);
    return differs == 0;
}

static json_t *last_reply(const char *error)
{
    return json_pack("{s:b, s:s, s:b}", "ok", 0, "error", error, "end", 1);
}

/* Opens the device. Returns NULL on success. After an error, returns the reply that ends the
 * session. */
static json_t *open_device(struct agent_client_conn *conn)
{
    conn->open = agent_device_open(conn->dev, conn->session->device) == 0;
    if (conn->open)
        return NULL;
    fprintf(stderr, "rocedrill-agent: %s\n", conn->dev->error.text);
    return last_reply(conn->dev->error.text);
}

/* Handles the first request of a session of an agent that requires a token. Opens the device if the
 * request has the right token. Returns the reply. */
static json_t *admit(struct agent_client_conn *conn, const char *line, size_t len)
{
    json_t *in = json_loadb(line, len, JSON_REJECT_DUPLICATES, NULL), *refusal;
    const json_t *token = json_object_get(in, "token");
    bool right = json_is_string(token) &&
                 is_token(conn->session, json_string_value(token), json_string_length(token));

    json_decref(in);
    refusal = right ? open_device(conn) : last_reply("the first request must contain the token");
    return refusal ? refusal : json_pack("{s:b}", "ok", 1);
}

/* ---- requests and replies ---------------------------------------------------------------------
 */

/* Waits until the socket is ready for `events`. Returns true, or false if `deadline` (ms) passes
 * first. */
static bool wait_for(int fd, short events, uint64_t deadline)
{
    for (;;) {
        struct pollfd wait = {.fd = fd, .events = events};
        uint64_t now = now_ms();
        int cnt = now < deadline ? poll(&wait, 1, (int)(deadline - now)) : 0;

        if (cnt > 0)
            return true;
        if (cnt == 0 || errno != EINTR)
            return false;
    }
}

static bool send_bytes(const struct agent_client_conn *conn, const char *p, size_t len)
{
    uint64_t deadline = now_ms() + conn->session->seconds * UINT64_C(1000);

    while (len > 0) {
        ssize_t n = send(conn->fd, p, len, MSG_NOSIGNAL | MSG_DONTWAIT);

        if (n > 0) {
            p += n;
            len -= (size_t)n;
        } else if (n == 0 || (errno != EINTR && errno != EAGAIN) ||
                   !wait_for(conn->fd, POLLOUT, deadline)) {
            return false;
        }
    }
    return true;
}

/* Sends a reply and frees it. Returns false if the session must end: the reply is the last one, or
 * could not be sent. */
static bool send_reply(const struct agent_client_conn *conn, json_t *answer)
{
    char *text = json_dumps(answer, JSON_COMPACT);
    size_t len = text ? strlen(text) : 0;
    bool fine = !json_is_true(json_object_get(answer, "end"));

    if (text)
        text[len] = '\n'; /* replaces the terminating zero, so that the reply and the line feed are
                           * one TCP segment */
    fine = text && send_bytes(conn, text, len + 1) && fine;
    free(text);
    json_decref(answer);
    return fine;
}

/* Replies to each complete line in the buffer, and keeps the incomplete last line. Returns false if
 * the session must end. */
static bool serve_lines(struct agent_client_conn *conn)
{
    char *line = conn->buf, *end;
    bool fine = true;

    while (fine && (end = memchr(line, '\n', conn->len - (size_t)(line - conn->buf))) != NULL) {
        size_t len = (size_t)(end - line);

        fine = send_reply(conn, conn->open ? agent_rpc_answer(conn->dev, line, len)
                                           : admit(conn, line, len));
        line = end + 1;
    }
    conn->len -= (size_t)(line - conn->buf);
    memmove(conn->buf, line, conn->len);
    return fine;
}

/* Serves requests until the session ends. The time limit of a request starts at its first byte. So
 * a client cannot keep the session open by sending a few bytes from time to time. */
static void serve_requests(struct agent_client_conn *conn)
{
    uint64_t patience = conn->session->seconds * UINT64_C(1000);
    uint64_t deadline = now_ms() + (conn->open ? IDLE_MS : patience);
    bool begun = false;

    for (;;) {
        ssize_t n;

        if (!wait_for(conn->fd, POLLIN, deadline)) {
            send_reply(conn, last_reply("no complete request arrived in time"));
            return;
        }
        n = recv(conn->fd, conn->buf + conn->len, AGENT_LINE_MAX - conn->len, 0);
        if (n <= 0)
            return;
        conn->len += (size_t)n;
        if (memchr(conn->buf + conn->len - n, '\n', (size_t)n)) {
            if (!serve_lines(conn))
                return;
            begun = false;
        }
        if (conn->len == AGENT_LINE_MAX) {
            send_reply(conn, last_reply("the request line is too long"));
            return;
        }
        if (!begun)
            deadline = now_ms() + (conn->len ? patience : IDLE_MS);
        begun = conn->len > 0;
    }
}

/* Closes the sending direction, then discards bytes until the client closes the connection. If the
 * agent closed a socket with unread bytes, the kernel would reset the connection and the client
 * might lose the last reply. */
static void end_connection(struct agent_client_conn *conn)
{
    uint64_t deadline = now_ms() + LINGER_MS;

    shutdown(conn->fd, SHUT_WR);
    while (conn->buf && wait_for(conn->fd, POLLIN, deadline) &&
           recv(conn->fd, conn->buf, AGENT_LINE_MAX, 0) > 0)
        ;
}

void agent_session_serve(const struct agent_session *session, int fd, struct agent_device *dev)
{
    struct agent_client_conn conn = {
        .session = session, .fd = fd, .dev = dev, .buf = malloc(AGENT_LINE_MAX)};
    json_t *refusal = NULL;

    if (!conn.buf)
        refusal = last_reply("no memory");
    else if (session->token_len == 0)
        refusal = open_device(&conn);
    if (refusal)
        send_reply(&conn, refusal);
    else
        serve_requests(&conn);
    if (conn.open)
        agent_device_close(dev);
    end_connection(&conn);
    free(conn.buf);
}
