/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "wire/codes.h"

#include <stdio.h>
#include "wire/opcode.h"

#define CNT(a) (sizeof(a) / sizeof((a)[0]))

/* clang-format off */

/* Wait of each RNR NAK timer code, in units of 10 us. */
static const uint32_t rnr_10us[ROCE_RNR_CODES] = {
    /* codes 0 to 7 */ 65536,     1,     2,     3,     4,     6,     8,    12,
    /* codes 8 to 15 */    16,    24,    32,    48,    64,    96,   128,   192,
    /* codes 16 to 23 */   256,   384,   512,   768,  1024,  1536,  2048,  3072,
    /* codes 24 to 31 */  4096,  6144,  8192, 12288, 16384, 24576, 32768, 49152,
};

/* Number of end-to-end credits of each credit code. */
static const uint32_t credits[ROCE_CREDIT_CODES] = {
    /* codes 0 to 7 */     0,     1,     2,     3,     4,     6,     8,    12,
    /* codes 8 to 15 */    16,    24,    32,    48,    64,    96,   128,   192,
    /* codes 16 to 23 */   256,   384,   512,   768,  1024,  1536,  2048,  3072,
    /* codes 24 to 31 */  4096,  6144,  8192, 12288, 16384, 24576, 32768, ROCE_CREDITS_UNLIMITED,
};

static const char *const nak_names[] = {
    [ROCE_NAK_PSN_SEQ]        = "PSN sequence error",
    [ROCE_NAK_INVALID_REQ]    = "invalid request",
    [ROCE_NAK_REMOTE_ACCESS]  = "remote access error",
    [ROCE_NAK_REMOTE_OP]      = "remote operational error",
    [ROCE_NAK_INVALID_RD_REQ] = "invalid RD request",
};

struct named_value {
    uint32_t value;
    const char *name;
};

/* Link next header (LNH) of an LRH (IBTA ch. 7). */
static const struct named_value lnh[] = {
    {0, "raw"},
    {1, "IPv6"},
    {2, "IBA local"},
    {3, "IBA global"},
};

static const struct named_value ethertype[] = {
    {0x0800, "IPv4"},
    {0x0806, "ARP"},
    {0x8100, "802.1Q"},
    {0x86DD, "IPv6"},
    {0x88A8, "802.1ad"},
    {0x8915, "RoCEv1"},
};

/* IP protocol numbers (IANA) that may precede a BTH. */
static const struct named_value ipproto[] = {
    { 0, "hop-by-hop options"},
    { 1, "ICMP"},
    { 6, "TCP"},
    {17, "UDP"},
    {43, "routing header"},
    {44, "fragment header"},
    {58, "ICMPv6"},
    {60, "destination options"},
};

/* ECN field (RFC 3168). */
static const struct named_value ecn[] = {
    {0, "Not-ECT"},
    {1, "ECT(1)"},
    {2, "ECT(0)"},
    {3, "CE"},
};

/* Selectivity level of a FLUSH (Annex A19), values as in Linux (IB_FLUSH_RANGE, IB_FLUSH_MR). */
static const struct named_value flush_sel[] = {
    {0, "memory range"},
    {1, "memory region"},
};

/* Placement type of a FLUSH (Annex A19), bits as in Linux (IB_FLUSH_GLOBAL, IB_FLUSH_PERSISTENT). */
static const struct named_value flush_plt[] = {
    {1, "global visibility"},
    {2, "persistence"},
    {3, "global visibility and persistence"},
};

/* Management classes (IBTA ch. 13). */
static const struct named_value mad_class[] = {
    {0x01, "subnet management, LID routed"},
    {0x03, "subnet administration"},
    {0x04, "performance management"},
    {0x05, "baseboard management"},
    {0x06, "device management"},
    {0x07, "communication management"},
    {0x08, "SNMP tunneling"},
    {0x81, "subnet management, directed route"},
};

/* Common MAD methods (IBTA ch. 13). */
static const struct named_value mad_method[] = {
    {0x01, "Get"},
    {0x02, "Set"},
    {0x03, "Send"},
    {0x05, "Trap"},
    {0x06, "Report"},
    {0x07, "TrapRepress"},
    {0x81, "GetResp"},
    {0x86, "ReportResp"},
};

/* Attributes of the communication management class (IBTA ch. 12). */
static const struct named_value cm_attr[] = {
    {0x01, "ClassPortInfo"},
    {0x10, "REQ"},
    {0x11, "MRA"},
    {0x12, "REJ"},
    {0x13, "REP"},
    {0x14, "RTU"},
    {0x15, "DREQ"},
    {0x16, "DREP"},
    {0x17, "SIDR_REQ"},
    {0x18, "SIDR_REP"},
    {0x19, "LAP"},
    {0x1A, "APR"},
};

