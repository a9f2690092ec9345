/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Pipe program: a shell command that reads requests from its standard input and writes a reply to
 * each request to its standard output. Each request and each reply is one line. device_pipe.c uses
 * this module.
 *
 *   1. pipe_program_start()
 *   2. pipe_program_call(), as often as needed, until it returns NULL
 *   3. pipe_program_stop(), also if pipe_program_start() failed
 *
 * The standard error of the command is copied to the standard error of this process. If the shell
 * cannot start the command, the error message of the shell becomes part of `problem` instead.
 */
#ifndef REPLAY_DRILL_DEVICE_PIPE_PROGRAM_H
#define REPLAY_DRILL_DEVICE_PIPE_PROGRAM_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#define PIPE_LINE_MAX (1u << 20) /* longest reply, bytes */
#define PIPE_HELD_MAX 1024u

struct pipe_program {
    pid_t pid;
    int io;      /* socket: standard input and output of the command; -1: none */
    int err;     /* standard error of the command; -1: none */
    char *buf;   /* output of the command: a buffer of PIPE_LINE_MAX bytes */
    size_t len;  /* number of bytes in `buf` */
    size_t used; /* length of the latest reply with its line end, bytes. This reply is at the
                  * start of `buf` */
    bool replied;
    bool late;                /* the command did not reply in time */
    bool not_started;         /* the shell could not start the command */
    char held[PIPE_HELD_MAX]; /* standard error of the command before its first reply; may
                               * contain an error message of the shell */
    size_t held_len;
    char problem[300]; /* reason why pipe_program_call() returned NULL */
};

/* Starts a shell command. Returns 0, or -1 and errno. */
int pipe_program_start(struct pipe_program *program, const char *command);

/* Sends a request, which must end with a line end. Returns the reply without its line end, valid
 * until the next call. Returns NULL and sets `problem` if the command does not reply within
 * `timeout` s, closes its output, or sends a reply longer than PIPE_LINE_MAX. */
const char *pipe_program_call(struct pipe_program *program, const char *request, size_t len,
                              unsigned timeout, size_t *reply_len);

/* Ends all processes of the command. */
void pipe_program_stop(struct pipe_program *program);

#endif
