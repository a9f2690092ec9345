/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "handoff.h"

#include "prefs.h"
#include "wire/pkt.h"

#define ENCAP_INFINIBAND 150 /* wtap_encap of link type 247, LINKTYPE_INFINIBAND */
#define ERF_INFINIBAND   21  /* ERF record type TYPE_INFINIBAND */

static dissector_handle_t handles[ROCE_HANDOFF_CNT];
static int protocol = -1;

static const struct {
    enum roce_handoff kind;
    const char *table;
    guint32 value;
} entries[] = {
    {ROCE_HANDOFF_UDP, "udp.port", ROCE_UDP_PORT},
    {ROCE_HANDOFF_V1, "ethertype", ROCE_ETHERTYPE_V1},
    {ROCE_HANDOFF_NATIVE, "wtap_encap", ENCAP_INFINIBAND},
    {ROCE_HANDOFF_NATIVE, "erf.types.type", ERF_INFINIBAND},
};

void roce_handoff_register(int proto, const dissector_t dissectors[ROCE_HANDOFF_CNT])
{
    static const char *const names[ROCE_HANDOFF_CNT] = {"roce", "roce.v1", "roce.native"};

    protocol = proto;
    for (unsigned i = 0; i < ROCE_HANDOFF_CNT; i++)
        handles[i] = register_dissector(names[i], dissectors[i], proto);
}

void roce_handoff_add_decode_as(void)
{
    dissector_add_for_decode_as("udp.port", handles[ROCE_HANDOFF_UDP]);
}

/* Returns true if our dissector must dissect this kind of packet, according to the preferences. If
 * the user disabled the protocol "roce", the built-in InfiniBand dissector dissects all packets. */
static bool is_handoff_wanted(enum roce_handoff kind)
{
    if (!proto_is_protocol_enabled(find_protocol_by_id(protocol)))
        return false;
    switch (kind) {
    case ROCE_HANDOFF_V1: return roce_prefs.dissect_v1;
    case ROCE_HANDOFF_NATIVE: return roce_prefs.dissect_native;
    default: return true;
    }
}

/*
 * Uses dissector_change_uint(), as Decode As does, for two reasons. First, the built-in dissector
 * registers itself again whenever one of its preferences changes; the registration does not
 * overwrite changed entries. Second, the UDP dissector tries changed entries first. So a packet
 * with a well-known source port (TFTP) still reaches our dissector.
 */
void roce_handoff_apply(void)
{
    for (unsigned i = 0; i < array_length(entries); i++) {
        dissector_table_t table = find_dissector_table(entries[i].table);
        dissector_handle_t ours = handles[entries[i].kind];
        bool changed;

        if (!table)
            continue;
        changed = dissector_is_uint_changed(table, entries[i].value) != 0;
        if (!changed && is_handoff_wanted(entries[i].kind))
            dissector_change_uint(entries[i].table, entries[i].value, ours);
        else if (changed && !is_handoff_wanted(entries[i].kind) &&
                 dissector_get_uint_handle(table, entries[i].value) == ours)
            dissector_reset_uint(entries[i].table, entries[i].value);
    }
}
