/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "drill/device/live_agent.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "device/rnic.h"
#include "drill/words.h"
#include "util/hex.h"
#include "util/keymap.h"
#include "util/strbuf.h"

#define CHUNK       (128u * 1024) /* bytes of one `load` or `store` request */
#define ACCESS_BITS 0x1Fu         /* access rights that the agent supports: all but FLUSH */
#define DEPTH       64            /* default depth of queues */
#define REPLY_NS    10000000u     /* longest usual time until a reply, ns; more time is a stall */

/* ---- capabilities that the agent lacks ------------------------------------------------------- */

bool live_agent_supports(const char *need)
{
    static const char *const words[] = {"uc",     "ud",         "srq",     "mw",        "mw-2b",
                                        "atomic", "invalidate", "credits", "zero-based"};

    for (unsigned i = 0; i < sizeof(words) / sizeof(words[0]); i++)
        if (strcmp(need, words[i]) == 0)
            return true;
    return false;
}

/* Returns the name of a capability that an object needs and the agent lacks, or NULL. */
static const char *lacking_object(const struct script_object *object)
{
    const struct script_options *o = &object->options;
    uint64_t state = script_number(o, SCRIPT_OPT_STATE, RNIC_QPS_RTS);

    switch (object->kind) {
    case SCRIPT_XRCD: return "XRC domain";
    case SCRIPT_QP:
        return object->service > SCRIPT_UD           ? "QPs of this service"
               : script_given(o, SCRIPT_OPT_RECV_CQ) ? "separate CQ for receives"
               : state == RNIC_QPS_SQE               ? "QP created in this state"
                                                     : NULL;
    case SCRIPT_MR:
        return script_number(o, SCRIPT_OPT_LEN, 0) == 0  ? "regions without bytes"
               : script_given(o, SCRIPT_OPT_INVALIDATES) ? "regions that can be invalidated"
                                                         : NULL;
    case SCRIPT_AH:
        return script_given(o, SCRIPT_OPT_GROUP) ? "multicast"
               : script_given(o, SCRIPT_OPT_PD)  ? "address handles of a PD"
                                                 : NULL;
    default: return NULL;
    }
}

/* Returns the name of a capability that an event needs and the agent lacks, or NULL. */
static const char *lacking_event(const struct script *script, const struct script_event *event)
{
    const struct script_options *o = &event->options;

    switch (event->kind) {
    case SCRIPT_SEND: return event->packet->group ? "multicast" : NULL;
    case SCRIPT_COUNTER: return "counters";
    case SCRIPT_CM_EVENT: return "CM";
    case SCRIPT_COMP: return script_given(o, SCRIPT_OPT_SOLICITED) ? "solicited flag" : NULL;
    case SCRIPT_VERB: break;
    default: return NULL;
    }
    switch (event->verb) {
    case SCRIPT_VERB_FLUSH: return "FLUSH";
    case SCRIPT_VERB_ATOMIC_WRITE: return "ATOMIC WRITE";
    case SCRIPT_VERB_MODIFY:
        return script->object[event->object].kind == SCRIPT_CQ && !script_given(o, SCRIPT_OPT_DEPTH)
                   ? "modify of a CQ"
                   : NULL;
    case SCRIPT_VERB_ARM: return NULL;
    case SCRIPT_VERB_DESTROY:
        return script->object[event->object].kind >= SCRIPT_AH ? "destroy" : NULL;
    default:
        return event->verb > SCRIPT_VERB_ARM     ? "multicast and CM"
               : script_given(o, SCRIPT_OPT_SRQ) ? "XRC"
                                                 : NULL;
    }
}

int live_agent_check(const struct script *script, struct error *error)
{
    const char *lacking = NULL;

    for (int i = 0; i < script->object_cnt && !lacking; i++)
        lacking = lacking_object(&script->object[i]);
    for (size_t i = 0; i < script->event_cnt && !lacking; i++)
        lacking = lacking_event(script, &script->event[i]);
    return lacking ? error_set(error, DRILL_UNSUPPORTED_TEXT "%s (agent)", lacking) : 0;
}

/* ---- sending requests ------------------------------------------------------------------------ */

