/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "drill/device/device_pipe.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "device/rnic.h"
#include "drill/device/pipe_program.h"
#include "drill/device/pipe_reply.h"
#include "drill/words.h"
#include "util/hex.h"
#include "util/json_util.h"

#define DEFAULT_ADDRESS(object) (UINT64_C(0x7F0000001000) + ((uint64_t)(object) << 32))

struct drill_device {
    const struct script *script;
    const struct device_pipe_config *config;
    struct pipe_program program;
    bool broken;       /* the program ended, sent a wrong reply, or did not answer in time */
    char failure[440]; /* reason of the failure, or "" */
    struct {
        uint64_t address;
        uint32_t key, number;
    } at[SCRIPT_OBJECTS_MAX];
    uint64_t deadline;               /* time of the next event of the program, ns */
    json_t *frames, *comps, *events; /* items of replies that the engine has not fetched */
    size_t frame_at, comp_at, event_at;
};

static bool device_supports(const char *need)
{
    (void)need; /* the program refuses to open a drill that it does not support */
    return true;
}

/* ---- exchanging lines with the program ------------------------------------------------------- */

/* Appends the elements of array `name` of a reply to `list`. */
static void take_list(const json_t *reply, const char *name, json_t *list)
{
    const json_t *array = json_object_get(reply, name);

    for (size_t i = 0; i < json_array_size(array); i++)
        json_array_append(list, json_array_get(array, i));
}

static uint64_t get_number(const json_t *object, const char *name, uint64_t fallback)
{
    const json_t *value = json_object_get(object, name);

    return json_is_integer(value) ? (uint64_t)json_integer_value(value) : fallback;
}

static void set_failure(struct drill_device *dev, const char *problem)
{
    dev->broken = true;
    dev->deadline = RNIC_NEVER;
    if (!*dev->failure)
        snprintf(dev->failure, sizeof(dev->failure), "--pipe %.120s: %s", dev->config->command,
                 problem);
}

/* Sends a request and frees it. Stores the frames, completions, events and deadline of the reply in
 * `dev`. Returns the reply. Returns NULL if the program sends no reply or a wrong one
 * (docs/drill.md). */
static json_t *call(struct drill_device *dev, json_t *request)
{
    char *text = dev->broken ? NULL : json_dumps(request, JSON_COMPACT);
    const char *line = NULL;
    json_t *reply = NULL;
    char problem[300];
    size_t len = 0;

    if (text) {
        size_t end = strlen(text);

        text[end] = '\n'; /* replaces the final zero byte */
        line = pipe_program_call(&dev->program, text, end + 1, dev->config->timeout, &len);
        free(text);
        if (!line)
            set_failure(dev, dev->program.problem);
    }
    if (line) {
        reply = json_loadb(line, len, 0, NULL);
        if (!pipe_reply_check(dev->script, request, reply, problem, sizeof(problem))) {
            set_failure(dev, problem);
            json_decref(reply);
            reply = NULL;
        }
    }
    json_decref(request);
    if (!reply)
        return NULL;
    take_list(reply, "frames", dev->frames);
    take_list(reply, "comps", dev->comps);
    take_list(reply, "events", dev->events);
    dev->deadline = get_number(reply, "deadline", RNIC_NEVER);
    return reply;
}

static const char *get_text(const json_t *object, const char *name)
{
    const char *text = json_string_value(json_object_get(object, name));

    return text ? text : "";
}

/* Reads the hexadecimal bytes of a JSON member. Returns their number, or 0 if the member has no
 * bytes or more than `cap`. */
static size_t get_bytes(const json_t *value, uint8_t *buf, size_t cap)
{
    const char *text = json_string_value(value);
    size_t len = text ? strlen(text) : 0;

    return len % 2 == 0 && len / 2 <= cap && hex_parse(text ? text : "", buf, len / 2) ? len / 2
                                                                                       : 0;
}

/* ---- describing objects ---------------------------------------------------------------------- */

static void set_number(json_t *json, const char *name, uint64_t value)
{
    json_object_set_new(json, name, json_integer((json_int_t)value));
}

/* Returns the first `len` bytes of a region as a JSON string in hexadecimal, or NULL if out of
 * memory. */
static json_t *fill_string(const struct script_fill *fill, uint64_t len)
{
    uint8_t *bytes = calloc(1, len + 1);
    json_t *json;

    if (!bytes)
        return NULL;
    for (uint64_t i = 0; i < len; i++)
        bytes[i] = fill->kind == SCRIPT_FILL_PATTERN ? script_pattern(fill->pattern, i + fill->off)
                   : fill->kind == SCRIPT_FILL_DATA && i < fill->len ? fill->data[i]
                                                                     : 0;
    json = json_hex(bytes, len);
    free(bytes);
    return json;
}

