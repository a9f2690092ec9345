/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "drill/device/live_verbs.h"

#include <arpa/inet.h>
#include <errno.h>
#include <string.h>
#include "device/rnic.h"
#include "drill/words.h"
#include "util/keymap.h"

/* ---- results of verbs ------------------------------------------------------------------------ */

/* Returns the result of a verb, and frees the reply. The specification defines no errno values. So
 * if the drill expects that the verb fails, every refusal by the agent matches, whatever its errno
 * is. */
static int verb_result(const struct live_agent *agent, const struct script_event *event,
                       json_t *reply)
{
    int code = agent->client.code;

    json_decref(reply);
    if (reply)
        return 0;
    if (code == EOPNOTSUPP || code == ENOSYS)
        return DRILL_VERB_UNSUPPORTED;
    if (event->fails != 0)
        return event->fails;
    return code == ENOMEM ? RNIC_ERR_NOMEM : code == EBUSY ? RNIC_ERR_BUSY : RNIC_ERR_INVALID;
}

static void set_number(json_t *json, const char *name, uint64_t value)
{
    json_object_set_new(json, name, json_integer((json_int_t)value));
}

static void set_flag(json_t *json, const char *name, bool value)
{
    if (value)
        json_object_set_new(json, name, json_true());
}

/* ---- work requests --------------------------------------------------------------------------- */

/* Sets the local buffer of a work request. */
static void set_place(const struct live_agent *agent, const struct script_value *place,
                      json_t *request)
{
    bool named = place->object != SCRIPT_NO_OBJECT;

    set_number(request, "addr", place->num + (named ? agent->at[place->object].address : 0));
    set_number(request, "lkey", named ? agent->at[place->object].lkey : 0);
}

static uint32_t key_of(const struct live_agent *agent, const struct script_value *value)
{
    return (uint32_t)value->num +
           (value->object == SCRIPT_NO_OBJECT ? 0 : agent->at[value->object].rkey);
}

static int post_recv(struct live_agent *agent, const struct script_event *event)
{
    const struct script_options *o = &event->options;
    const struct script_value *to = &o->value[SCRIPT_OPT_TO];
    bool shared = agent->script->object[event->object].kind == SCRIPT_SRQ;
    uint64_t len = script_number(o, SCRIPT_OPT_LEN, 0);
    json_t *request = json_pack("{s:s}", "op", "recv"), *reply;
    struct live_recv *recv;

    if (!VEC_GROW(agent->recv, agent->recv_cnt, agent->recv_cap))
        return RNIC_ERR_NOMEM;
    recv = &agent->recv[agent->recv_cnt];
    *recv = (struct live_recv){.object = event->object,
                               .id = script_number(o, SCRIPT_OPT_ID, 0),
                               .readable = true,
                               .mr = agent->recv_mr,
                               .off = agent->recv_used,
                               .len = len};
    set_number(request, shared ? "srq" : "qp", agent->at[event->object].number);
    set_number(request, "id", recv->id);
    set_number(request, "len", len);
    if (script_given(o, SCRIPT_OPT_TO)) {
        recv->readable = to->object != SCRIPT_NO_OBJECT;
        recv->mr = recv->readable ? agent->at[to->object].number : 0;
        recv->off = to->num;
        set_place(agent, to, request);
    } else {
        set_number(request, "addr", agent->recv_address + agent->recv_used);
        set_number(request, "lkey", agent->recv_lkey);
        agent->recv_used += len;
    }
    reply = live_agent_call(agent, request);
    agent->recv_cnt += reply != NULL;
    return verb_result(agent, event, reply);
}

static const struct {
    const char *opcode, *imm;
    enum script_opt local, remote;
    uint32_t len; /* length of the request if the line names no length, bytes */
} posts[SCRIPT_VERB_CNT] = {
    [SCRIPT_VERB_SEND] = {"send", "send_imm", SCRIPT_OPT_FROM, SCRIPT_OPT_CNT, 0},
    [SCRIPT_VERB_WRITE] = {"write", "write_imm", SCRIPT_OPT_FROM, SCRIPT_OPT_TO, 0},
    [SCRIPT_VERB_READ] = {"read", "read", SCRIPT_OPT_TO, SCRIPT_OPT_FROM, 0},
    [SCRIPT_VERB_CMP_SWAP] = {"cmp_swap", "cmp_swap", SCRIPT_OPT_TO, SCRIPT_OPT_FROM, 8},
    [SCRIPT_VERB_FETCH_ADD] = {"fetch_add", "fetch_add", SCRIPT_OPT_TO, SCRIPT_OPT_FROM, 8},
    [SCRIPT_VERB_LOCAL_INV] = {"local_inv", "local_inv", SCRIPT_OPT_CNT, SCRIPT_OPT_CNT, 0},
};