json_t *live_agent_call(struct live_agent *agent, json_t *request)
{
    bool refused = false;
    json_t *reply = NULL;
    uint64_t start = live_now(), taken;

    if (agent->failed) {
        json_decref(request);
        return NULL;
    }
    agent->client.code = 0;
    reply = agent_client_call(&agent->client, request, &refused, &agent->error);
    agent->failed = !reply && !refused;
    taken = live_now() - start;
    agent->stalled += taken > REPLY_NS ? taken - REPLY_NS : 0;
    return reply;
}

static json_int_t number_of(const json_t *reply, const char *name)
{
    return json_integer_value(json_object_get(reply, name));
}

/* Returns whether a line of the drill computes a time from a timeout code, with "timeout(CODE)". */
static bool names_timeout(const struct script *script)
{
    for (unsigned i = 0; i < script->line_cnt; i++)
        if (strstr(script->line[i], "timeout("))
            return true;
    return false;
}

json_t *live_agent_qp_request(const struct live_agent *agent, int object, const char *op)
{
    const struct script_object *qp = &agent->script->object[object];
    const struct script_options *o = &qp->options;
    unsigned timeout = names_timeout(agent->script) ? 14 : agent->timeout;
    char dgid[INET6_ADDRSTRLEN];
    json_t *json;

    inet_ntop(AF_INET6, agent->net->own_addr, dgid, sizeof(dgid));
    json = json_pack("{s:s, s:I, s:s, s:i, s:I, s:I, s:I, s:I}", "op", op, "qp",
                     (json_int_t)agent->at[object].number, "dgid", dgid, "gid_index",
                     agent->client.gid_index, "dest_qpn",
                     (json_int_t)drill_own_qpn(agent->net, object), "mtu",
                     (json_int_t)script_number(o, SCRIPT_OPT_MTU, 1024), "rq_psn",
                     (json_int_t)drill_own_psn(qp), "sq_psn", (json_int_t)drill_dut_psn(qp));
    if (!json)
        return NULL;
#define SET(name, opt, fallback)                                                                   \
    json_object_set_new(json, name, json_integer((json_int_t)script_number(o, opt, fallback)))
    SET("min_rnr_timer", SCRIPT_OPT_RNR_TIMER, 12);
    SET("timeout", SCRIPT_OPT_TIMEOUT, timeout);
    SET("retry_cnt", SCRIPT_OPT_RETRY, 7);
    SET("rnr_retry", SCRIPT_OPT_RNR_RETRY, 7);
    SET("rd_atomic", SCRIPT_OPT_RD_ATOMIC, 4);
    SET("resources", SCRIPT_OPT_RESOURCES, 4);
    SET("hop_limit", SCRIPT_OPT_HOP_LIMIT, 64);
    SET("traffic_class", SCRIPT_OPT_TCLASS, 0);
    SET("pkey", SCRIPT_OPT_PKEY, 0xFFFF);
    SET("qkey", SCRIPT_OPT_QKEY, 0x11111111);
#undef SET
    json_object_set_new(
        json, "access",
        json_integer(
            (json_int_t)(script_number(o, SCRIPT_OPT_ACCESS, RNIC_ACCESS_REMOTE) & ACCESS_BITS)));
    return json;
}

/* ---- creating objects ------------------------------------------------------------------------ */

/* If option `opt` names an object, adds the agent's number of this object to a request, as member
 * `name`. */
static void name_object(const struct live_agent *agent, const struct script_options *o,
                        enum script_opt opt, const char *name, json_t *request)
{
    if (script_given(o, opt))
        json_object_set_new(request, name,
                            json_integer((json_int_t)agent->at[o->value[opt].object].number));
}

/* Creates a memory region. `o`: options of the region in the script, or NULL if the script does not
 * declare the region. */
static bool make_region(struct live_agent *agent, uint64_t len, unsigned access,
                        const struct script_options *o, uint32_t *number, uint64_t *address,
                        uint32_t *lkey, uint32_t *rkey)
{
    json_t *request = json_pack("{s:s, s:I, s:I}", "op", "mr", "len", (json_int_t)len, "access",
                                (json_int_t)access);
    json_t *reply;

    if (o && (script_given(o, SCRIPT_OPT_IOVA) || script_given(o, SCRIPT_OPT_ZERO_BASED)))
        json_object_set_new(request, "iova",
                            json_integer((json_int_t)script_number(o, SCRIPT_OPT_IOVA, 0)));
    if (o)
        name_object(agent, o, SCRIPT_OPT_PD, "pd", request);
    reply = live_agent_call(agent, request);
    if (!reply)
        return false;
    *number = (uint32_t)number_of(reply, "mr");
    *address = (uint64_t)number_of(reply, "addr");
    *lkey = (uint32_t)number_of(reply, "lkey");
    *rkey = (uint32_t)number_of(reply, "rkey");
    json_decref(reply);
    return true;
}

