/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Drill script: a parsed test of an RDMA device. A script has the packets to the device under
 * test (DUT), the packets that the DUT must send, and the calls and completions of the DUT's
 * program.
 *
 *   1. script_read() parses a file for one combination of its variants (parser.h).
 *   2. drill_run() plays it (engine.h).
 *   3. script_free()
 *
 * A script owns all its memory. Numbers are in host order, times in ns.
 */
#ifndef REPLAY_DRILL_SCRIPT_H
#define REPLAY_DRILL_SCRIPT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "wire/hdr.h"

#define SCRIPT_NAME_MAX     32 /* size of a name with its final zero, bytes */
#define SCRIPT_OBJECTS_MAX  64 /* maximum number of objects of a drill */
#define SCRIPT_VARIANTS_MAX 6  /* maximum number of variant lines of a drill */
#define SCRIPT_VALUES_MAX   8  /* maximum number of values of a variant line */
/* maximum number of combinations of the values of all variants. Each combination is parsed and
 * played separately */
#define SCRIPT_COMBINATIONS_MAX 256
#define SCRIPT_FIELDS_MAX       24
#define SCRIPT_IDS_MAX          24
#define SCRIPT_NO_OBJECT        (-1)
#define SCRIPT_TIME_MAX         UINT64_C(1000000000000000) /* maximum time in ns: 11 days */

/* ---- values in a script ---------------------------------------------------------------------- */

/* A number in a script, or the name of an object plus an offset. Depending on the option or field,
 * the name means the object's address, key, QPN or SRQ number. */
struct script_value {
    int object; /* index of the object; SCRIPT_NO_OBJECT if `num` is the whole value */
    uint64_t num;
};

enum script_fill_kind {
    SCRIPT_FILL_NONE,    /* the line names no contents */
    SCRIPT_FILL_PATTERN, /* "fill N": bytes of pattern N */
    SCRIPT_FILL_MEMORY,  /* "fill NAME": bytes of the named region */
    SCRIPT_FILL_DATA,    /* "data HEX", or "u64 N" as eight bytes in host byte order */
    SCRIPT_FILL_ZERO,    /* "zero" */
};

/* Contents of a payload or of memory. */
struct script_fill {
    enum script_fill_kind kind;
    uint64_t pattern;          /* PATTERN: number of the pattern */
    struct script_value place; /* MEMORY: the region */
    uint64_t off;              /* PATTERN: index in the pattern of the first byte of the contents */
    bool has_off;              /* PATTERN, MEMORY: the script gives an offset */
    uint8_t *data;             /* DATA: the bytes; else NULL */
    uint32_t len;              /* DATA: number of bytes */
};

/* Returns byte `i` of byte pattern `n`. The byte is never 0, and so differs from memory that is not
 * written yet. */
static inline uint8_t script_pattern(uint64_t n, uint64_t i)
{
    return (uint8_t)(1 + (n * 67 + i * 7 + i / 251 * 13) % 255);
}

/* ---- options of a line ----------------------------------------------------------------------- */