static void describe_qp(const struct script *script, const struct drill_net *net, int i,
                        json_t *json)
{
    static const char *const services[] = {"rc", "uc", "ud", "xrc", "xrc-send", "gsi"};
    const struct script_options *o = &script->object[i].options;

    json_object_set_new(json, "service", json_string(services[script->object[i].service]));
    set_number(json, "mtu", script_number(o, SCRIPT_OPT_MTU, 1024));
    set_number(json, "timeout", script_number(o, SCRIPT_OPT_TIMEOUT, 14));
    set_number(json, "retry", script_number(o, SCRIPT_OPT_RETRY, 7));
    set_number(json, "rnr-retry", script_number(o, SCRIPT_OPT_RNR_RETRY, 7));
    set_number(json, "rnr-timer", script_number(o, SCRIPT_OPT_RNR_TIMER, 12));
    set_number(json, "rd-atomic", script_number(o, SCRIPT_OPT_RD_ATOMIC, 4));
    set_number(json, "resources", script_number(o, SCRIPT_OPT_RESOURCES, 4));
    set_number(json, "psn", drill_dut_psn(&script->object[i]));
    set_number(json, "peer-psn", drill_own_psn(&script->object[i]));
    set_number(json, "peer-qpn", drill_own_qpn(net, i));
    set_number(json, "pkey", script_number(o, SCRIPT_OPT_PKEY, 0xFFFF));
    set_number(json, "access", script_number(o, SCRIPT_OPT_ACCESS, RNIC_ACCESS_REMOTE));
    set_number(json, "tclass", script_number(o, SCRIPT_OPT_TCLASS, 0));
    set_number(json, "hop-limit", script_number(o, SCRIPT_OPT_HOP_LIMIT, 64));
    json_object_set_new(
        json, "state",
        json_string(words_name(words_state, script_number(o, SCRIPT_OPT_STATE, RNIC_QPS_RTS))));
}

static json_t *describe_object(const struct script *script, const struct drill_net *net, int i)
{
    const struct script_object *object = &script->object[i];
    const struct script_options *o = &object->options;
    static const enum script_opt links[] = {SCRIPT_OPT_PD, SCRIPT_OPT_CQ, SCRIPT_OPT_RECV_CQ,
                                            SCRIPT_OPT_SRQ, SCRIPT_OPT_XRCD};
    static const char *const link_names[] = {"pd", "cq", "recv-cq", "srq", "xrcd"};
    static const char *const kinds[] = {"pd", "cq", "srq", "xrcd", "qp", "mr", "mw", "ah", "peer"};
    json_t *json = json_object();

    json_object_set_new(json, "name", json_string(object->name));
    json_object_set_new(json, "kind", json_string(kinds[object->kind]));
    for (unsigned k = 0; k < 5; k++)
        if (script_given(o, links[k]))
            json_object_set_new(json, link_names[k],
                                json_string(script->object[o->value[links[k]].object].name));
    if (object->kind == SCRIPT_QP)
        describe_qp(script, net, i, json);
    if (object->kind == SCRIPT_AH) {
        set_number(json, "tclass", script_number(o, SCRIPT_OPT_TCLASS, 0));
        set_number(json, "hop-limit", script_number(o, SCRIPT_OPT_HOP_LIMIT, 64));
        if (script_given(o, SCRIPT_OPT_GROUP))
            set_number(json, "group", script_number(o, SCRIPT_OPT_GROUP, 0));
    }
    if (object->kind == SCRIPT_MR) {
        uint64_t len = script_number(o, SCRIPT_OPT_LEN, 0);

        set_number(json, "len", len);
        set_number(json, "access", script_number(o, SCRIPT_OPT_ACCESS, 0));
        set_number(json, "address",
                   script_given(o, SCRIPT_OPT_ZERO_BASED)
                       ? 0
                       : script_number(o, SCRIPT_OPT_IOVA, DEFAULT_ADDRESS(i)));
        json_object_set_new(json, "bytes", fill_string(&o->fill, len < PIPE_LINE_MAX ? len : 0));
    }
    return json;
}

static void device_close(struct drill_device *dev)
{
    pipe_program_stop(&dev->program);
    json_decref(dev->frames);
    json_decref(dev->comps);
    json_decref(dev->events);
    free(dev);
}

