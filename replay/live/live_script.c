/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "live/live_script.h"

#include <stdlib.h>
#include <string.h>

/* Maximum number of bytes that one LIVE_STORE event stores: the agent accepts no more bytes in one
 * request. */
#define STORE_MAX (64u * 1024)

static struct live_event *add_event(struct live_script *script, enum live_event_kind kind)
{
    struct live_event *e;

    if (!VEC_GROW(script->event, script->cnt, script->cap))
        return NULL;
    e = &script->event[script->cnt];
    *e = (struct live_event){.kind = kind, .seq = (uint32_t)script->cnt};
    script->cnt++;
    return e;
}

static int on_recv(void *ctx, uint32_t dir, uint32_t len)
{
    struct live_event *e = add_event(ctx, LIVE_RECV);

    if (!e)
        return -1;
    e->run = dir;
    e->len = len;
    return 0;
}

static int on_key(void *ctx, uint32_t device, uint32_t rkey, bool valid)
{
    struct live_event *e = add_event(ctx, valid ? LIVE_REGISTER : LIVE_WITHDRAW);

    if (!e)
        return -1;
    e->device = device;
    e->rkey = rkey;
    return 0;
}

/* Adds a byte that the responder's program stores in a region. Bytes of the initial contents
 * (`initial`) are stored before all other events. Returns 0, or -1 if out of memory. */
static int on_store(void *ctx, uint32_t device, uint32_t rkey, uint64_t va, uint8_t byte,
                    bool initial)
{
    struct live_script *script = ctx;
    struct live_event *e = script->cnt ? &script->event[script->cnt - 1] : NULL;

    if (!VEC_GROW(script->byte, script->byte_cnt, script->byte_cap))
        return -1;
    if (!e || e->kind != LIVE_STORE || e->device != device || e->rkey != rkey ||
        e->va + e->len != va || e->len == STORE_MAX || (e->when == 0) != initial ||
        script->cnt == script->pending) {
        e = add_event(script, LIVE_STORE);
        if (!e)
            return -1;
        e->device = device;
        e->rkey = rkey;
        e->va = va;
        e->when = initial ? 0 : 1;
        e->byte = script->byte_cnt;
    }
    script->byte[script->byte_cnt++] = byte;
    e->len++;
    return 0;
}

static int on_frame(void *ctx, uint32_t dir, uint32_t event, uint32_t when, uint32_t pkt)
{
    struct live_script *script = ctx;
    struct live_event *e = add_event(script, LIVE_FRAME);

    if (!e)
        return -1;
    e->run = dir;
    e->step = event;
    e->when = when;
    for (; script->pending < script->cnt; script->pending++)
        script->event[script->pending].pkt = pkt;
    return 0;
}

struct session_watch live_script_watch(struct live_script *script)
{
    memset(script, 0, sizeof(*script));
    return (struct session_watch){
        .ctx = script, .recv = on_recv, .store = on_store, .key = on_key, .frame = on_frame};
}

static bool is_initial(const struct live_event *e)
{
    return e->kind == LIVE_STORE && e->when == 0;
}

static int event_cmp(const void *a, const void *b)
{
    const struct live_event *x = a, *y = b;

    if (is_initial(x) != is_initial(y))
        return is_initial(x) ? -1 : 1;
    if (x->pkt != y->pkt)
        return x->pkt < y->pkt ? -1 : 1;
    return (x->seq > y->seq) - (x->seq < y->seq);
}

int live_script_finish(struct live_script *script, const struct session *session)
{
    /* Drop the events after the last frame: no frame can show their effect. */
    script->cnt = script->pending;
    for (uint32_t dir = 0; dir < session->dir_cnt; dir++) {
        const struct inferred_setup *s = &session->dir[dir].setup;

        for (uint32_t i = 0; !s->skip && i < s->event_cnt; i++) {
            struct live_event *e;

            if (!s->event[i].response || s->event[i].before_first || !s->event[i].usable)
                continue;
            e = add_event(script, LIVE_ANSWER);
            if (!e)
                return -1;
            e->run = dir;
            e->step = e->when = i;
            e->pkt = s->event[i].sent_at;
        }
    }
    if (script->cnt)
        qsort(script->event, script->cnt, sizeof(*script->event), event_cmp);
    while (script->initial < script->cnt && is_initial(&script->event[script->initial]))
        script->initial++;
    return 0;
}

void live_script_free(struct live_script *script)
{
    free(script->event);
    free(script->byte);
    memset(script, 0, sizeof(*script));
}