/* Options of objects, verbs and completions: name in C, word in a script, type, maximum value. */
/* clang-format off */
#define SCRIPT_OPTIONS(X)                                   \
    X(ID,         "id",         NUMBER, UINT64_MAX)         \
    X(LEN,        "len",        NUMBER, UINT32_MAX)         \
    X(MTU,        "mtu",        NUMBER, 4096)               \
    X(TIMEOUT,    "timeout",    NUMBER, 255)                \
    X(RETRY,      "retry",      NUMBER, 255)                \
    X(RNR_RETRY,  "rnr-retry",  NUMBER, 255)                \
    X(RNR_TIMER,  "rnr-timer",  NUMBER, 255)                \
    X(RD_ATOMIC,  "rd-atomic",  NUMBER, 255)                \
    X(RESOURCES,  "resources",  NUMBER, 255)                \
    X(PSN,        "psn",        NUMBER, 0xFFFFFF)           \
    X(PEER_PSN,   "peer-psn",   NUMBER, 0xFFFFFF)           \
    X(PEER_QPN,   "peer-qpn",   NUMBER, 0xFFFFFF)           \
    X(PKEY,       "pkey",       NUMBER, 0xFFFF)             \
    X(QKEY,       "qkey",       NUMBER, UINT32_MAX)         \
    X(TCLASS,     "tclass",     NUMBER, 255)                \
    X(HOP_LIMIT,  "hop-limit",  NUMBER, 255)                \
    X(DEPTH,      "depth",      NUMBER, UINT32_MAX)         \
    X(SENDS,      "sends",      NUMBER, UINT32_MAX)         \
    X(RECVS,      "recvs",      NUMBER, UINT32_MAX)         \
    X(LIMIT,      "limit",      NUMBER, UINT32_MAX)         \
    X(TYPE,       "type",       NUMBER, 255)                \
    X(IOVA,       "iova",       NUMBER, UINT64_MAX)         \
    X(KEY,        "key",        KEY,    UINT32_MAX)         \
    X(IMM,        "imm",        NUMBER, UINT32_MAX)         \
    X(ADD,        "add",        NUMBER, UINT64_MAX)         \
    X(COMPARE,    "compare",    NUMBER, UINT64_MAX)         \
    X(SWAP,       "swap",       NUMBER, UINT64_MAX)         \
    X(GROUP,      "group",      NUMBER, 255)                \
    X(PORT,       "port",       NUMBER, 0xFFFF)             \
    X(REASON,     "reason",     NUMBER, 0xFFFF)             \
    X(SRC_QP,     "src-qp",     NUMBER, 0xFFFFFF)           \
    X(TO_QPN,     "to-qpn",     NUMBER, 0xFFFFFF)           \
    X(ACCESS,     "access",     ACCESS, 0)                  \
    X(STATE,      "state",      STATE,  0)                  \
    X(LEVEL,      "level",      LEVEL,  0)                  \
    X(FROM,       "from",       PLACE,  0)                  \
    X(TO,         "to",         PLACE,  0)                  \
    X(INVALIDATE, "invalidate", KEY,    UINT32_MAX)         \
    X(PD,         "pd",         PD,     0)                  \
    X(CQ,         "cq",         CQ,     0)                  \
    X(RECV_CQ,    "recv-cq",    CQ,     0)                  \
    X(SRQ,        "srq",        SRQ,    0)                  \
    X(XRCD,       "xrcd",       XRCD,   0)                  \
    X(MR,         "mr",         MR,     0)                  \
    X(AH,         "ah",         AH,     0)                  \
    X(SOLICITED,  "solicited",  FLAG,   0)                  \
    X(FENCE,      "fence",      FLAG,   0)                  \
    X(INLINE,     "inline",     FLAG,   0)                  \
    X(UNSIGNALED, "unsignaled", FLAG,   0)                  \
    X(ZERO_BASED, "zero-based", FLAG,   0)                  \
    X(INVALIDATES,"invalidates",FLAG,   0)                  \
    X(FILL,       "fill",       FILL,   0)                  \
    X(DATA,       "data",       FILL,   0)                  \
    X(U64,        "u64",        FILL,   0)
/* clang-format on */

enum script_opt {
#define X(NAME, word, type, max) SCRIPT_OPT_##NAME,
    SCRIPT_OPTIONS(X)
#undef X
        SCRIPT_OPT_CNT
};
_Static_assert(SCRIPT_OPT_CNT <= 64, "script_options.given holds one bit for each option");
#define SCRIPT_BIT(NAME) (UINT64_C(1) << SCRIPT_OPT_##NAME)

struct script_options {
    uint64_t given; /* set of SCRIPT_BIT(): the options that the line has */
    struct script_value value[SCRIPT_OPT_CNT];
    struct script_fill fill; /* value of the options FILL, DATA and U64 */
};

/* Returns the value of an option, or `fallback` if the line does not have the option. */
static inline uint64_t script_number(const struct script_options *options, enum script_opt opt,
                                     uint64_t fallback)
{
    return options->given >> opt & 1 ? options->value[opt].num : fallback;
}

static inline bool script_given(const struct script_options *options, enum script_opt opt)
{
    return options->given >> opt & 1;
}

/* ---- objects of a script --------------------------------------------------------------------- */

enum script_object_kind {
    SCRIPT_PD,
    SCRIPT_CQ,
    SCRIPT_SRQ,
    SCRIPT_XRCD,
    SCRIPT_QP,
    SCRIPT_MR,
    SCRIPT_MW,
    SCRIPT_AH,   /* address handle of datagrams */
    SCRIPT_PEER, /* memory at the drill's own end, the peer of the DUT */
};

enum script_service {
    SCRIPT_RC,
    SCRIPT_UC,
    SCRIPT_UD,
    SCRIPT_XRC,      /* QP of an XRC target */
    SCRIPT_XRC_SEND, /* QP of an XRC initiator */
    SCRIPT_GSI,
};

