/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "sharing.h"

#include <stdlib.h>
#include <string.h>
#include "wire/codes.h"

/* How long orders and explanations may be looked for at one device; after that the order of the
 * capture stands. */
#define EFFORT_MAX (UINT64_C(1) << 26)

/* ... and for one word, so that one without an order leaves something to the others. */
#define WORD_EFFORT (UINT64_C(1) << 18)

/* The longest payload of a packet. */
#define PAYLOAD_MAX 4096u

/* ---- what is written ---------------------------------------------------------------------------
 */

/* The responses that first show each entry executed: `until` has room for one packet an entry. */
static void find_until(const struct setup *s, uint32_t *until)
{
    size_t next = 0;

    for (uint32_t i = 0; i < s->step_cnt && next < s->entry_cnt; i++) {
        if (!s->step[i].response || !s->step[i].usable || s->step[i].early)
            continue;
        for (; next < s->entry_cnt && s->entry[next].rel <= setup_executed_by(s, i); next++)
            until[next] = s->step[i].pkt;
    }
    for (; next < s->entry_cnt; next++)
        until[next] = UINT32_MAX;
}

static bool is_ahead(const struct setup *s, const struct entry *e)
{
    for (size_t i = 0; i < s->ahead_cnt; i++)
        if (s->ahead[i].step == e->step)
            return true;
    return false;
}

/* What an atomic found, as its answer says, and left. */
static void read_atomic(const struct setup *s, const struct entry *e, struct sharing_write *w)
{
    struct roce_pkt pkt;

    if (e->answer == STEP_NONE)
        return;
    trace_parse(setup_packet(s, e->answer), &pkt);
    w->known = true;
    w->found = w->left = pkt.atomicacketh.orig;
    trace_parse(setup_packet(s, e->step), &pkt);
    if (pkt.op->kind == ROCE_KIND_FETCH_ADD)
        w->left += pkt.atomiceth.swap_add;
    else if (pkt.atomiceth.compare == w->found)
        w->left = pkt.atomiceth.swap_add;
}

static bool add_run(struct sharing *sh, uint32_t run_idx)
{
    const struct setup *s = &sh->drive->run[run_idx].setup;
    uint32_t *until = malloc((s->entry_cnt + 1) * sizeof(*until));
    uint32_t from = 0;

    if (!until)
        return false;
    find_until(s, until);
    for (uint32_t i = 0; i < s->entry_cnt; i++) {
        const struct entry *e = &s->entry[i];
        const struct roce_opcode *op = setup_op(s, e->step);
        const struct trace_packet *p = setup_packet(s, e->step);
        struct sharing_write *w;

        if (e->invalid)
            break;
        if (s->step[e->step].pkt > from && !is_ahead(s, e))
            from = s->step[e->step].pkt;
        if (e->len == 0 || (op->kind != ROCE_KIND_WRITE && op->kind != ROCE_KIND_ATOMIC_WRITE &&
                            !roce_opcode_is_atomic(op)))
            continue;
        if (!VEC_GROW(sh->write, sh->write_cnt, sh->write_cap)) {
            free(until);
            return false;
        }
        w = &sh->write[sh->write_cnt++];
        *w = (struct sharing_write){.run = run_idx,
                                    .entry = i,
                                    .rkey = e->rkey,
                                    .len = e->len,
                                    .va = e->va,
                                    .from = from,
                                    .until = until[i] > from ? until[i] : from};
        if (roce_opcode_is_atomic(op))
            read_atomic(s, e, w);
        else
            w->data = p->made_up ? NULL : trace_payload(p);
    }
    free(until);
    return true;
}

static int write_cmp(const void *a, const void *b)
{
    const struct sharing_write *x = a, *y = b;

    if (x->rkey != y->rkey)
        return x->rkey < y->rkey ? -1 : 1;
    if (x->va != y->va)
        return x->va < y->va ? -1 : 1;
    if (x->run != y->run)
        return x->run < y->run ? -1 : 1;
    return (x->entry > y->entry) - (x->entry < y->entry);
}

static bool is_atomic(const struct sharing *sh, const struct sharing_write *w)
{
    const struct setup *s = &sh->drive->run[w->run].setup;

    return roce_opcode_is_atomic(setup_op(s, s->entry[w->entry].step));
}

