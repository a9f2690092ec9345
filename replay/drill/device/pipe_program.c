/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#define _GNU_SOURCE /* pipe2 */
#include "drill/device/pipe_program.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include "base/clock.h"

/* longest time for which a command may still run after it closed its output, ms */
#define END_MS 500u

static uint64_t monotonic_ms(void)
{
    return rnic_clock_ns(CLOCK_MONOTONIC) / 1000000u;
}

int pipe_program_start(struct pipe_program *program, const char *command)
{
    int io[2], err[2];

    *program = (struct pipe_program){.io = -1, .err = -1};
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, io) != 0)
        return -1;
    program->io = io[0];
    if (pipe2(err, O_CLOEXEC) != 0) {
        close(io[1]);
        return -1;
    }
    program->err = err[0];
    program->pid = fork();
    if (program->pid == 0) {
        setpgid(0, 0); /* a separate process group, so that pipe_program_stop() can end all
                        * processes of the command */
        dup2(io[1], STDIN_FILENO);
        dup2(io[1], STDOUT_FILENO);
        dup2(err[1], STDERR_FILENO);
        execl("/bin/sh", "sh", "-c", command, (char *)NULL);
        _exit(127);
    }
    close(io[1]);
    close(err[1]);
    fcntl(program->io, F_SETFL, O_NONBLOCK);
    fcntl(program->err, F_SETFL, O_NONBLOCK);
    program->buf = malloc(PIPE_LINE_MAX);
    return program->pid > 0 && program->buf ? 0 : -1;
}

/* ---- standard error -------------------------------------------------------------------------- */

static void write_errors(const char *text, size_t len)
{
    while (len > 0) {
        ssize_t cnt = write(STDERR_FILENO, text, len);

        if (cnt <= 0)
            return;
        text += cnt;
        len -= (size_t)cnt;
    }
}

static void release_held(struct pipe_program *program)
{
    write_errors(program->held, program->held_len);
    program->held_len = 0;
}

/* Copies the standard error of the command to the standard error of this process. Before the first
 * reply, stores the text in `held` instead, until `held` is full. */
static void take_errors(struct pipe_program *program)
{
    char text[PIPE_HELD_MAX];
    ssize_t cnt;

    while (program->err >= 0 && (cnt = read(program->err, text, sizeof(text))) >= 0) {
        if (cnt == 0) {
            close(program->err);
            program->err = -1;
        } else if (!program->replied && (size_t)cnt <= PIPE_HELD_MAX - program->held_len) {
            memcpy(program->held + program->held_len, text, (size_t)cnt);
            program->held_len += (size_t)cnt;
        } else {
            release_held(program);
            write_errors(text, (size_t)cnt);
        }
    }
}

/* ---- ending the command ---------------------------------------------------------------------- */

/* Waits at most END_MS for a command that closed its output. Returns whether the command ended. */
static bool wait_end(struct pipe_program *program, int *status)
{
    const struct timespec pause = {.tv_nsec = 2000000};
    uint64_t end = monotonic_ms() + END_MS;
    pid_t pid;

    while ((pid = waitpid(program->pid, status, WNOHANG)) == 0 && monotonic_ms() < end)
        nanosleep(&pause, NULL);
    if (pid != program->pid)
        return false;
    program->pid = 0;
    return true;
}

/* Sets `problem` after the command closed its output. If the shell cannot start the command, its
 * exit status is 126 or 127. */
static void describe_end(struct pipe_program *program)
{
    bool ended;
    int status;

    ended = wait_end(program, &status);
    take_errors(program);
    if (!ended) {
        snprintf(program->problem, sizeof(program->problem), "the program closed its output");
    } else if (WIFSIGNALED(status)) {
        snprintf(program->problem, sizeof(program->problem), "the program ended by signal %d (%s)",
                 WTERMSIG(status), strsignal(WTERMSIG(status)));
    } else if (program->replied || (WEXITSTATUS(status) != 126 && WEXITSTATUS(status) != 127)) {
        snprintf(program->problem, sizeof(program->problem), "the program ended with status %d",
                 WEXITSTATUS(status));
    } else {
        size_t len = program->held_len;

        while (len > 0 && program->held[len - 1] == '\n')
            len--;
        program->not_started = true;
        snprintf(program->problem, sizeof(program->problem),
                 "the program cannot be started (status %d)%s%.*s", WEXITSTATUS(status),
                 len ? ": " : "", (int)strcspn(program->held, "\n"), program->held);
        program->held_len = 0;
    }
    release_held(program);
}

void pipe_program_stop(struct pipe_program *program)
{
    if (program->io >= 0)
        close(program->io);
    if (program->pid > 0) {
        setpgid(program->pid, program->pid); /* the child may not have called setpgid() yet */
        kill(-program->pid, program->late ? SIGKILL : SIGTERM);
        waitpid(program->pid, NULL, 0);
    }
    take_errors(program);
    release_held(program);
    if (program->err >= 0)
        close(program->err);
    free(program->buf);
}

/* ---- requests and replies -------------------------------------------------------------------- */

/* Moves bytes between this process and the command. Returns false after an error, or if the command
 * closed its output. */
static bool move_bytes(struct pipe_program *program, const char *request, size_t len, size_t *sent,
                       short events)
{
    ssize_t cnt;

    if (events & POLLOUT) {
        cnt = send(program->io, request + *sent, len - *sent, MSG_NOSIGNAL);
        if (cnt < 0 && errno != EAGAIN && errno != EINTR)
            return false;
        *sent += cnt > 0 ? (size_t)cnt : 0;
    }
    if (!(events & (POLLIN | POLLHUP | POLLERR)))
        return true;
    cnt = read(program->io, program->buf + program->len, PIPE_LINE_MAX - program->len);
    if (cnt == 0 || (cnt < 0 && errno != EAGAIN && errno != EINTR))
        return false;
    program->len += cnt > 0 ? (size_t)cnt : 0;
    return true;
}

const char *pipe_program_call(struct pipe_program *program, const char *request, size_t len,
                              unsigned timeout, size_t *reply_len)
{
    uint64_t end = monotonic_ms() + (uint64_t)timeout * 1000u, now;
    size_t sent = 0;

    program->len -= program->used;
    memmove(program->buf, program->buf + program->used, program->len);
    program->used = 0;
    for (;;) {
        struct pollfd wait[] = {
            {.fd = program->io, .events = (short)(POLLIN | (sent < len ? POLLOUT : 0))},
            {.fd = program->err, .events = POLLIN}};
        const char *found = memchr(program->buf, '\n', program->len);
        int rc;

        if (found && sent == len) {
            program->replied = true;
            release_held(program);
            *reply_len = (size_t)(found - program->buf);
            program->used = *reply_len + 1;
            return program->buf;
        }
        if (program->len == PIPE_LINE_MAX) {
            snprintf(program->problem, sizeof(program->problem), "the reply is too long");
            return NULL;
        }
        now = monotonic_ms();
        rc = now < end ? poll(wait, 2, (int)(end - now)) : 0;
        if (rc < 0 && errno == EINTR)
            continue;
        if (rc <= 0) {
            program->late = true;
            snprintf(program->problem, sizeof(program->problem), "no reply within %u s", timeout);
            return NULL;
        }
        take_errors(program);
        if (!move_bytes(program, request, len, &sent, wait[0].revents)) {
            describe_end(program);
            return NULL;
        }
    }
}