struct script_object {
    enum script_object_kind kind;
    enum script_service service; /* transport service; only for a QP */
    char name[SCRIPT_NAME_MAX];
    unsigned line;
    struct script_options options;
};

/* ---- packets of a script --------------------------------------------------------------------- */

enum script_field_kind {
    SCRIPT_FIELD_NUMBER,
    SCRIPT_FIELD_PSN, /* a relative PSN: difference to the first PSN of the direction, in two's
                       * complement */
    SCRIPT_FIELD_ANY, /* any value matches */
    SCRIPT_FIELD_ADDRESS,
    SCRIPT_FIELD_KEY,
    SCRIPT_FIELD_QPN,
    SCRIPT_FIELD_SRQN,
    SCRIPT_FIELD_BYTES, /* a MAC or IP address */
};

struct script_field {
    enum roce_hdr hdr;
    const struct roce_field *field;
    enum script_field_kind kind;
    struct script_value value;
    uint8_t bytes[16];
    bool altered;   /* the network alters the field after the sender has computed the ICRC */
    bool kind_only; /* compare only the upper 3 bits of the syndrome */
};

struct script_cm_field {
    const struct roce_field *field; /* description of the field */
    bool mad;                       /* the field is in the MAD header */
    bool any;
    struct script_value value;
};

struct script_packet {
    int qp;         /* index of the QP */
    uint8_t opcode; /* opcode, including the bits of the QP's transport service */
    bool is_cm;
    uint8_t cm_kind; /* kind of the CM message, enum roce_cm */
    unsigned field_cnt;
    struct script_field field[SCRIPT_FIELDS_MAX];
    unsigned cm_cnt;
    struct script_cm_field cm[SCRIPT_FIELDS_MAX];
    bool has_payload;
    uint32_t payload; /* length of the payload, bytes */
    struct script_fill fill;
    bool bad_icrc;
    uint32_t cut;   /* number of bytes that are missing at the end of the frame */
    uint64_t group; /* multicast group of the destination; 0: unicast */
};

/* Returns the field `name` of header `hdr`, or NULL if the line does not set it. */
const struct script_field *script_packet_field(const struct script_packet *packet,
                                               enum roce_hdr hdr, const char *name);

/* ---- events of a script ---------------------------------------------------------------------- */

enum script_event_kind {
    SCRIPT_SEND,      /* "< PACKET": the drill sends a packet */
    SCRIPT_EXPECT,    /* "> PACKET": the DUT must send a packet */
    SCRIPT_ACKS,      /* "> acks through PSN": the DUT must acknowledge up to the PSN */
    SCRIPT_SILENCE,   /* "> nothing": the DUT must send no packet */
    SCRIPT_COMP,      /* "comp": a completion */
    SCRIPT_NO_COMP,   /* "no comp": no completion */
    SCRIPT_ASYNC,     /* "event": an asynchronous event */
    SCRIPT_NO_ASYNC,  /* "no event": no asynchronous event */
    SCRIPT_NOTIFIED,  /* "notified": a CQ notification */
    SCRIPT_NO_NOTIFY, /* "no notification": no CQ notification */
    SCRIPT_MEMORY,    /* "check": contents of memory */
    SCRIPT_STATE,     /* "qp NAME is STATE": state of a QP */
    SCRIPT_COUNTER,   /* "counter": value of a counter */
    SCRIPT_CM_EVENT,  /* "cm-event": an event of the CM */
    SCRIPT_GONE,      /* "gone": the connection to the device ends */
    SCRIPT_VERB,      /* the DUT's program calls a verb */
};

enum script_verb {
    SCRIPT_VERB_RECV,
    SCRIPT_VERB_SEND,
    SCRIPT_VERB_WRITE,
    SCRIPT_VERB_READ,
    SCRIPT_VERB_CMP_SWAP,
    SCRIPT_VERB_FETCH_ADD,
    SCRIPT_VERB_FLUSH,
    SCRIPT_VERB_ATOMIC_WRITE,
    SCRIPT_VERB_BIND,
    SCRIPT_VERB_LOCAL_INV,
    SCRIPT_VERB_STORE,
    SCRIPT_VERB_MODIFY,
    SCRIPT_VERB_DESTROY,
    SCRIPT_VERB_ARM,
    SCRIPT_VERB_ATTACH,
    SCRIPT_VERB_DETACH,
    SCRIPT_VERB_LISTEN,
    SCRIPT_VERB_CONNECT,
    SCRIPT_VERB_ACCEPT,
    SCRIPT_VERB_REJECT,
    SCRIPT_VERB_ESTABLISH,
    SCRIPT_VERB_DISCONNECT,
    SCRIPT_VERB_CNT
};

