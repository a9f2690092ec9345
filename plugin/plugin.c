/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Entry points of the plugin. Wireshark looks up the exported symbols when it loads roce.so. */
#include "packet-roce.h"

#define EXPORT __attribute__((visibility("default")))

EXPORT extern const gchar plugin_version[];
EXPORT extern const int plugin_want_major;
EXPORT extern const int plugin_want_minor;
EXPORT void plugin_register(void);

const gchar plugin_version[] = ROCE_PLUGIN_VERSION;
const int plugin_want_major = WIRESHARK_VERSION_MAJOR;
const int plugin_want_minor = WIRESHARK_VERSION_MINOR;

void plugin_register(void)
{
    static proto_plugin plugin = {
        .register_protoinfo = proto_register_roce,
        .register_handoff = proto_reg_handoff_roce,
    };

    proto_register_plugin(&plugin);
}
