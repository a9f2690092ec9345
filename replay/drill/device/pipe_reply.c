/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "drill/device/pipe_reply.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include "drill/words.h"
#include "util/hex.h"
#include "wire/pkt.h"

#define QPN_MAX 0xFFFFFF

/* The reply that is checked. If a member is wrong, `problem` becomes the error message. */
struct reply_check {
    const struct script *script;
    const char *op;
    char *problem;
    size_t cap;
};

/* Writes "reply to OP: member WHERE[.NAME] PROBLEM". Returns false. */
static bool refuse(const struct reply_check *check, const char *where, const char *name,
                   const char *fmt, ...) __attribute__((format(printf, 4, 5)));

static bool refuse(const struct reply_check *check, const char *where, const char *name,
                   const char *fmt, ...)
{
    char text[160];
    va_list args;

    va_start(args, fmt);
    vsnprintf(text, sizeof(text), fmt, args);
    va_end(args);
    snprintf(check->problem, check->cap, "reply to %s: member %s%s%s %s", check->op, where,
             *where && *name ? "." : "", name, text);
    return false;
}

/* ---- checking members ------------------------------------------------------------------------ */

/* Checks that a member is an integer from `low` to `high`. If `required` is false, the member may
 * be absent. */
static bool check_number(const struct reply_check *check, const json_t *object, const char *where,
                         const char *name, bool required, json_int_t low, json_int_t high)
{
    const json_t *value = json_object_get(object, name);

    if (!value)
        return !required || refuse(check, where, name, "is missing");
    if (!json_is_integer(value))
        return refuse(check, where, name, "is not an integer");
    if (json_integer_value(value) < low || json_integer_value(value) > high)
        return refuse(check, where, name,
                      "is %" JSON_INTEGER_FORMAT ": outside of %" JSON_INTEGER_FORMAT
                      " to %" JSON_INTEGER_FORMAT,
                      json_integer_value(value), low, high);
    return true;
}

static bool check_flag(const struct reply_check *check, const json_t *object, const char *where,
                       const char *name)
{
    const json_t *value = json_object_get(object, name);

    return !value || json_is_boolean(value) || refuse(check, where, name, "is not true or false");
}

/* Checks that a member is a word of `table`. `what` names these words. */
static bool check_word(const struct reply_check *check, const json_t *object, const char *where,
                       const char *name, const struct word_number *table, const char *what)
{
    const json_t *value = json_object_get(object, name);
    const char *text = json_string_value(value);

    if (!text)
        return refuse(check, where, name, value ? "is not a string" : "is missing");
    while (table->word && strcmp(table->word, text) != 0)
        table++;
    return table->word || refuse(check, where, name, "is '%.60s': not %s", text, what);
}

/* Checks that a member is the name of an object of the drill. If `qp` is true, the object must be a
 * QP. */
static bool check_object(const struct reply_check *check, const json_t *object, const char *where,
                         const char *name, bool qp)
{
    const json_t *value = json_object_get(object, name);
    const char *text = json_string_value(value);

    if (!text)
        return refuse(check, where, name, value ? "is not a string" : "is missing");
    for (int i = 0; i < check->script->object_cnt; i++)
        if (strcmp(check->script->object[i].name, text) == 0 &&
            (!qp || check->script->object[i].kind == SCRIPT_QP))
            return true;
    return refuse(check, where, name, "is '%.60s': not the name of %s", text,
                  qp ? "a QP" : "an object");
}

/* Checks that a value is a string of 1 to `max` bytes in hexadecimal. */
static bool check_bytes(const struct reply_check *check, const json_t *value, const char *where,
                        size_t max)
{
    const char *text = json_string_value(value);
    size_t len = text ? strlen(text) : 0;

    if (!text)
        return refuse(check, where, "", value ? "is not a string" : "is missing");
    if (len == 0 || len % 2 || strspn(text, "0123456789abcdefABCDEF") != len)
        return refuse(check, where, "", "is not a number of bytes in hexadecimal");
    return len / 2 <= max || refuse(check, where, "", "is longer than %zu bytes", max);
}

/* ---- checking lists -------------------------------------------------------------------------- */

static bool check_frame(const struct reply_check *check, const json_t *frame, const char *where)
{
    return check_bytes(check, frame, where, ROCE_FRAME_MAX);
}

static bool check_comp(const struct reply_check *check, const json_t *comp, const char *where)
{
    return check_object(check, comp, where, "qp", true) && check_flag(check, comp, where, "recv") &&
           check_number(check, comp, where, "id", true, INT64_MIN, INT64_MAX) &&
           check_word(check, comp, where, "status", words_status, "a status of a completion") &&
           check_number(check, comp, where, "len", false, 0, UINT32_MAX) &&
           check_number(check, comp, where, "imm", false, 0, UINT32_MAX) &&
           check_number(check, comp, where, "invalidated", false, 0, UINT32_MAX) &&
           check_flag(check, comp, where, "solicited") &&
           check_number(check, comp, where, "src-qp", false, 0, QPN_MAX) &&
           check_number(check, comp, where, "header", false, 0, UINT32_MAX);
}