/* Time window of an event. `from`, `to`: its start and end, ns after the previous event. For an
 * action of the drill, both are equal. */
struct script_time {
    bool whole; /* the line has the time "*", so the event applies to the whole drill */
    uint64_t from, to;
};

/* An event of a script, or one of its alternatives. Each is one line. */
struct script_event {
    enum script_event_kind kind;
    unsigned line;
    unsigned column; /* column of the first character after the time, from 1 */
    struct script_time time;
    bool optional;               /* the DUT may omit the packet: its mark is >? */
    bool inconclusive;           /* if the DUT behaves as this alternative describes, the drill
                                  * ends with the verdict "inconclusive" */
    char known[SCRIPT_NAME_MAX]; /* id of the known deviation that this alternative describes, or
                                  * "" */

    struct script_packet *packet; /* SEND, EXPECT: the packet */
    int64_t psn;                  /* ACKS: relative PSN that the ACKs must reach */
    enum script_verb verb;        /* VERB: which verb */
    int object;                   /* index of the object in the script; SCRIPT_NO_OBJECT: the
                                   * line names no object */
    bool recv;                    /* COMP: completion of a receive */
    unsigned code;                /* COMP: status of the completion. ASYNC, CM_EVENT: kind of the
                                   * event. STATE: state of the QP */
    struct script_value place;    /* STORE, MEMORY: region and offset */
    char word[SCRIPT_NAME_MAX];   /* COUNTER: name of the counter */
    uint64_t number;              /* COUNTER: value of the counter. ACKS: MSN */
    bool has_number;              /* ACKS: the line names an MSN */
    int fails;                    /* VERB: enum rnic_error that the call must return, or 0 if the
                                   * call must succeed */
    struct script_options options;
};

/* An event of a script and its alternatives. The first alternative is the event itself. */
struct script_step {
    unsigned first; /* index in script.event of the first alternative */
    unsigned cnt;   /* number of alternatives */
    char rule[SCRIPT_IDS_MAX][SCRIPT_NAME_MAX];
    unsigned rule_cnt;
};

/* ---- a whole script -------------------------------------------------------------------------- */

struct script_variant {
    char name[SCRIPT_NAME_MAX];
    uint64_t value[SCRIPT_VALUES_MAX];
    unsigned cnt;
    unsigned chosen; /* index in `value` of the value with which the drill is played */
};

enum script_role { SCRIPT_ROLE_NONE, SCRIPT_RESPONDER, SCRIPT_REQUESTER, SCRIPT_BOTH };

struct script {
    char *path;
    char *text; /* text of the file, in which each line ends with a zero byte */
    char **line;
    unsigned line_cnt;
    char *purpose;
    enum script_role role;
    char rule[SCRIPT_IDS_MAX][SCRIPT_NAME_MAX];
    unsigned rule_cnt;
    char coverage[SCRIPT_IDS_MAX][SCRIPT_NAME_MAX];
    unsigned coverage_cnt;
    char need[SCRIPT_IDS_MAX][SCRIPT_NAME_MAX];
    unsigned need_cnt;
    char allow[SCRIPT_IDS_MAX][SCRIPT_NAME_MAX]; /* rules of rnic/flow: their findings do not fail
                                                  * the drill */
    unsigned allow_cnt;
    struct script_variant variant[SCRIPT_VARIANTS_MAX];
    unsigned variant_cnt;
    struct script_object object[SCRIPT_OBJECTS_MAX];
    int object_cnt;
    struct script_event *event;
    size_t event_cnt, event_cap;
    struct script_step *step;
    size_t step_cnt, step_cap;
};

/* Frees everything that the script owns. Accepts a zero-initialised script. */
void script_free(struct script *script);

/* Returns the number of combinations of all variants, at least 1. */
unsigned script_combinations(const struct script *script);

/* Returns the chosen value of variant `name`, or `fallback` if there is no such variant. */
uint64_t script_variant_value(const struct script *script, const char *name, uint64_t fallback);

/* Writes the chosen values as "mtu=1024 ip=4", or "" without variants. */
void script_variant_text(const struct script *script, char *buf, size_t cap);

#endif