/* Sets the destination GID in a request to the agent to the address of the drill's own end. */
static void set_own_gid(const struct live_agent *agent, json_t *request)
{
    char dgid[INET6_ADDRSTRLEN];

    inet_ntop(AF_INET6, agent->net->own_addr, dgid, sizeof(dgid));
    json_object_set_new(request, "dgid", json_string(dgid));
    set_number(request, "gid_index", (uint64_t)agent->client.gid_index);
}

/* Sets the destination of a datagram. */
static void set_destination(const struct live_agent *agent, const struct script_event *event,
                            json_t *request)
{
    const struct script_options *qp = &agent->script->object[event->object].options;
    const struct script_options *ah =
        script_given(&event->options, SCRIPT_OPT_AH)
            ? &agent->script->object[event->options.value[SCRIPT_OPT_AH].object].options
            : qp;

    set_own_gid(agent, request);
    set_number(request, "dest_qpn",
               script_given(&event->options, SCRIPT_OPT_TO_QPN)
                   ? drill_qpn(agent->net, event->options.value[SCRIPT_OPT_TO_QPN].num)
                   : drill_own_qpn(agent->net, event->object));
    set_number(request, "qkey",
               script_number(&event->options, SCRIPT_OPT_QKEY,
                             script_number(qp, SCRIPT_OPT_QKEY, 0x11111111)));
    set_number(request, "hop_limit", script_number(ah, SCRIPT_OPT_HOP_LIMIT, 64));
    set_number(request, "traffic_class", script_number(ah, SCRIPT_OPT_TCLASS, 0));
}

static int post_send(struct live_agent *agent, const struct script_event *event)
{
    const struct script_options *o = &event->options;
    enum script_opt local = posts[event->verb].local, remote = posts[event->verb].remote;
    const char *opcode =
        script_given(o, SCRIPT_OPT_IMM) ? posts[event->verb].imm : posts[event->verb].opcode;
    json_t *request = json_pack("{s:s}", "op", "send");

    set_number(request, "qp", agent->at[event->object].number);
    set_number(request, "id", script_number(o, SCRIPT_OPT_ID, 0));
    set_number(request, "len", script_number(o, SCRIPT_OPT_LEN, posts[event->verb].len));
    set_number(request, "imm", script_number(o, SCRIPT_OPT_IMM, 0));
    set_number(request, "compare_add",
               script_number(o, SCRIPT_OPT_COMPARE, script_number(o, SCRIPT_OPT_ADD, 0)));
    set_number(request, "swap", script_number(o, SCRIPT_OPT_SWAP, 0));
    set_flag(request, "solicited", script_given(o, SCRIPT_OPT_SOLICITED));
    set_flag(request, "fence", script_given(o, SCRIPT_OPT_FENCE));
    set_flag(request, "inline", script_given(o, SCRIPT_OPT_INLINE));
    set_flag(request, "unsignaled", script_given(o, SCRIPT_OPT_UNSIGNALED));
    if (local != SCRIPT_OPT_CNT && script_given(o, local))
        set_place(agent, &o->value[local], request);
    if (remote != SCRIPT_OPT_CNT && script_given(o, remote)) {
        const struct script_value *place = &o->value[remote];
        bool named = place->object != SCRIPT_NO_OBJECT;

        set_number(request, "remote_addr",
                   place->num + (named ? agent->at[place->object].address : 0));
        set_number(request, "rkey",
                   script_given(o, SCRIPT_OPT_KEY) ? key_of(agent, &o->value[SCRIPT_OPT_KEY])
                   : named                         ? agent->at[place->object].rkey
                                                   : 0);
    }
    if (event->verb == SCRIPT_VERB_LOCAL_INV) {
        set_number(request, "invalidate", key_of(agent, &o->value[SCRIPT_OPT_KEY]));
    } else if (script_given(o, SCRIPT_OPT_INVALIDATE)) {
        opcode = "send_inv";
        set_number(request, "invalidate", key_of(agent, &o->value[SCRIPT_OPT_INVALIDATE]));
    }
    json_object_set_new(request, "opcode", json_string(opcode));
    if (agent->script->object[event->object].service == SCRIPT_UD)
        set_destination(agent, event, request);
    return verb_result(agent, event, live_agent_call(agent, request));
}

