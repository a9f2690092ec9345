/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "filter_hint.h"

#include <string.h>
#include <wsutil/report_message.h>

#define BUILTIN "infiniband"
#define OURS    "roce"

/* Returns true if two names are equal except for underscores, for example "bth.destqp" and
 * "bth.dest_qp". */
static bool is_same_name(const char *a, const char *b)
{
    for (;; a++, b++) {
        a += strspn(a, "_");
        b += strspn(b, "_");
        if (*a != *b)
            return false;
        if (!*a)
            return true;
    }
}

/* Returns the plugin's field that corresponds to the built-in dissector's field `name`, or NULL.
 * `name` begins with BUILTIN. For example, infiniband.bth.psn corresponds to roce.bth.psn. */
static const char *find_counterpart(const char *name)
{
    const char *rest = name + strlen(BUILTIN);
    void *cookie;
    header_field_info *field;
    int proto = proto_get_id_by_filter_name(OURS);

    if (!*rest)
        return OURS;
    for (field = proto_get_first_protocol_field(proto, &cookie); field;
         field = proto_get_next_protocol_field(proto, &cookie))
        if (strncmp(field->abbrev, OURS, strlen(OURS)) == 0 &&
            is_same_name(field->abbrev + strlen(OURS), rest))
            return field->abbrev;
    return NULL;
}

static gboolean show(void *text)
{
    report_warning("%s", (const char *)text);
    g_free(text);
    return G_SOURCE_REMOVE;
}

static void warn(const char *name)
{
    const char *ours = find_counterpart(name);
    char *text =
        g_strdup_printf("%s matches no RoCE packet while the protocol RoCE is enabled. %s%s.", name,
                        ours ? "Use " : "The fields of RoCE begin with ", ours ? ours : OURS);

    /* If Wireshark dissects this packet while it paints a window, a dialog cannot be opened now. So
     * the warning waits until the main loop is idle. tshark has no main loop, so it prints the
     * warning at once. */
    if (g_main_depth() > 0)
        g_idle_add(show, text);
    else
        show(text);
}

/* Warns once of each field of the built-in dissector that a filter, column or colour names. */
static void warn_of_fields(int proto, const header_field_info *protocol)
{
    static GHashTable *warned;
    void *cookie;
    header_field_info *field;

    if (!warned)
        warned = g_hash_table_new(NULL, NULL);
    if (protocol->ref_type == HF_REF_TYPE_DIRECT &&
        g_hash_table_add(warned, GINT_TO_POINTER(protocol->id)))
        warn(protocol->abbrev);
    for (field = proto_get_first_protocol_field(proto, &cookie); field;
         field = proto_get_next_protocol_field(proto, &cookie))
        if (field->ref_type == HF_REF_TYPE_DIRECT &&
            g_hash_table_add(warned, GINT_TO_POINTER(field->id)))
            warn(field->abbrev);
}

void roce_filter_hint(const packet_info *pinfo)
{
    static const header_field_info *protocol;
    /* Number of the frame at which the filters were last checked; 0 if they were not checked yet.
     */
    static guint32 last;
    static int proto = -1;

    if (!protocol) {
        proto = proto_get_id_by_filter_name(BUILTIN);
        if (proto < 0)
            return;
        protocol = proto_registrar_get_nth((guint)proto);
    }
    if (protocol->ref_type == HF_REF_TYPE_NONE)
        last = 0;
    /* After a filter has changed, Wireshark dissects all frames again, from the first one. So if a
     * frame number is not higher than `last`, a filter may have changed: check the filters
     * again. */
    else if (last == 0 || pinfo->num <= last) {
        warn_of_fields(proto, protocol);
        last = pinfo->num;
    }
}