static uint8_t fill_byte(const struct script_fill *fill, uint64_t i)
{
    return fill->kind == SCRIPT_FILL_PATTERN ? script_pattern(fill->pattern, i + fill->off)
           : fill->kind == SCRIPT_FILL_DATA && i < fill->len ? fill->data[i]
                                                             : 0;
}

bool live_agent_store(struct live_agent *agent, int object, uint64_t off,
                      const struct script_fill *fill, uint64_t len)
{
    uint8_t *bytes = malloc(CHUNK);
    char *hex = malloc(2 * CHUNK + 1);
    bool fine = bytes && hex;

    live_agent_forget(agent);
    for (uint64_t at = 0; fine && at < len;) {
        uint64_t cnt = len - at < CHUNK ? len - at : CHUNK;
        json_t *reply;

        for (uint64_t i = 0; i < cnt; i++)
            bytes[i] = fill_byte(fill, at + i);
        hex_format(hex, bytes, cnt);
        reply = live_agent_call(agent,
                                json_pack("{s:s, s:I, s:I, s:s%}", "op", "store", "mr",
                                          (json_int_t)agent->at[object].number, "off",
                                          (json_int_t)(off + at), "hex", hex, (size_t)(2 * cnt)));
        fine = reply != NULL;
        json_decref(reply);
        at += cnt;
    }
    free(bytes);
    free(hex);
    return fine;
}

static bool make_mr(struct live_agent *agent, int i)
{
    const struct script_options *o = &agent->script->object[i].options;

    agent->at[i].len = script_number(o, SCRIPT_OPT_LEN, 0);
    return make_region(agent, agent->at[i].len,
                       (unsigned)script_number(o, SCRIPT_OPT_ACCESS, 0) & ACCESS_BITS, o,
                       &agent->at[i].number, &agent->at[i].address, &agent->at[i].lkey,
                       &agent->at[i].rkey) &&
           (o->fill.kind == SCRIPT_FILL_NONE ||
            live_agent_store(agent, i, 0, &o->fill, agent->at[i].len));
}

/* Creates an object that has only a number: a PD, CQ, SRQ or memory window. */
static bool make_numbered(struct live_agent *agent, int i, const char *op, const char *name,
                          uint64_t value)
{
    const struct script_options *o = &agent->script->object[i].options;
    json_t *request = json_pack("{s:s, s:I}", "op", op, name, (json_int_t)value), *reply;

    if (script_given(o, SCRIPT_OPT_LIMIT))
        json_object_set_new(request, "limit",
                            json_integer((json_int_t)script_number(o, SCRIPT_OPT_LIMIT, 0)));
    name_object(agent, o, SCRIPT_OPT_PD, "pd", request);
    reply = live_agent_call(agent, request);
    agent->at[i].number = (uint32_t)number_of(reply, op);
    agent->at[i].rkey = (uint32_t)number_of(reply, "rkey");
    json_decref(reply);
    return reply != NULL;
}

static bool set_state(struct live_agent *agent, int i, const char *op, uint64_t state,
                      bool transition)
{
    json_t *request = live_agent_qp_request(agent, i, op), *reply;
    int code;

    json_object_set_new(request, "state", json_string(words_name(words_state, state)));
    json_object_set_new(request, "transition", json_boolean(transition));
    reply = live_agent_call(agent, request);
    code = agent->client.code;
    agent->no_route = !reply && (code == ENETUNREACH || code == EHOSTUNREACH || code == ETIMEDOUT);
    json_decref(reply);
    return reply != NULL;
}

