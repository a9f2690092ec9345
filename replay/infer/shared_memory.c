/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "infer/shared_memory.h"

#include <stdlib.h>
#include <string.h>
#include "infer/atomic_order.h"
#include "infer/request_table.h"
#include "wire/codes.h"

/* Limit of the search steps for one host. Beyond the limit, requests are played in capture
 * order. */
#define EFFORT_MAX (UINT64_C(1) << 26)

/* Limit of the search steps for one word of memory. If the search for one word fails, steps for the
 * other words remain. */
#define WORD_EFFORT (UINT64_C(1) << 18)

/* Number of requests before and after a READ in which shown_by_other() searches for another READ of
 * the same byte. */
#define OTHER_READ_MAX 4096u

/* The longest payload of a packet. */
#define PAYLOAD_MAX 4096u

/* ---- writes to shared memory -------------------------------------------------------------------
 */

/* For each request packet, finds the first response that proves its execution, and stores the
 * packet index of that response in `until`. `until` has one element for each request packet. */
static void find_until(const struct inferred_setup *s, uint32_t *until)
{
    size_t next = 0;

    for (uint32_t i = 0; i < s->event_cnt && next < s->req_cnt; i++) {
        if (!s->event[i].response || !s->event[i].usable || s->event[i].before_first)
            continue;
        for (; next < s->req_cnt && s->req[next].rel <= event_executed_to(s, i); next++)
            until[next] = s->event[i].sent_at;
    }
    for (; next < s->req_cnt; next++)
        until[next] = UINT32_MAX;
}

static bool is_executed_unseen(const struct inferred_setup *s, const struct request_pkt *e)
{
    for (size_t i = 0; i < s->executed_unseen_cnt; i++)
        if (s->executed_unseen[i].event == e->event)
            return true;
    return false;
}

bool shared_memory_atomic(const struct inferred_setup *s, const struct request_pkt *e,
                          uint64_t *found, uint64_t *left)
{
    struct roce_pkt pkt;

    if (e->first_response == EVENT_NONE)
        return false;
    trace_parse(event_packet(s, e->first_response), &pkt);
    *found = *left = pkt.atomicacketh.orig;
    trace_parse(event_packet(s, e->event), &pkt);
    if (pkt.op->kind == ROCE_KIND_FETCH_ADD)
        *left += pkt.atomiceth.swap_add;
    else if (pkt.atomiceth.compare == *found)
        *left = pkt.atomiceth.swap_add;
    return true;
}

static bool add_direction_writes(struct shared_memory *sh, uint32_t dir_idx)
{
    const struct inferred_setup *s = &sh->session->dir[dir_idx].setup;
    uint32_t *until = malloc((s->req_cnt + 1) * sizeof(*until));
    uint32_t from = 0;

    if (!until)
        return false;
    find_until(s, until);
    for (uint32_t i = 0; i < s->req_cnt; i++) {
        const struct request_pkt *e = &s->req[i];
        const struct roce_opcode *op = event_opcode(s, e->event);
        const struct trace_packet *p = event_packet(s, e->event);
        struct shared_write *w;

        if (e->invalid)
            break;
        if (s->event[e->event].pkt > from && !is_executed_unseen(s, e))
            from = s->event[e->event].pkt;
        if (e->len == 0 || (op->kind != ROCE_KIND_WRITE && op->kind != ROCE_KIND_ATOMIC_WRITE &&
                            !roce_opcode_is_atomic(op)))
            continue;
        if (!VEC_GROW(sh->write, sh->write_cnt, sh->write_cap)) {
            free(until);
            return false;
        }
        w = &sh->write[sh->write_cnt++];
        *w = (struct shared_write){.dir = dir_idx,
                                   .req = i,
                                   .rkey = e->rkey,
                                   .len = e->len,
                                   .va = e->va,
                                   .from = from,
                                   .until = until[i] > from ? until[i] : from};
        if (roce_opcode_is_atomic(op))
            w->known = shared_memory_atomic(s, e, &w->found, &w->left);
        else
            w->data = p->zero_filled ? NULL : trace_payload(p);
    }
    free(until);
    return true;
}

static int write_cmp(const void *a, const void *b)
{
    const struct shared_write *x = a, *y = b;

    if (x->rkey != y->rkey)
        return x->rkey < y->rkey ? -1 : 1;
    if (x->va != y->va)
        return x->va < y->va ? -1 : 1;
    if (x->dir != y->dir)
        return x->dir < y->dir ? -1 : 1;
    return (x->req > y->req) - (x->req < y->req);
}