static json_t *open_request(const struct script *script, const struct drill_net *net)
{
    json_t *json = json_object(), *objects = json_array(), *needs = json_array();

    json_object_set_new(json, "op", json_string("open"));
    json_object_set_new(json, "mac", json_hex(net->dut_mac, 6));
    json_object_set_new(json, "peer-mac", json_hex(net->own_mac, 6));
    json_object_set_new(json, "addr", json_addr(net->dut_addr));
    json_object_set_new(json, "peer-addr", json_addr(net->own_addr));
    for (unsigned i = 0; i < script->need_cnt; i++)
        json_array_append_new(needs, json_string(script->need[i]));
    for (int i = 0; i < script->object_cnt; i++)
        json_array_append_new(objects, describe_object(script, net, i));
    json_object_set_new(json, "needs", needs);
    json_object_set_new(json, "objects", objects);
    return json;
}

static struct drill_device *device_open(const void *config, const struct script *script,
                                        struct drill_net *net, bool *unreachable,
                                        struct error *error)
{
    struct drill_device *dev = calloc(1, sizeof(*dev));
    const json_t *objects;
    json_t *reply = NULL;

    if (!dev) {
        error_set(error, "no memory");
        return NULL;
    }
    dev->script = script;
    dev->config = config;
    dev->deadline = RNIC_NEVER;
    dev->frames = json_array();
    dev->comps = json_array();
    dev->events = json_array();
    if (pipe_program_start(&dev->program, dev->config->command) != 0)
        error_set(error, "--pipe %s: %s", dev->config->command, strerror(errno));
    else if (!(reply = call(dev, open_request(script, net))))
        error_set(error, "%s", dev->failure);
    else if (*get_text(reply, "unsupported"))
        error_set(error, DRILL_UNSUPPORTED_TEXT "%s", get_text(reply, "unsupported"));
    else if (!json_is_true(json_object_get(reply, "ok")))
        error_set(error, "--pipe %s: open: %s", dev->config->command, get_text(reply, "error"));
    else
        goto opened;
    *unreachable = dev->program.not_started;
    json_decref(reply);
    device_close(dev);
    return NULL;
opened:
    objects = json_object_get(reply, "objects");
    for (int i = 0; i < script->object_cnt; i++) {
        const json_t *object = json_object_get(objects, script->object[i].name);

        dev->at[i].address = script->object[i].kind == SCRIPT_PEER
                                 ? drill_own_address(i)
                                 : get_number(object, "address", 0);
        dev->at[i].key = script->object[i].kind == SCRIPT_PEER
                             ? drill_own_key(i)
                             : (uint32_t)get_number(object, "key", 0);
        dev->at[i].number = (uint32_t)get_number(object, "number", 0);
    }
    json_decref(reply);
    return dev;
}

/* ---- packets and time ------------------------------------------------------------------------ */

static json_t *request_of(const char *op)
{
    json_t *json = json_object();

    json_object_set_new(json, "op", json_string(op));
    return json;
}

static void device_input(struct drill_device *dev, const uint8_t *frame, size_t len, uint64_t now)
{
    json_t *request = request_of("frame"), *reply;
    const char *lacking;

    json_object_set_new(request, "hex", json_hex(frame, len));
    set_number(request, "at", now);
    reply = call(dev, request);
    lacking = get_text(reply, "unsupported");
    if (*lacking && !*dev->failure)
        snprintf(dev->failure, sizeof(dev->failure), DRILL_UNSUPPORTED_TEXT "%.120s", lacking);
    json_decref(reply);
}

static size_t device_output(struct drill_device *dev, uint8_t *buf, size_t cap, uint64_t now)
{
    (void)now;
    while (dev->frame_at < json_array_size(dev->frames)) {
        size_t len = get_bytes(json_array_get(dev->frames, dev->frame_at++), buf, cap);

        if (len)
            return len;
    }
    return 0;
}

static uint64_t device_deadline(const struct drill_device *dev)
{
    return dev->deadline;
}

static void device_expire(struct drill_device *dev, uint64_t now)
{
    json_t *request = request_of("tick");

    set_number(request, "until", now);
    json_decref(call(dev, request));
    if (dev->deadline <= now)
        dev->deadline = now + 1; /* if the deadline stayed in the past, the engine would call the
                                  * program forever */
}

/* ---- calling verbs --------------------------------------------------------------------------- */