static bool make_qp(struct live_agent *agent, int i)
{
    static const char *const services[] = {"RC", "UC", "UD"};
    const struct script_object *object = &agent->script->object[i];
    const struct script_options *o = &object->options;
    uint64_t state = script_number(o, SCRIPT_OPT_STATE, RNIC_QPS_RTS);
    json_t *request =
        json_pack("{s:s, s:s, s:I, s:I}", "op", "qp", "type", services[object->service], "max_send",
                  (json_int_t)script_number(o, SCRIPT_OPT_SENDS, DEPTH), "max_recv",
                  (json_int_t)script_number(o, SCRIPT_OPT_RECVS, DEPTH));
    json_t *reply;

    for (size_t k = 0; k < agent->script->event_cnt; k++)
        if (agent->script->event[k].kind == SCRIPT_VERB &&
            script_given(&agent->script->event[k].options, SCRIPT_OPT_INLINE))
            json_object_set_new(request, "max_inline", json_integer(256));
    name_object(agent, o, SCRIPT_OPT_SRQ, "srq", request);
    name_object(agent, o, SCRIPT_OPT_CQ, "cq", request);
    name_object(agent, o, SCRIPT_OPT_PD, "pd", request);
    reply = live_agent_call(agent, request);
    if (!reply)
        return false;
    agent->at[i].number = (uint32_t)number_of(reply, "qp");
    agent->at[i].qpn = (uint32_t)number_of(reply, "qpn");
    json_decref(reply);
    if (state == RNIC_QPS_RESET)
        return true;
    return set_state(agent, i, "connect", state > RNIC_QPS_RTS ? RNIC_QPS_RTS : state, false) &&
           (state <= RNIC_QPS_RTS || set_state(agent, i, "modify", state, true));
}

static bool make_object(struct live_agent *agent, int i)
{
    const struct script_options *o = &agent->script->object[i].options;

    switch (agent->script->object[i].kind) {
    case SCRIPT_PD: return make_numbered(agent, i, "pd", "depth", 0);
    case SCRIPT_CQ:
        return make_numbered(agent, i, "cq", "depth", script_number(o, SCRIPT_OPT_DEPTH, DEPTH));
    case SCRIPT_SRQ:
        return make_numbered(agent, i, "srq", "depth", script_number(o, SCRIPT_OPT_DEPTH, DEPTH));
    case SCRIPT_MW:
        return make_numbered(agent, i, "mw", "type", script_number(o, SCRIPT_OPT_TYPE, 1));
    case SCRIPT_MR: return make_mr(agent, i);
    case SCRIPT_QP: return make_qp(agent, i);
    default:
        agent->at[i].address = drill_own_address(i);
        agent->at[i].rkey = drill_own_key(i);
        return true;
    }
}

/* Returns the length of the longest datagram of a QP that the drill sends or expects, but at least
 * `least`. */
static uint64_t longest_datagram(const struct script *script, int qp, uint64_t least)
{
    for (size_t i = 0; i < script->event_cnt; i++) {
        const struct script_event *event = &script->event[i];

        if ((event->kind == SCRIPT_SEND || event->kind == SCRIPT_EXPECT) &&
            event->packet->qp == qp && event->packet->payload > least)
            least = event->packet->payload;
    }
    return least;
}

/* Compares object `i` with the limits of the agent's device. Returns 0, or -1 and an error if the
 * device cannot create the object. */
static int check_limits(const struct live_agent *agent, int i, uint32_t mtu, struct error *error)
{
    const struct script_object *object = &agent->script->object[i];
    uint64_t wanted = script_number(&object->options, SCRIPT_OPT_MTU, 1024);

    if (object->kind != SCRIPT_QP)
        return 0;
    if (object->service == SCRIPT_UD)
        wanted = longest_datagram(agent->script, i, wanted);
    if (wanted > agent->client.mtu || wanted > mtu)
        return error_set(error,
                         DRILL_UNSUPPORTED_TEXT "path MTU of %u: its port permits %u, and "
                                                "the interface of --live permits %u",
                         (unsigned)wanted, agent->client.mtu, mtu);
    if ((object->service == SCRIPT_UC && !agent->client.uc) ||
        (object->service == SCRIPT_UD && !agent->client.ud))
        return error_set(error, DRILL_UNSUPPORTED_TEXT "%s",
                         object->service == SCRIPT_UC ? "uc" : "ud");
    return 0;
}

/* Sets the error that the device cannot send to the address of the drill. Returns -1. */
static int no_route_error(const struct live_agent *agent, struct error *error)
{
    char text[64];
    struct strbuf t = strbuf_of(text, sizeof(text));

    strbuf_add_addr(&t, agent->net->own_addr);
    return error_set(error, "--agent %s: device %s cannot reach %s, our address (--address): %s",
                     agent->client.name, agent->client.device, text, strerror(agent->client.code));
}