static bool is_atomic(const struct shared_memory *sh, const struct shared_write *w)
{
    const struct inferred_setup *s = &sh->session->dir[w->dir].setup;

    return roce_opcode_is_atomic(event_opcode(s, s->req[w->req].event));
}

/* Returns the index of the first write that may cover a byte. */
static size_t first_at(const struct shared_memory *sh, uint32_t rkey, uint64_t va)
{
    uint64_t from = va < PAYLOAD_MAX ? 0 : va - PAYLOAD_MAX + 1;
    size_t low = 0, high = sh->write_cnt;

    while (low < high) {
        size_t mid = low + (high - low) / 2;
        const struct shared_write *w = &sh->write[mid];

        if (w->rkey < rkey || (w->rkey == rkey && w->va < from))
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

/* ---- the order of the writes to a word ----------------------------------------------------------
 */

/* Returns whether write `a` was certainly executed before write `b`: it is an earlier request of
 * the same direction, or the response to `a` was captured before `b`. */
static bool is_before(const struct shared_write *a, const struct shared_write *b)
{
    return a->dir == b->dir ? a->req < b->req : a->until < b->from;
}

/* Copies the writes that change a word to `op`, and returns their number. `op` must have space for
 * all writes. */
static size_t list_ops(struct shared_memory *sh, const struct atomic_word *word,
                       const struct shared_write **op)
{
    size_t cnt = 0;

    for (size_t i = first_at(sh, word->rkey, word->va); i < sh->write_cnt; i++) {
        const struct shared_write *w = &sh->write[i];

        sh->effort++;
        if (w->rkey != word->rkey || w->va >= word->va + 8)
            break;
        if (w->va + w->len > word->va)
            op[cnt++] = w;
    }
    return cnt;
}

/* Stores the order that the search found, as one struct atomic_turn for each write. Returns false
 * if out of memory. */
static bool keep_order(struct shared_memory *sh, const struct atomic_order *order)
{
    if (!VEC_GROW(sh->next, sh->word_cnt, sh->next_cap) ||
        !VEC_GROW(sh->place0, sh->word_cnt, sh->place0_cap))
        return false;
    sh->next[sh->word_cnt] = 0;
    sh->place0[sh->word_cnt] = sh->turn_cnt;
    for (size_t r = 0; r < order->dir_cnt; r++)
        order->head[r] = r ? order->end[r - 1] : 0;
    for (size_t i = 0; i < order->write_cnt; i++) {
        const struct shared_write *w = order->write[order->head[order->trial[i].dir]++];

        if (!VEC_GROW(sh->turn, sh->turn_cnt, sh->turn_cap) ||
            !VEC_GROW(sh->gone, sh->turn_cnt, sh->gone_cap))
            return false;
        sh->gone[sh->turn_cnt] = false;
        sh->turn[sh->turn_cnt++] = (struct atomic_turn){
            .dir = w->dir, .req = w->req, .word = (uint32_t)sh->word_cnt, .place = (uint32_t)i};
    }
    sh->word_cnt++;
    return true;
}

/* Searches for an order of the writes to the words. Takes ownership of `word`. Sets *found to
 * whether there is an order. Returns false if out of memory. */
static bool order_words(struct shared_memory *sh, struct atomic_word *word, size_t word_cnt,
                        bool *found)
{
    const struct shared_write **op = NULL;
    size_t cnt = 0, cap = 0;
    struct atomic_order order;
    bool ok = true;

    *found = false;
    for (size_t i = 0; i < word_cnt && ok; i++) {
        if (cap - cnt < sh->write_cnt) {
            const struct shared_write **more =
                realloc(op, (cap = 2 * cnt + sh->write_cnt + 1) * sizeof(*op));

            ok = more != NULL;
            op = more ? more : op;
        }
        if (ok)
            cnt += list_ops(sh, &word[i], op + cnt);
    }
    ok = atomic_order_init(&order, sh->session, word, word_cnt, op, cnt) == 0 && ok;
    if (ok && order.dir_cnt > 1) {
        uint64_t usual = WORD_EFFORT + 64 * (uint64_t)order.write_cnt * order.dir_cnt;
        uint64_t limit =
            sh->effort + (sh->session->order_effort ? sh->session->order_effort : usual);

        *found = atomic_order_find(&order, &sh->effort, limit < EFFORT_MAX ? limit : EFFORT_MAX);
        sh->gave_up |= order.gave_up;
        if (*found)
            ok = keep_order(sh, &order);
    }
    atomic_order_free(&order);
    return ok;
}

static int turn_cmp(const void *a, const void *b)
{
    const struct atomic_turn *x = a, *y = b;

    if (x->dir != y->dir)
        return x->dir < y->dir ? -1 : 1;
    if (x->req != y->req)
        return x->req < y->req ? -1 : 1;
    return (x->word > y->word) - (x->word < y->word);
}

/* Called after order_each(), which orders the writes to each word independently of the other words.
 * Returns whether there is one order of all writes that agrees with the order found for each word.
 * There is none if, for example, two writes change the same two words, and their order is not the
 * same in both words. */
static bool orders_agree(struct shared_memory *sh)
{
    size_t *at = calloc(sh->session->dir_cnt + 1, sizeof(*at)); /* for each direction: index of the
                                                                 * atomic_turn to execute next */
    size_t done = 0;
    bool moved = true;

    for (size_t i = sh->turn_cnt; at && i-- > 0;)
        at[sh->turn[i].dir] = i;
    while (at && moved) {
        moved = false;
        for (uint32_t r = 0; r < sh->session->dir_cnt; r++)
            while (at[r] < sh->turn_cnt && sh->turn[at[r]].dir == r &&
                   !shared_memory_waits(sh, r, sh->turn[at[r]].req)) {
                uint32_t entry = sh->turn[at[r]].req;

                shared_memory_executed(sh, r, entry);
                for (; at[r] < sh->turn_cnt && sh->turn[at[r]].dir == r &&
                       sh->turn[at[r]].req == entry;
                     at[r]++)
                    done++;
                moved = true;
            }
    }
    free(at);
    memset(sh->next, 0, sh->word_cnt * sizeof(*sh->next));
    return done == sh->turn_cnt;
}

/* Searches for one order of the writes to all words, which replaces the separate orders of the
 * words. Returns false if out of memory. */
static bool order_jointly(struct shared_memory *sh, struct atomic_word *word, size_t word_cnt)
{
    size_t turn_cnt = sh->turn_cnt, word_was = sh->word_cnt;
    bool found;

    if (!order_words(sh, word, word_cnt, &found))
        return false;
    if (!found)
        return true;
    sh->turn_cnt -= turn_cnt;
    memmove(sh->turn, sh->turn + turn_cnt, sh->turn_cnt * sizeof(*sh->turn));
    for (size_t i = 0; i < sh->turn_cnt; i++)
        sh->turn[i].word = 0;
    sh->next[0] = 0;
    sh->place0[0] = 0;
    sh->word_cnt -= word_was;
    return true;
}

/* Searches for an order for each word that atomics change, independently of the other words.
 * Returns false if out of memory. */
static bool order_each(struct shared_memory *sh, struct atomic_word **words, size_t *word_cnt)
{
    size_t cap = 0;

    for (size_t i = 0; i < sh->write_cnt && sh->effort <= EFFORT_MAX; i++) {
        const struct shared_write *w = &sh->write[i];
        struct atomic_word *word;
        bool found;

        if (!is_atomic(sh, w) || (*word_cnt && (*words)[*word_cnt - 1].rkey == w->rkey &&
                                  (*words)[*word_cnt - 1].va == w->va))
            continue;
        if (!VEC_GROW(*words, *word_cnt, cap) || !(word = calloc(1, sizeof(*word))))
            return false;
        *word = (*words)[(*word_cnt)++] = (struct atomic_word){.rkey = w->rkey, .va = w->va};
        if (!order_words(sh, word, 1, &found))
            return false;
    }
    return true;
}

static void sort_turns(struct shared_memory *sh)
{
    if (sh->turn_cnt)
        qsort(sh->turn, sh->turn_cnt, sizeof(*sh->turn), turn_cmp);
}

/* Returns whether a direction has a READ and later a WRITE or atomic. */
static bool has_write_after_read(const struct inferred_setup *s)
{
    bool read = false;

    for (size_t i = 0; i < s->req_cnt; i++) {
        const struct roce_opcode *op = event_opcode(s, s->req[i].event);

        if (read && (op->kind == ROCE_KIND_WRITE || op->kind == ROCE_KIND_ATOMIC_WRITE ||
                     roce_opcode_is_atomic(op)))
            return true;
        read |= op->kind == ROCE_KIND_READ;
    }
    return false;
}

int shared_memory_find(struct shared_memory *sh, const struct session *session, uint32_t host)
{
    struct atomic_word *words = NULL;
    uint32_t first = session->host[host].first_dir;
    size_t runs = 0, word_cnt = 0;
    bool overtakes = false; /* true: a WRITE or atomic of the first direction may be executed before
                             * an earlier READ reads its last bytes */
    bool ok;

    *sh = (struct shared_memory){.session = session};
    for (uint32_t i = first; i != KEYMAP_NONE; i = session->dir[i].next_of_host)
        if (!session->dir[i].setup.skip && runs++ == 0)
            overtakes = has_write_after_read(&session->dir[i].setup);
    if (runs < 2 && !overtakes)
        return 0;
    sh->single = runs < 2;
    for (uint32_t i = first; i != KEYMAP_NONE; i = session->dir[i].next_of_host)
        if (!session->dir[i].setup.skip && !add_direction_writes(sh, i))
            return -1;
    if (sh->write_cnt)
        qsort(sh->write, sh->write_cnt, sizeof(*sh->write), write_cmp);
    ok = sh->single || order_each(sh, &words, &word_cnt);
    sort_turns(sh);
    if (ok && sh->word_cnt > 1 && !orders_agree(sh)) {
        ok = order_jointly(sh, words, word_cnt);
        words = NULL;
        sort_turns(sh);
    }
    free(words);
    return ok ? 0 : -1;
}

void shared_memory_free(struct shared_memory *sh)
{
    free(sh->write);
    free(sh->turn);
    free(sh->next);
    free(sh->place0);
    free(sh->gone);
    memset(sh, 0, sizeof(*sh));
}

/* ---- order of execution during a replay --------------------------------------------------------
 */

/* Returns the index of the first struct atomic_turn of a request packet. If the packet has none,
 * returns where it would be in the sorted array. */
static size_t turn_of(const struct shared_memory *sh, uint32_t dir, uint32_t entry)
{
    size_t low = 0, high = sh->turn_cnt;

    while (low < high) {
        size_t mid = low + (high - low) / 2;
        const struct atomic_turn *t = &sh->turn[mid];

        if (t->dir < dir || (t->dir == dir && t->req < entry))
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

bool shared_memory_has_order(const struct shared_memory *sh, uint32_t dir, uint32_t entry)
{
    size_t i = turn_of(sh, dir, entry);

    return i < sh->turn_cnt && sh->turn[i].dir == dir && sh->turn[i].req == entry;
}

bool shared_memory_waits(const struct shared_memory *sh, uint32_t dir, uint32_t entry)
{
    for (size_t i = turn_of(sh, dir, entry);
         i < sh->turn_cnt && sh->turn[i].dir == dir && sh->turn[i].req == entry; i++)
        if (sh->next[sh->turn[i].word] < sh->turn[i].place)
            return true;
    return false;
}

/* Lets the writes to a word continue after writes that are never executed. */
static void skip_gone(struct shared_memory *sh, uint32_t word)
{
    size_t end = word + 1 < sh->word_cnt ? sh->place0[word + 1] : sh->turn_cnt;

    while (sh->place0[word] + sh->next[word] < end && sh->gone[sh->place0[word] + sh->next[word]])
        sh->next[word]++;
}

void shared_memory_executed(struct shared_memory *sh, uint32_t dir, uint32_t entry)
{
    for (size_t i = turn_of(sh, dir, entry);
         i < sh->turn_cnt && sh->turn[i].dir == dir && sh->turn[i].req == entry; i++)
        if (sh->next[sh->turn[i].word] <= sh->turn[i].place) {
            sh->next[sh->turn[i].word] = sh->turn[i].place + 1;
            skip_gone(sh, sh->turn[i].word);
        }
}

void shared_memory_ended(struct shared_memory *sh, uint32_t dir)
{
    for (size_t i = turn_of(sh, dir, 0); i < sh->turn_cnt && sh->turn[i].dir == dir; i++) {
        sh->gone[sh->place0[sh->turn[i].word] + sh->turn[i].place] = true;
        skip_gone(sh, sh->turn[i].word);
    }
}

/* Returns the value of a byte after a write that covers the byte, or -1 if the capture does not
 * show the value. */
static int byte_of(const struct shared_write *w, uint64_t va)
{
    uint8_t left[8];

    if (w->data)
        return w->data[va - w->va];
    if (!w->known)
        return -1;
    memcpy(left, &w->left, sizeof(left));
    return left[va - w->va];
}

static bool was_before(const struct shared_read *read, const struct shared_write *w)
{
    return w->dir == read->dir ? w->req < read->req : w->until < read->from;
}

/* Returns whether a later request of the same connection may have stored `value` at `va` before the
 * responder read the last bytes of the READ. Without a fence, a responder may execute the later
 * request before it completes the READ (R131). Returns false if the latest write before the READ
 * stored `value`, because the READ then returns `value` anyway. */
static bool is_overtaken(struct shared_memory *sh, const struct shared_read *read, uint64_t va,
                         uint8_t value)
{
    const struct shared_write *before = NULL;
    bool later = false;

    for (size_t i = first_at(sh, read->rkey, va);
         i < sh->write_cnt && sh->write[i].rkey == read->rkey && sh->write[i].va <= va; i++) {
        const struct shared_write *w = &sh->write[i];

        sh->effort++;
        if (w->dir != read->dir || va - w->va >= w->len)
            continue;
        if (w->req < read->req) {
            before = before && before->req > w->req ? before : w;
        } else if (w->from <= read->until) {
            int byte = byte_of(w, va);

            later |= byte < 0 || byte == value;
        }
    }
    return later && !(before && byte_of(before, va) == value);
}

bool shared_memory_explains(void *ctx, uint64_t va, uint8_t value)
{
    const struct shared_read *read = ctx;
    struct shared_memory *sh = read->sharing;
    size_t from = first_at(sh, read->rkey, va), to = from;
    bool any = false; /* true if a write to the byte was executed before the READ */

    if (sh->single)
        return is_overtaken(sh, read, va, value);
    for (; to < sh->write_cnt && sh->write[to].rkey == read->rkey && sh->write[to].va <= va; to++)
        any |= va - sh->write[to].va < sh->write[to].len && was_before(read, &sh->write[to]);
    sh->effort += to - from;
    if (!any)
        return true;
    for (size_t i = from; i < to; i++) {
        const struct shared_write *w = &sh->write[i];
        bool over = false; /* true if a later write replaced the byte before the READ */
        int byte;

        if (va - w->va >= w->len || w->from > read->until)
            continue;
        byte = byte_of(w, va);
        if (byte >= 0 && byte != value)
            continue;
        sh->effort += to - from;
        if (sh->effort > EFFORT_MAX)
            return false;
        for (size_t k = from; k < to && !over; k++)
            over = va - sh->write[k].va < sh->write[k].len && was_before(read, &sh->write[k]) &&
                   is_before(w, &sh->write[k]);
        if (!over)
            return true;
    }
    return false;
}

#define BYTE_ANY 256 /* no value is preferred */

/* Returns the byte at `va` in a captured response to the READ at `event`, or -1. Prefers a response
 * with the value `prefer`; BYTE_ANY: none is preferred. */
static int byte_shown(const struct inferred_setup *s, uint32_t event, uint64_t va, int prefer)
{
    const struct request_pkt *e = request_at(s, s->event[event].rel);
    int found = -1;

    for (uint32_t a = s->event[event].next_response; a != EVENT_NONE;
         a = s->event[a].next_response) {
        const struct trace_packet *p = event_packet(s, a);
        uint64_t off = va - e->va - (uint64_t)(s->event[a].rel - e->rel) * s->mtu;

        if (off < p->payload_len && !p->zero_filled && found != prefer)
            found = trace_payload(p)[off];
    }
    return found;
}

/* Returns the byte at `va` that the next (`step` 1) or previous (`step` -1) READ of the connection
 * shows. Returns -1 if no READ of the byte is near, or if a request between the two READs changes
 * the byte. */
static int shown_by_other(const struct shared_read *read, uint64_t va, int step)
{
    const struct inferred_setup *s = &read->sharing->session->dir[read->dir].setup;
    int byte = -1;

    for (size_t i = read->req + (size_t)step, n = 0;
         byte < 0 && i < s->req_cnt && n < OTHER_READ_MAX; i += (size_t)step, n++) {
        const struct request_pkt *e = &s->req[i];
        enum roce_kind kind = event_opcode(s, e->event)->kind;

        if (e->rkey != read->rkey || va - e->va >= e->len || kind == ROCE_KIND_SEND)
            continue;
        if (kind != ROCE_KIND_READ)
            return -1;
        byte = byte_shown(s, e->event, va, BYTE_ANY);
    }
    return byte;
}

int shared_memory_suggests_store(void *ctx, uint64_t va, uint8_t written)
{
    const struct shared_read *read = ctx;
    const struct shared_memory *sh = read->sharing;
    int next;

    if (byte_shown(&sh->session->dir[read->dir].setup, read->event, va, written) == written)
        return -1;
    for (size_t i = first_at(sh, read->rkey, va);
         i < sh->write_cnt && sh->write[i].rkey == read->rkey && sh->write[i].va <= va; i++)
        if (sh->write[i].dir != read->dir && va - sh->write[i].va < sh->write[i].len)
            return 0;
    next = shown_by_other(read, va, 1);
    if (next >= 0)
        return next == written ? -1 : 1;
    return shown_by_other(read, va, -1) == written;
}