static const char *const verb_names[SCRIPT_VERB_CNT] = {
    [SCRIPT_VERB_RECV] = "recv",           [SCRIPT_VERB_SEND] = "send",
    [SCRIPT_VERB_WRITE] = "write",         [SCRIPT_VERB_READ] = "read",
    [SCRIPT_VERB_CMP_SWAP] = "cmp-swap",   [SCRIPT_VERB_FETCH_ADD] = "fetch-add",
    [SCRIPT_VERB_FLUSH] = "flush",         [SCRIPT_VERB_ATOMIC_WRITE] = "atomic-write",
    [SCRIPT_VERB_BIND] = "bind",           [SCRIPT_VERB_LOCAL_INV] = "local-inv",
    [SCRIPT_VERB_STORE] = "store",         [SCRIPT_VERB_MODIFY] = "modify",
    [SCRIPT_VERB_DESTROY] = "destroy",     [SCRIPT_VERB_ARM] = "arm",
    [SCRIPT_VERB_ATTACH] = "attach",       [SCRIPT_VERB_DETACH] = "detach",
    [SCRIPT_VERB_LISTEN] = "listen",       [SCRIPT_VERB_CONNECT] = "connect",
    [SCRIPT_VERB_ACCEPT] = "accept",       [SCRIPT_VERB_REJECT] = "reject",
    [SCRIPT_VERB_ESTABLISH] = "establish", [SCRIPT_VERB_DISCONNECT] = "disconnect",
};

/* Adds the options of a verb to its request: a number as a number; an object by its name; an
 * address by the name of its memory region and the offset. */
static void add_options(const struct drill_device *dev, const struct script_options *o,
                        json_t *request)
{
#define X(NAME, word, type, max) word,
    static const char *const words[] = {SCRIPT_OPTIONS(X)};
#undef X
    for (unsigned i = 0; i < SCRIPT_OPT_CNT; i++) {
        const struct script_value *value = &o->value[i];

        if (!(o->given >> i & 1) || i == SCRIPT_OPT_FILL || i == SCRIPT_OPT_DATA ||
            i == SCRIPT_OPT_U64)
            continue;
        if (value->object == SCRIPT_NO_OBJECT || i == SCRIPT_OPT_SOLICITED) {
            set_number(request, words[i], value->num);
        } else {
            json_t *place = json_object();

            json_object_set_new(place, "object",
                                json_string(dev->script->object[value->object].name));
            set_number(place, "offset", value->num);
            set_number(place, "address", dev->at[value->object].address + value->num);
            set_number(place, "key", dev->at[value->object].key);
            json_object_set_new(request, words[i], place);
        }
    }
}

/* Returns, as a JSON string of hexadecimal digits, the bytes that a `store` line writes to
 * memory. */
static json_t *store_bytes(const struct drill_device *dev, const struct script_event *event)
{
    const struct script_options *o = &event->options;
    uint64_t whole =
        script_number(&dev->script->object[event->place.object].options, SCRIPT_OPT_LEN, 0);
    uint64_t rest = event->place.num < whole ? whole - event->place.num : 0;
    uint64_t len =
        script_number(o, SCRIPT_OPT_LEN, o->fill.kind == SCRIPT_FILL_DATA ? o->fill.len : rest);

    return fill_string(&o->fill, len < rest ? len : rest);
}

static int device_verb(struct drill_device *dev, const struct script_event *event, uint64_t now)
{
    json_t *request = request_of("verb"), *reply;
    int rc = 0;

    json_object_set_new(request, "verb", json_string(verb_names[event->verb]));
    if (event->object != SCRIPT_NO_OBJECT)
        json_object_set_new(request, "object",
                            json_string(dev->script->object[event->object].name));
    if (event->verb == SCRIPT_VERB_STORE) {
        json_object_set_new(request, "object",
                            json_string(dev->script->object[event->place.object].name));
        set_number(request, "offset", event->place.num);
        json_object_set_new(request, "bytes", store_bytes(dev, event));
    }
    set_number(request, "at", now);
    add_options(dev, &event->options, request);
    if (script_given(&event->options, SCRIPT_OPT_STATE))
        json_object_set_new(
            request, "state",
            json_string(words_name(words_state, event->options.value[SCRIPT_OPT_STATE].num)));
    reply = call(dev, request);
    if (!reply)
        return RNIC_ERR_INVALID;
    if (*get_text(reply, "unsupported"))
        rc = DRILL_VERB_UNSUPPORTED;
    else if (!json_is_true(json_object_get(reply, "ok")))
        rc = RNIC_ERR_INVALID;
    for (const struct word_number *row = words_error; rc == RNIC_ERR_INVALID && row->word; row++)
        if (strcmp(row->word, get_text(reply, "error")) == 0)
            rc = -(int)row->number;
    json_decref(reply);
    return rc;
}

/* ---- completions and events ------------------------------------------------------------------ */