static bool check_event(const struct reply_check *check, const json_t *event, const char *where)
{
    return check_word(check, event, where, "event", words_event, "an event") &&
           check_object(check, event, where, "object", false);
}

/* Calls `element` for each element of an array. The array may be absent. If `objects` is true, the
 * elements must be JSON objects. */
static bool
check_list(const struct reply_check *check, const json_t *reply, const char *name, bool objects,
           bool element(const struct reply_check *check, const json_t *value, const char *where))
{
    const json_t *list = json_object_get(reply, name);

    if (!list)
        return true;
    if (!json_is_array(list))
        return refuse(check, name, "", "is not an array");
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *value = json_array_get(list, i);
        char where[40];

        snprintf(where, sizeof(where), "%s[%zu]", name, i);
        if (objects && !json_is_object(value))
            return refuse(check, where, "", "is not an object");
        if (!element(check, value, where))
            return false;
    }
    return true;
}

/* ---- checking replies ------------------------------------------------------------------------ */

/* Checks the numbers, addresses and keys of the objects that the program created. */
static bool check_created(const struct reply_check *check, const json_t *reply)
{
    const json_t *objects = json_object_get(reply, "objects");

    if (!json_is_object(objects))
        return refuse(check, "objects", "", objects ? "is not an object" : "is missing");
    for (int i = 0; i < check->script->object_cnt; i++) {
        const struct script_object *o = &check->script->object[i];
        const json_t *object = json_object_get(objects, o->name);
        char where[SCRIPT_NAME_MAX + 10];

        snprintf(where, sizeof(where), "objects.%s", o->name);
        if ((o->kind == SCRIPT_QP || o->kind == SCRIPT_SRQ) &&
            !check_number(check, object, where, "number", true, 0, QPN_MAX))
            return false;
        if (o->kind == SCRIPT_MR &&
            (!check_number(check, object, where, "address", true, INT64_MIN, INT64_MAX) ||
             !check_number(check, object, where, "key", true, 0, UINT32_MAX)))
            return false;
    }
    return true;
}

/* Checks the members of a reply that depend on the operation, which is member `op` of the
 * request. */
static bool check_result(const struct reply_check *check, const json_t *request,
                         const json_t *reply)
{
    const json_t *ok = json_object_get(reply, "ok");
    const json_t *unsupported = json_object_get(reply, "unsupported");
    bool may_lack = strcmp(check->op, "open") == 0 || strcmp(check->op, "frame") == 0 ||
                    strcmp(check->op, "verb") == 0;
    bool reads = strncmp(check->op, "read", 4) == 0;

    if (may_lack && unsupported)
        return (json_is_string(unsupported) && *json_string_value(unsupported)) ||
               refuse(check, "unsupported", "", "is not the name of a feature");
    if (!json_is_boolean(ok))
        return refuse(check, "ok", "", ok ? "is not true or false" : "is missing");
    if (!json_is_true(ok)) {
        if (strcmp(check->op, "verb") == 0)
            return check_word(check, reply, "", "error", words_error, "an error of a verb");
        return strcmp(check->op, "open") == 0 || reads || refuse(check, "ok", "", "is false");
    }
    if (strcmp(check->op, "open") == 0)
        return check_created(check, reply);
    if (strcmp(check->op, "state") == 0)
        return check_word(check, reply, "", "state", words_state, "a state of a QP");
    if (reads && json_integer_value(json_object_get(request, "len")) > 0) {
        json_int_t len = json_integer_value(json_object_get(request, "len"));
        const json_t *bytes = json_object_get(reply, "bytes");

        return check_bytes(check, bytes, "bytes", (size_t)len) &&
               ((json_int_t)json_string_length(bytes) == 2 * len ||
                refuse(check, "bytes", "", "has not %" JSON_INTEGER_FORMAT " bytes", len));
    }
    return true;
}

bool pipe_reply_check(const struct script *script, const json_t *request, const json_t *reply,
                      char *problem, size_t cap)
{
    const struct reply_check check = {.script = script,
                                      .op = json_string_value(json_object_get(request, "op")),
                                      .problem = problem,
                                      .cap = cap};

    if (!json_is_object(reply)) {
        snprintf(problem, cap, "reply to %s: not a JSON object", check.op);
        return false;
    }
    return check_result(&check, request, reply) &&
           check_list(&check, reply, "frames", false, check_frame) &&
           check_list(&check, reply, "comps", true, check_comp) &&
           check_list(&check, reply, "events", true, check_event) &&
           check_number(&check, reply, "", "deadline", false, 0, INT64_MAX);
}