static int post_bind(struct live_agent *agent, const struct script_event *event)
{
    const struct script_options *o = &event->options;
    const struct script_value *mr = &o->value[SCRIPT_OPT_MR];
    int window = o->value[SCRIPT_OPT_INVALIDATE].object;
    uint32_t old = agent->at[window].rkey;
    json_t *request = json_pack("{s:s}", "op", "bind"), *reply;

    if (mr->object == SCRIPT_NO_OBJECT || agent->script->object[mr->object].kind != SCRIPT_MR) {
        json_decref(request);
        return RNIC_ERR_INVALID;
    }
    set_number(request, "qp", agent->at[event->object].number);
    set_number(request, "mw", agent->at[window].number);
    set_number(request, "mr", agent->at[mr->object].number);
    set_number(request, "id", script_number(o, SCRIPT_OPT_ID, 0));
    set_number(request, "addr", agent->at[mr->object].address + mr->num);
    set_number(request, "len", script_number(o, SCRIPT_OPT_LEN, 0));
    set_number(request, "access", script_number(o, SCRIPT_OPT_ACCESS, 0) & RNIC_ACCESS_REMOTE);
    /* A bind may change only the low 8 bits of the R_Key. */
    set_number(request, "rkey",
               script_given(o, SCRIPT_OPT_KEY) ? (uint32_t)o->value[SCRIPT_OPT_KEY].num
                                               : (old & ~0xFFu) | ((old + 1) & 0xFF));
    set_flag(request, "unsignaled", script_given(o, SCRIPT_OPT_UNSIGNALED));
    reply = live_agent_call(agent, request);
    if (reply)
        agent->at[window].rkey = (uint32_t)json_integer_value(json_object_get(reply, "rkey"));
    return verb_result(agent, event, reply);
}

/* ---- other verbs ----------------------------------------------------------------------------- */

static int store_bytes(struct live_agent *agent, const struct script_event *event)
{
    int object = event->place.object;
    const struct script_options *o = &event->options;
    uint64_t whole = agent->at[object].len, off = event->place.num;
    uint64_t rest = off < whole ? whole - off : 0;
    uint64_t len =
        script_number(o, SCRIPT_OPT_LEN, o->fill.kind == SCRIPT_FILL_DATA ? o->fill.len : rest);

    if (off > whole || len > rest)
        return RNIC_ERR_INVALID;
    return live_agent_store(agent, object, off, &o->fill, len) ? 0 : RNIC_ERR_INVALID;
}

/* For each option of "modify QP": its member in the request to the agent. */
static const struct {
    enum script_opt opt;
    const char *name;
} modify_rows[] = {
    {SCRIPT_OPT_ACCESS, "access"},
    {SCRIPT_OPT_QKEY, "qkey"},
    {SCRIPT_OPT_MTU, "mtu"},
    {SCRIPT_OPT_TIMEOUT, "timeout"},
    {SCRIPT_OPT_RETRY, "retry_cnt"},
    {SCRIPT_OPT_RNR_RETRY, "rnr_retry"},
    {SCRIPT_OPT_PEER_PSN, "rq_psn"},
    {SCRIPT_OPT_PSN, "sq_psn"},
    {SCRIPT_OPT_RD_ATOMIC, "rd_atomic"},
    {SCRIPT_OPT_RESOURCES, "resources"},
    {SCRIPT_OPT_PEER_QPN, "dest_qpn"},
    {SCRIPT_OPT_RNR_TIMER, "min_rnr_timer"},
    {SCRIPT_OPT_PKEY, "pkey"},
    {SCRIPT_OPT_PORT, "port"},
    {SCRIPT_OPT_TCLASS, "traffic_class"},
    {SCRIPT_OPT_HOP_LIMIT, "hop_limit"},
};

/* Executes "modify QP". If the line names only a new state, passes all attributes that the
 * transition requires. Otherwise passes only the attributes of the options that the line names. */