static int object_of(const struct drill_device *dev, const char *name)
{
    for (int i = 0; i < dev->script->object_cnt; i++)
        if (strcmp(dev->script->object[i].name, name) == 0)
            return i;
    return SCRIPT_NO_OBJECT;
}

/* Returns the number of a word in the table, or `fallback` if the table lacks the word. */
static unsigned number_of(const struct word_number *table, const char *word, unsigned fallback)
{
    for (; table->word; table++)
        if (strcmp(table->word, word) == 0)
            return (unsigned)table->number;
    return fallback;
}

static bool device_poll(struct drill_device *dev, struct drill_comp *out)
{
    const json_t *comp = json_array_get(dev->comps, dev->comp_at);

    if (!comp)
        return false;
    dev->comp_at++;
    *out = (struct drill_comp){
        .object = object_of(dev, get_text(comp, "qp")),
        .recv = json_is_true(json_object_get(comp, "recv")),
        .id = get_number(comp, "id", 0),
        .status = number_of(words_status, get_text(comp, "status"), RNIC_WC_GENERAL_ERR),
        .len = (uint32_t)get_number(comp, "len", 0),
        .has_imm = json_object_get(comp, "imm") != NULL,
        .imm = (uint32_t)get_number(comp, "imm", 0),
        .has_invalidated = json_object_get(comp, "invalidated") != NULL,
        .invalidated = (uint32_t)get_number(comp, "invalidated", 0),
        .solicited = json_is_true(json_object_get(comp, "solicited")),
        .src_qp = (uint32_t)get_number(comp, "src-qp", 0),
        .header = get_number(comp, "header", 0)};
    return true;
}

static bool device_async(struct drill_device *dev, struct drill_async *out)
{
    const json_t *event = json_array_get(dev->events, dev->event_at);

    if (!event)
        return false;
    dev->event_at++;
    *out = (struct drill_async){
        .type = number_of(words_event, get_text(event, "event"), RNIC_EVENT_QP_FATAL),
        .object = object_of(dev, get_text(event, "object"))};
    return true;
}

/* ---- querying the state of the device -------------------------------------------------------- */

static uint64_t device_address(const struct drill_device *dev, int object)
{
    return dev->at[object].address;
}

static uint32_t device_key(const struct drill_device *dev, int object)
{
    return dev->at[object].key;
}

static uint32_t device_number(const struct drill_device *dev, int object)
{
    return dev->at[object].number;
}

/* Sends a query to the program. A query changes no state of the device. Returns the reply, or
 * NULL. */
static json_t *ask(const struct drill_device *dev, const char *object, json_t *request)
{
    json_object_set_new(request, "object", json_string(object));
    return call((struct drill_device *)(uintptr_t)dev, request);
}

static unsigned device_state(const struct drill_device *dev, int object)
{
    json_t *reply = ask(dev, dev->script->object[object].name, request_of("state"));
    unsigned state = number_of(words_state, get_text(reply, "state"), UINT32_MAX);

    json_decref(reply);
    return state;
}

static bool read_bytes(const struct drill_device *dev, const char *object, json_t *request,
                       void *buf, size_t len)
{
    json_t *reply;
    size_t got;

    set_number(request, "len", len);
    reply = ask(dev, object, request);
    got = get_bytes(json_object_get(reply, "bytes"), buf, len);
    json_decref(reply);
    return got == len;
}

static bool device_read(const struct drill_device *dev, int object, uint64_t off, void *buf,
                        size_t len)
{
    json_t *request = request_of("read");

    set_number(request, "offset", off);
    return read_bytes(dev, dev->script->object[object].name, request, buf, len);
}

static bool device_read_recv(const struct drill_device *dev, const struct drill_comp *comp,
                             void *buf, size_t len)
{
    json_t *request = request_of("read-recv");

    set_number(request, "id", comp->id);
    set_number(request, "offset", comp->header);
    return read_bytes(dev, dev->script->object[comp->object].name, request, buf, len);
}

static const char *device_failure(const struct drill_device *dev)
{
    return *dev->failure ? dev->failure : NULL;
}

const struct drill_device_ops device_pipe_ops = {
    .supports = device_supports,
    .open = device_open,
    .close = device_close,
    .input = device_input,
    .output = device_output,
    .deadline = device_deadline,
    .expire = device_expire,
    .verb = device_verb,
    .poll = device_poll,
    .async = device_async,
    .address = device_address,
    .key = device_key,
    .number = device_number,
    .state = device_state,
    .read = device_read,
    .read_recv = device_read_recv,
    .failure = device_failure,
};
