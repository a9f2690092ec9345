/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "port/frameio/port.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void rnic_why_set(struct rnic_why *why, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    vsnprintf(why->text, sizeof(why->text), format, args);
    va_end(args);
}

void rnic_port_stats(struct rnic_port *port, struct rnic_port_stats *out)
{
    memset(out, 0, sizeof(*out));
    port->ops->stats(port, out);
}

void rnic_port_flush(struct rnic_port *port)
{
    if (port->ops->flush)
        port->ops->flush(port);
}

void rnic_port_close(struct rnic_port *port)
{
    if (port)
        port->ops->close(port);
}