static int modify_qp(struct live_agent *agent, const struct script_event *event)
{
    const struct script_options *o = &event->options;
    bool transition = (o->given & ~SCRIPT_BIT(STATE)) == 0;
    json_t *request = transition ? live_agent_qp_request(agent, event->object, "modify")
                                 : json_pack("{s:s, s:I}", "op", "modify", "qp",
                                             (json_int_t)agent->at[event->object].number);

    set_flag(request, "transition", transition);
    if (!transition &&
        (script_given(o, SCRIPT_OPT_HOP_LIMIT) || script_given(o, SCRIPT_OPT_TCLASS)))
        set_own_gid(agent, request);
    if (script_given(o, SCRIPT_OPT_STATE))
        json_object_set_new(request, "state",
                            json_string(words_name(words_state, o->value[SCRIPT_OPT_STATE].num)));
    for (unsigned i = 0; i < sizeof(modify_rows) / sizeof(modify_rows[0]); i++)
        if (script_given(o, modify_rows[i].opt))
            set_number(request, modify_rows[i].name,
                       modify_rows[i].opt == SCRIPT_OPT_PEER_QPN
                           ? drill_qpn(agent->net, o->value[SCRIPT_OPT_PEER_QPN].num)
                           : o->value[modify_rows[i].opt].num);
    return verb_result(agent, event, live_agent_call(agent, request));
}

/* Modifies an SRQ or a CQ. */
static int modify_queue(struct live_agent *agent, const struct script_event *event,
                        const char *kind)
{
    const struct script_options *o = &event->options;
    json_t *request =
        json_pack("{s:s, s:I}", "op", "modify", kind, (json_int_t)agent->at[event->object].number);

    if (script_given(o, SCRIPT_OPT_LIMIT))
        set_number(request, "limit", script_number(o, SCRIPT_OPT_LIMIT, 0));
    if (script_given(o, SCRIPT_OPT_DEPTH))
        set_number(request, "depth", script_number(o, SCRIPT_OPT_DEPTH, 0));
    return verb_result(agent, event, live_agent_call(agent, request));
}

static int modify_object(struct live_agent *agent, const struct script_event *event)
{
    switch (agent->script->object[event->object].kind) {
    case SCRIPT_SRQ: return modify_queue(agent, event, "srq");
    case SCRIPT_CQ: return modify_queue(agent, event, "cq");
    default: return modify_qp(agent, event);
    }
}

static int arm_cq(struct live_agent *agent, const struct script_event *event)
{
    json_t *request =
        json_pack("{s:s, s:I}", "op", "arm", "cq", (json_int_t)agent->at[event->object].number);

    set_flag(request, "solicited", script_given(&event->options, SCRIPT_OPT_SOLICITED));
    return verb_result(agent, event, live_agent_call(agent, request));
}

static int destroy_object(struct live_agent *agent, const struct script_event *event)
{
    int i = event->object;
    static const char *const names[] = {
        [SCRIPT_QP] = "qp",   [SCRIPT_MR] = "mr", [SCRIPT_PEER] = "peer", [SCRIPT_CQ] = "cq",
        [SCRIPT_SRQ] = "srq", [SCRIPT_MW] = "mw", [SCRIPT_PD] = "pd",     [SCRIPT_XRCD] = "xrcd"};
    enum script_object_kind kind = agent->script->object[i].kind;
    json_t *reply = live_agent_call(agent, json_pack("{s:s, s:I}", "op",
                                                     kind == SCRIPT_MR ? "withdraw" : "delete",
                                                     names[kind], (json_int_t)agent->at[i].number));

    agent->at[i].destroyed = reply != NULL;
    return verb_result(agent, event, reply);
}

int live_verb(struct live_agent *agent, const struct script_event *event)
{
    live_agent_forget(agent);
    if (event->object != SCRIPT_NO_OBJECT && agent->at[event->object].destroyed)
        return RNIC_ERR_INVALID;
    switch (event->verb) {
    case SCRIPT_VERB_RECV: return post_recv(agent, event);
    case SCRIPT_VERB_STORE: return store_bytes(agent, event);
    case SCRIPT_VERB_BIND: return post_bind(agent, event);
    case SCRIPT_VERB_MODIFY: return modify_object(agent, event);
    case SCRIPT_VERB_ARM: return arm_cq(agent, event);
    case SCRIPT_VERB_DESTROY: return destroy_object(agent, event);
    default: return posts[event->verb].opcode ? post_send(agent, event) : DRILL_VERB_UNSUPPORTED;
    }
}