/* Transport service type of a REQ (IBTA ch. 12). For type 3, another field contains the extended
 * type (Annex A14). */
static const struct named_value cm_transport[] = {
    {0, "RC"},
    {1, "UC"},
    {2, "RD"},
    {3, "extended"},
};

/* Extended transport type of a REQ (Annex A14). */
static const struct named_value cm_ext_transport[] = {
    {1, "XRC"},
};

static const struct named_value cm_rej_msg[] = {
    {0, "REQ"},
    {1, "REP"},
    {2, "no message"},
};

static const struct named_value cm_mra_msg[] = {
    {0, "REQ"},
    {1, "REP"},
    {2, "LAP"},
};

/* Reasons of a REJ (IBTA ch. 12), numbers as in Linux ib_cm.h. */
static const struct named_value cm_rej_reason[] = {
    { 1, "no QP available"},
    { 2, "no EE context available"},
    { 3, "no resources available"},
    { 4, "timeout"},
    { 5, "unsupported request"},
    { 6, "invalid communication ID"},
    { 7, "invalid communication instance"},
    { 8, "invalid service ID"},
    { 9, "invalid transport service type"},
    {10, "stale connection"},
    {11, "RDC does not exist"},
    {12, "primary remote port GID rejected"},
    {13, "primary remote port LID rejected"},
    {14, "invalid primary SL"},
    {15, "invalid primary traffic class"},
    {16, "invalid primary hop limit"},
    {17, "invalid primary packet rate"},
    {18, "alternate remote port GID rejected"},
    {19, "alternate remote port LID rejected"},
    {20, "invalid alternate SL"},
    {21, "invalid alternate traffic class"},
    {22, "invalid alternate hop limit"},
    {23, "invalid alternate packet rate"},
    {24, "port and CM redirection"},
    {25, "port redirection"},
    {26, "invalid path MTU"},
    {27, "insufficient responder resources"},
    {28, "consumer reject"},
    {29, "RNR retry count rejected"},
    {30, "duplicate local communication ID"},
    {31, "unsupported class version"},
    {32, "invalid primary flow label"},
    {33, "invalid alternate flow label"},
    {35, "vendor option not supported"},
};

/* Statuses of a SIDR_REP (IBTA ch. 12), numbers as in Linux ib_cm.h. */
static const struct named_value cm_sidr_status[] = {
    {0, "QPN and Q_Key valid"},
    {1, "service ID not supported"},
    {2, "rejected by the service provider"},
    {3, "no QP available"},
    {4, "redirected"},
    {5, "version not supported"},
};

/* Statuses of an APR (IBTA ch. 12), numbers as in Linux ib_cm.h. */
static const struct named_value cm_apr_status[] = {
    { 0, "alternate path loaded"},
    { 1, "invalid communication ID"},
    { 2, "alternate paths not supported"},
    { 3, "failover port rejected"},
    { 4, "redirected"},
    { 5, "proposed path is the current one"},
    { 6, "QPN or EECN does not match"},
    { 7, "LID rejected"},
    { 8, "GID rejected"},
    { 9, "flow label rejected"},
    {10, "traffic class rejected"},
    {11, "hop limit rejected"},
    {12, "packet rate rejected"},
    {13, "SL rejected"},
};

static const struct named_value rnr_retry[] = {
    {7, "no limit"},
};

static const struct {
    const struct named_value *value;
    size_t cnt;
} tables[ROCE_VALS_CNT] = {
#define TABLE(vals, t) [ROCE_VALS_##vals] = {t, CNT(t)}
    TABLE(LNH,            lnh),
    TABLE(ETHERTYPE,      ethertype),
    TABLE(IPPROTO,        ipproto),
    TABLE(ECN,            ecn),
    TABLE(FLUSH_SEL,      flush_sel),
    TABLE(FLUSH_PLT,      flush_plt),
    TABLE(MAD_CLASS,      mad_class),
    TABLE(MAD_METHOD,     mad_method),
    TABLE(CM_ATTR,        cm_attr),
    TABLE(CM_TRANSPORT,   cm_transport),
    TABLE(CM_EXT_TRANSPORT, cm_ext_transport),
    TABLE(CM_REJ_MSG,     cm_rej_msg),
    TABLE(CM_REJ_REASON,  cm_rej_reason),
    TABLE(CM_MRA_MSG,     cm_mra_msg),
    TABLE(CM_SIDR_STATUS, cm_sidr_status),
    TABLE(CM_APR_STATUS,  cm_apr_status),
    TABLE(RNR_RETRY,      rnr_retry),
#undef TABLE
};
/* clang-format on */