static int make_objects(struct live_agent *agent, uint32_t mtu, struct error *error)
{
    static const enum script_object_kind order[] = {SCRIPT_PD, SCRIPT_CQ, SCRIPT_SRQ, SCRIPT_QP,
                                                    SCRIPT_MR, SCRIPT_MW, SCRIPT_PEER};
    const struct script *script = agent->script;
    uint32_t rkey;

    for (int i = 0; i < script->object_cnt; i++)
        if (check_limits(agent, i, mtu, error) != 0)
            return -1;
    for (size_t i = 0; i < script->event_cnt; i++)
        if (script->event[i].kind == SCRIPT_VERB && script->event[i].verb == SCRIPT_VERB_RECV)
            agent->recv_len += script_number(&script->event[i].options, SCRIPT_OPT_LEN, 0);
    for (unsigned k = 0; k < sizeof(order) / sizeof(order[0]); k++)
        for (int i = 0; i < script->object_cnt; i++)
            if (script->object[i].kind == order[k] && !make_object(agent, i))
                return agent->no_route ? no_route_error(agent, error)
                       : agent->client.code == EOPNOTSUPP
                           ? error_set(error, DRILL_UNSUPPORTED_TEXT "such %s (%.200s)",
                                       script->object[i].name, agent->error.text)
                           : error_set(error, "%s:%u: %s: %.200s", script->path,
                                       script->object[i].line, script->object[i].name,
                                       agent->error.text);
    return make_region(agent, agent->recv_len + 1, RNIC_ACCESS_LOCAL_WRITE, NULL, &agent->recv_mr,
                       &agent->recv_address, &agent->recv_lkey, &rkey)
               ? 0
               : error_set(error, "%s", agent->error.text);
}

int live_agent_open(struct live_agent *agent, const char *where, unsigned timeout, uint32_t mtu,
                    const struct script *script, const struct drill_net *net, struct error *error)
{
    agent->script = script;
    agent->net = net;
    agent->timeout = timeout;
    agent->comps = json_array();
    agent->events = json_array();
    agent->notified = json_array();
    agent->copied = SCRIPT_NO_OBJECT;
    if (agent_client_open(&agent->client, where, net->dut_addr, error) != 0)
        return -1;
    if (!agent->client.drills)
        return error_set(error, "--agent %s: this version of the agent cannot run drills", where);
    for (unsigned i = 0; i < script->need_cnt; i++)
        if (strcmp(script->need[i], "atomic") == 0 && !agent->client.atomic)
            return error_set(error, DRILL_UNSUPPORTED_TEXT "atomic");
    return make_objects(agent, mtu, error);
}

void live_agent_close(struct live_agent *agent)
{
    agent_client_close(&agent->client);
    json_decref(agent->comps);
    json_decref(agent->events);
    json_decref(agent->notified);
    free(agent->recv);
    free(agent->copy);
}

/* ---- completions and events ------------------------------------------------------------------ */

void live_agent_poll(struct live_agent *agent)
{
    json_t *reply = live_agent_call(agent, json_pack("{s:s, s:b}", "op", "poll", "events", 1));

    json_array_extend(agent->comps, json_object_get(reply, "completions"));
    json_array_extend(agent->events, json_object_get(reply, "events"));
    json_array_extend(agent->notified, json_object_get(reply, "notified"));
    json_decref(reply);
    live_agent_forget(agent);
}

/* Returns the index of the object of this kind to which the agent gave this number, or
 * SCRIPT_NO_OBJECT. */
static int object_of(const struct live_agent *agent, enum script_object_kind kind,
                     const json_t *number)
{
    for (int i = 0; json_is_integer(number) && i < agent->script->object_cnt; i++)
        if (agent->script->object[i].kind == kind &&
            (json_int_t)agent->at[i].number == json_integer_value(number))
            return i;
    return SCRIPT_NO_OBJECT;
}