/* The first write that may cover a byte. */
static size_t first_at(const struct sharing *sh, uint32_t rkey, uint64_t va)
{
    uint64_t from = va < PAYLOAD_MAX ? 0 : va - PAYLOAD_MAX + 1;
    size_t low = 0, high = sh->write_cnt;

    while (low < high) {
        size_t mid = low + (high - low) / 2;
        const struct sharing_write *w = &sh->write[mid];

        if (w->rkey < rkey || (w->rkey == rkey && w->va < from))
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

/* ---- the order of a word -----------------------------------------------------------------------
 */

/* What is known of a word: the bytes in `mask`. */
struct value {
    uint64_t bits;
    uint64_t mask;
};

/* All that change a word: those of one run stand together, in order. */
struct word {
    uint64_t va;
    const struct sharing_write **op;
    size_t cnt;
    size_t *head; /* per run among them: the next in `op` */
    size_t *end;
    size_t runs;
};

/* A place in the order that is being tried. */
struct trial {
    size_t run;          /* of the word: the one tried here */
    struct value before; /* the word before it */
};

/* Of two writes, whether the capture shows that `a` was executed before `b`. */
static bool is_before(const struct sharing_write *a, const struct sharing_write *b)
{
    return a->run == b->run ? a->entry < b->entry : a->until < b->from;
}

/* The word after a write, if that finds what its answer says; else false. */
static bool change(const struct sharing *sh, const struct word *word, const struct sharing_write *w,
                   struct value *v)
{
    const struct setup *s = &sh->drive->run[w->run].setup;
    struct roce_pkt pkt;
    uint8_t bits[8], mask[8];

    if (!is_atomic(sh, w)) {
        memcpy(bits, &v->bits, 8);
        memcpy(mask, &v->mask, 8);
        for (unsigned i = 0; i < 8; i++) {
            uint64_t at = word->va + i - w->va; /* wraps where it lies before */

            if (at >= w->len)
                continue;
            mask[i] = w->data ? 0xFF : 0;
            bits[i] = w->data ? w->data[at] : 0;
        }
        memcpy(&v->bits, bits, 8);
        memcpy(&v->mask, mask, 8);
        return true;
    }
    if (w->known) {
        if (((v->bits ^ w->found) & v->mask) != 0)
            return false;
        *v = (struct value){.bits = w->left, .mask = UINT64_MAX};
        return true;
    }
    trace_parse(setup_packet(s, s->entry[w->entry].step), &pkt);
    if (v->mask != UINT64_MAX)
        *v = (struct value){.mask = 0};
    else if (pkt.op->kind == ROCE_KIND_FETCH_ADD)
        v->bits += pkt.atomiceth.swap_add;
    else if (v->bits == pkt.atomiceth.compare)
        v->bits = pkt.atomiceth.swap_add;
    return true;
}

/* Whether no other run has a write left that must come first. */
static bool may_be_next(const struct word *word, size_t run)
{
    const struct sharing_write *w = word->op[word->head[run]];

    for (size_t r = 0; r < word->runs; r++)
        if (r != run && word->head[r] < word->end[r] && is_before(word->op[word->head[r]], w))
            return false;
    return true;
}

/* The run to try after `last` at a place, in the order of the capture; SIZE_MAX is none. */
static size_t next_run(const struct word *word, size_t last)
{
    const struct sharing_write *before =
        last == SIZE_MAX ? NULL : word->op[word->head[last]]; /* it was taken back */
    size_t best = SIZE_MAX;

    for (size_t r = 0; r < word->runs; r++) {
        const struct sharing_write *w;

        if (word->head[r] == word->end[r])
            continue;
        w = word->op[word->head[r]];
        if (before && (w->from < before->from || (w->from == before->from && r <= last)))
            continue;
        if (best == SIZE_MAX || w->from < word->op[word->head[best]]->from)
            best = r;
    }
    return best;
}

/* Depth first, in the order of the capture: fills in `trial`. Whether there is an order. */
static bool find_order(struct sharing *sh, struct word *word, struct trial *trial)
{
    struct value now = {.mask = 0};
    uint64_t limit = sh->effort + WORD_EFFORT + 64 * (uint64_t)word->cnt * word->runs;
    size_t depth = 0;
    size_t last = SIZE_MAX;

    while (depth < word->cnt) {
        size_t run = next_run(word, last);
        struct value after = now;

        sh->effort += word->runs;
        if (sh->effort > limit || sh->effort > EFFORT_MAX)
            return false;
        if (run == SIZE_MAX) {
            if (depth == 0)
                return false;
            last = trial[--depth].run;
            now = trial[depth].before;
            word->head[last]--;
            continue;
        }
        if (!may_be_next(word, run) || !change(sh, word, word->op[word->head[run]], &after)) {
            last = run;
            continue;
        }
        trial[depth++] = (struct trial){.run = run, .before = now};
        word->head[run]++;
        now = after;
        last = SIZE_MAX;
    }
    return true;
}

static bool keep_order(struct sharing *sh, const struct word *word, const struct trial *trial)
{
    if (!VEC_GROW(sh->next, sh->word_cnt, sh->next_cap))
        return false;
    sh->next[sh->word_cnt] = 0;
    for (size_t r = 0; r < word->runs; r++)
        word->head[r] = r ? word->end[r - 1] : 0;
    for (size_t i = 0; i < word->cnt; i++) {
        const struct sharing_write *w = word->op[word->head[trial[i].run]++];

        if (!VEC_GROW(sh->turn, sh->turn_cnt, sh->turn_cap))
            return false;
        sh->turn[sh->turn_cnt++] = (struct sharing_turn){
            .run = w->run, .entry = w->entry, .word = (uint32_t)sh->word_cnt, .place = (uint32_t)i};
    }
    sh->word_cnt++;
    return true;
}

static int op_cmp(const void *a, const void *b)
{
    const struct sharing_write *x = *(const struct sharing_write *const *)a;
    const struct sharing_write *y = *(const struct sharing_write *const *)b;

    if (x->run != y->run)
        return x->run < y->run ? -1 : 1;
    return (x->entry > y->entry) - (x->entry < y->entry);
}

/* Finds the order of the word at which write `at`, an atomic, is the first one. */
static bool order_word(struct sharing *sh, size_t at)
{
    const struct sharing_write *first = &sh->write[at];
    struct word word = {.va = first->va};
    struct trial *trial = NULL;
    bool ok;

    word.op = malloc((sh->write_cnt + 1) * sizeof(*word.op));
    for (size_t i = first_at(sh, first->rkey, first->va); word.op && i < sh->write_cnt; i++) {
        const struct sharing_write *w = &sh->write[i];

        sh->effort++;
        if (w->rkey != first->rkey || w->va >= first->va + 8)
            break;
        if (w->va + w->len > first->va)
            word.op[word.cnt++] = w;
    }
    if (word.cnt)
        qsort(word.op, word.cnt, sizeof(*word.op), op_cmp);
    for (size_t i = 0; i < word.cnt; i++)
        word.runs += i == 0 || word.op[i]->run != word.op[i - 1]->run;
    word.head = calloc(word.runs + 1, sizeof(*word.head));
    word.end = calloc(word.runs + 1, sizeof(*word.end));
    trial = malloc((word.cnt + 1) * sizeof(*trial));
    ok = word.op && word.head && word.end && trial;
    if (ok && word.runs > 1) {
        for (size_t i = 0, r = 0; i < word.cnt; i++) {
            if (i > 0 && word.op[i]->run != word.op[i - 1]->run)
                word.head[++r] = i;
            word.end[r] = i + 1;
        }
        if (find_order(sh, &word, trial))
            ok = keep_order(sh, &word, trial);
    }
    free(word.op);
    free(word.head);
    free(word.end);
    free(trial);
    return ok;
}

static int turn_cmp(const void *a, const void *b)
{
    const struct sharing_turn *x = a, *y = b;

    if (x->run != y->run)
        return x->run < y->run ? -1 : 1;
    if (x->entry != y->entry)
        return x->entry < y->entry ? -1 : 1;
    return (x->word > y->word) - (x->word < y->word);
}

int sharing_find(struct sharing *sh, const struct drive *drive, uint32_t device)
{
    size_t runs = 0;
    uint64_t ordered = 0; /* address of the word looked at last */
    uint32_t rkey = 0;

    *sh = (struct sharing){.drive = drive};
    for (uint32_t i = 0; i < drive->run_cnt; i++)
        runs += drive->run[i].device == device && !drive->run[i].setup.skip;
    if (runs < 2)
        return 0;
    for (uint32_t i = 0; i < drive->run_cnt; i++)
        if (drive->run[i].device == device && !drive->run[i].setup.skip && !add_run(sh, i))
            return -1;
    if (sh->write_cnt)
        qsort(sh->write, sh->write_cnt, sizeof(*sh->write), write_cmp);
    for (size_t i = 0; i < sh->write_cnt && sh->effort <= EFFORT_MAX; i++) {
        const struct sharing_write *w = &sh->write[i];

        if (!is_atomic(sh, w) || (rkey == w->rkey && ordered == w->va && ordered != 0))
            continue;
        ordered = w->va;
        rkey = w->rkey;
        if (!order_word(sh, i))
            return -1;
    }
    if (sh->turn_cnt)
        qsort(sh->turn, sh->turn_cnt, sizeof(*sh->turn), turn_cmp);
    return 0;
}

void sharing_free(struct sharing *sh)
{
    free(sh->write);
    free(sh->turn);
    free(sh->next);
    memset(sh, 0, sizeof(*sh));
}

/* ---- while it is played ------------------------------------------------------------------------
 */

/* The first turn of an entry; turn_cnt or another's if it has none. */
static size_t turn_of(const struct sharing *sh, uint32_t run, uint32_t entry)
{
    size_t low = 0, high = sh->turn_cnt;

    while (low < high) {
        size_t mid = low + (high - low) / 2;
        const struct sharing_turn *t = &sh->turn[mid];

        if (t->run < run || (t->run == run && t->entry < entry))
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

bool sharing_has_order(const struct sharing *sh, uint32_t run, uint32_t entry)
{
    size_t i = turn_of(sh, run, entry);

    return i < sh->turn_cnt && sh->turn[i].run == run && sh->turn[i].entry == entry;
}

bool sharing_waits(const struct sharing *sh, uint32_t run, uint32_t entry)
{
    for (size_t i = turn_of(sh, run, entry);
         i < sh->turn_cnt && sh->turn[i].run == run && sh->turn[i].entry == entry; i++)
        if (sh->next[sh->turn[i].word] < sh->turn[i].place)
            return true;
    return false;
}

void sharing_executed(struct sharing *sh, uint32_t run, uint32_t entry)
{
    for (size_t i = turn_of(sh, run, entry);
         i < sh->turn_cnt && sh->turn[i].run == run && sh->turn[i].entry == entry; i++)
        if (sh->next[sh->turn[i].word] <= sh->turn[i].place)
            sh->next[sh->turn[i].word] = sh->turn[i].place + 1;
}

/* What a write leaves at a byte that it covers; -1 if nobody knows. */
static int byte_of(const struct sharing_write *w, uint64_t va)
{
    uint8_t left[8];

    if (w->data)
        return w->data[va - w->va];
    if (!w->known)
        return -1;
    memcpy(left, &w->left, sizeof(left));
    return left[va - w->va];
}

static bool was_before(const struct sharing_read *read, const struct sharing_write *w)
{
    return w->run == read->run ? w->entry < read->entry : w->until < read->from;
}

bool sharing_explains(struct sharing *sh, const struct sharing_read *read, uint64_t va,
                      uint8_t value, bool blank)
{
    size_t from = first_at(sh, read->rkey, va), to = from;
    bool any = false; /* one that was executed before the READ */

    for (; to < sh->write_cnt && sh->write[to].rkey == read->rkey && sh->write[to].va <= va; to++)
        any |= va - sh->write[to].va < sh->write[to].len && was_before(read, &sh->write[to]);
    sh->effort += to - from;
    if (!any && blank)
        return true;
    for (size_t i = from; i < to; i++) {
        const struct sharing_write *w = &sh->write[i];
        bool over = false; /* it was overwritten before the READ */
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
