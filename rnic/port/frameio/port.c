/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "port/frameio/port.h"

#include <string.h>

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