uint64_t roce_rnr_ns(uint8_t code)
{
    return UINT64_C(10000) * rnr_10us[code % ROCE_RNR_CODES];
}

uint32_t roce_credits(uint8_t code)
{
    return credits[code % ROCE_CREDIT_CODES];
}

uint8_t roce_credit_code(uint32_t free_wqes)
{
    uint8_t code = ROCE_CREDIT_NONE - 1;

    while (credits[code] > free_wqes)
        code--;
    return code;
}

/* Writes a time in the unit `unit_name`, with up to three decimals and without trailing zeros:
 * "0.64 ms", "8.59 s". */
static void time_text(const char *before, uint64_t ns, uint64_t unit, const char *unit_name,
                      char *buf, size_t cap)
{
    uint64_t milli = (ns * 1000 + unit / 2) / unit;
    char places[8] = "";

    if (milli % 1000 != 0) {
        snprintf(places, sizeof(places), ".%03u", (unsigned)(milli % 1000));
        for (int i = 3; places[i] == '0'; i--)
            places[i] = '\0';
    }
    snprintf(buf, cap, "%s%llu%s %s", before, (unsigned long long)(milli / 1000), places,
             unit_name);
}

const char *roce_syndrome_text(uint8_t syndrome, char *buf, size_t cap)
{
    uint8_t code = roce_syndrome_code(syndrome);

    switch (roce_syndrome_kind(syndrome)) {
    case ROCE_SYN_ACK:
        if (code == ROCE_CREDIT_NONE)
            snprintf(buf, cap, "ACK, credits not valid");
        else
            snprintf(buf, cap, "ACK, %u credit%s", (unsigned)credits[code],
                     credits[code] == 1 ? "" : "s");
        break;
    case ROCE_SYN_RNR: time_text("RNR NAK, ", roce_rnr_ns(code), 1000000, "ms", buf, cap); break;
    case ROCE_SYN_NAK: snprintf(buf, cap, "NAK, %s", nak_names[code]); break;
    case ROCE_SYN_RESERVED: snprintf(buf, cap, "reserved"); break;
    }
    return buf;
}

uint32_t roce_mtu_bytes(uint8_t code)
{
    return code >= 1 && code <= 5 ? 128u << code : 0;
}

uint8_t roce_mtu_code(uint32_t bytes)
{
    for (uint8_t code = 1; code <= 5; code++)
        if (roce_mtu_bytes(code) == bytes)
            return code;
    return 0;
}

uint64_t roce_ack_timeout_ns(uint8_t code)
{
    return code == 0 ? ROCE_NEVER_NS : UINT64_C(4096) << (code & 0x1F);
}

/* Writes the time of a CM timeout code, 4.096 us * 2^code. */
static void timeout_text(uint8_t code, char *buf, size_t cap)
{
    uint64_t ns = UINT64_C(4096) << (code & 0x1F);

    if (ns < 1000000)
        time_text("", ns, 1000, "us", buf, cap);
    else if (ns < 1000000000)
        time_text("", ns, 1000000, "ms", buf, cap);
    else
        time_text("", ns, 1000000000, "s", buf, cap);
}

const char *roce_vals_name(enum roce_vals vals, uint64_t value, char *buf, size_t cap)
{
    switch (vals) {
    case ROCE_VALS_OPCODE: return value < 256 ? roce_opcode((uint8_t)value)->name : NULL;
    case ROCE_VALS_SYNDROME:
        return value < 256 ? roce_syndrome_text((uint8_t)value, buf, cap) : NULL;
    case ROCE_VALS_MTU:
        if (value > 255 || roce_mtu_bytes((uint8_t)value) == 0)
            return NULL;
        snprintf(buf, cap, "%u bytes", (unsigned)roce_mtu_bytes((uint8_t)value));
        return buf;
    case ROCE_VALS_ACK_TIMEOUT:
    case ROCE_VALS_CM_TIMEOUT:
        if (value > 31)
            return NULL;
        if (value == 0 && vals == ROCE_VALS_ACK_TIMEOUT)
            return "never";
        timeout_text((uint8_t)value, buf, cap);
        return buf;
    default: break;
    }
    for (size_t i = 0; i < tables[vals].cnt; i++)
        if (tables[vals].value[i].value == value)
            return tables[vals].value[i].name;
    return NULL;
}