bool live_agent_comp(struct live_agent *agent, struct drill_comp *out)
{
    const json_t *comp = json_array_get(agent->comps, agent->comp_at);

    if (!comp)
        return false;
    agent->comp_at++;
    *out = (struct drill_comp){.object = object_of(agent, SCRIPT_QP, json_object_get(comp, "qp")),
                               .recv = json_is_true(json_object_get(comp, "recv")),
                               .id = (uint64_t)number_of(comp, "id"),
                               .status = (unsigned)number_of(comp, "status"),
                               .len = (uint32_t)number_of(comp, "byte_len"),
                               .has_imm = json_object_get(comp, "imm") != NULL,
                               .imm = (uint32_t)number_of(comp, "imm"),
                               .has_invalidated = json_object_get(comp, "invalidated") != NULL,
                               .invalidated = (uint32_t)number_of(comp, "invalidated"),
                               .src_qp = (uint32_t)number_of(comp, "src_qpn"),
                               .header = json_object_get(comp, "src_qpn") ? 40 : 0};
    return true;
}

bool live_agent_event(struct live_agent *agent, struct drill_async *out)
{
    const json_t *event = json_array_get(agent->events, agent->event_at);

    if (!event)
        return false;
    agent->event_at++;
    *out =
        (struct drill_async){.type = (unsigned)number_of(event, "type"),
                             .object = object_of(agent, SCRIPT_QP, json_object_get(event, "qp"))};
    if (out->object == SCRIPT_NO_OBJECT)
        out->object = object_of(agent, SCRIPT_SRQ, json_object_get(event, "srq"));
    if (out->object == SCRIPT_NO_OBJECT)
        out->object = object_of(agent, SCRIPT_CQ, json_object_get(event, "cq"));
    return true;
}

bool live_agent_notified(struct live_agent *agent, int *cq)
{
    const json_t *number = json_array_get(agent->notified, agent->notified_at);

    if (!number)
        return false;
    agent->notified_at++;
    *cq = object_of(agent, SCRIPT_CQ, number);
    return true;
}

/* ---- state and memory ------------------------------------------------------------------------ */

unsigned live_agent_state(struct live_agent *agent, int object)
{
    json_t *reply = live_agent_call(
        agent, json_pack("{s:s, s:I}", "op", "query", "qp", (json_int_t)agent->at[object].number));
    const char *name = json_string_value(json_object_get(reply, "state"));
    unsigned state = UINT32_MAX;

    for (const struct word_number *row = words_state; name && row->word; row++)
        if (strcmp(row->word, name) == 0)
            state = (unsigned)row->number;
    json_decref(reply);
    return state;
}

void live_agent_forget(struct live_agent *agent)
{
    free(agent->copy);
    agent->copy = NULL;
    agent->copied = SCRIPT_NO_OBJECT;
}

static bool load_bytes(struct live_agent *agent, uint32_t mr, uint64_t off, uint8_t *buf,
                       uint64_t len)
{
    for (uint64_t at = 0; at < len && !agent->failed;) {
        uint64_t cnt = len - at < CHUNK ? len - at : CHUNK;

        if (agent_client_read(&agent->client, mr, off + at, buf + at, cnt, &agent->error) != 0)
            agent->failed = true;
        at += cnt;
    }
    return !agent->failed;
}

/* The engine compares memory byte by byte. So the first call copies the whole region from the
 * agent, and later calls read the copy. */
bool live_agent_read(struct live_agent *agent, int object, uint64_t off, void *buf, size_t len)
{
    uint64_t whole = agent->at[object].len;

    if (agent->script->object[object].kind != SCRIPT_MR || off > whole || len > whole - off)
        return false;
    if (agent->copied != object) {
        live_agent_forget(agent);
        agent->copy = malloc(whole + 1);
        if (!agent->copy || !load_bytes(agent, agent->at[object].number, 0, agent->copy, whole)) {
            live_agent_forget(agent);
            return false;
        }
        agent->copied = object;
    }
    memcpy(buf, agent->copy + off, len);
    return true;
}

bool live_agent_read_recv(struct live_agent *agent, const struct drill_comp *comp, void *buf,
                          size_t len)
{
    for (size_t i = agent->recv_cnt; i-- > 0;) {
        const struct live_recv *recv = &agent->recv[i];

        if (recv->id != comp->id || (recv->object != comp->object &&
                                     agent->script->object[recv->object].kind != SCRIPT_SRQ))
            continue;
        return recv->readable && comp->header + len <= recv->len &&
               load_bytes(agent, recv->mr, recv->off + comp->header, buf, len);
    }
    return false;
}
