/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Device pipe: a device under test in another program, for example a simulation of hardware. Each
 * drill starts the program, writes a request as a JSON line to its standard input, and reads a
 * reply as a JSON line from its standard output. docs/drill.md describes the lines.
 */
#ifndef REPLAY_DRILL_DEVICE_DEVICE_PIPE_H
#define REPLAY_DRILL_DEVICE_DEVICE_PIPE_H

#include "drill/device.h"

/* Configuration for open(). */
struct device_pipe_config {
    const char *command; /* shell command of the program; NULL: no pipe */
    unsigned timeout;    /* maximum time for a reply, s */
};

extern const struct drill_device_ops device_pipe_ops;

#endif
