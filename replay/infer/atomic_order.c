/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "infer/atomic_order.h"

#include <stdlib.h>
#include <string.h>
#include "wire/codes.h"

/* Number of states that the search remembers as dead ends; a power of 2. */
#define DEAD_ENDS 16384u

/* Returns a hash of three values, made with the numbers of SplitMix64. */
static uint64_t mix(uint64_t a, uint64_t b, uint64_t c)
{
    uint64_t x = (a * UINT64_C(0x9E3779B97F4A7C15) + b) * UINT64_C(0xD1342543DE82EF95) + c;

    x = (x ^ x >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    x = (x ^ x >> 27) * UINT64_C(0x94D049BB133111EB);
    return x ^ x >> 31;
}

/* ---- operations that change a word -------------------------------------------------------------
 */

static int op_cmp(const void *a, const void *b)
{
    const struct shared_write *x = *(const struct shared_write *const *)a;
    const struct shared_write *y = *(const struct shared_write *const *)b;

    if (x->dir != y->dir)
        return x->dir < y->dir ? -1 : 1;
    return (x->req > y->req) - (x->req < y->req);
}

/* Sorts the writes. Removes duplicates: a write that changes several words was added once for each
 * word. */
static void sort_ops(struct atomic_order *o)
{
    size_t cnt = 0;

    if (o->write_cnt)
        qsort(o->write, o->write_cnt, sizeof(*o->write), op_cmp);
    for (size_t i = 0; i < o->write_cnt; i++)
        if (cnt == 0 || o->write[cnt - 1] != o->write[i])
            o->write[cnt++] = o->write[i];
    o->write_cnt = cnt;
}

/* Makes the write with this index the next one of direction `r`. */
static void set_head(struct atomic_order *o, size_t r, size_t head)
{
    o->state ^= mix(SIZE_MAX, r, o->head[r]) ^ mix(SIZE_MAX, r, head);
    o->head[r] = head;
    o->from[r] = head < o->end[r] ? o->write[head]->from : UINT32_MAX;
    o->until[r] = head < o->end[r] ? o->write[head]->until : UINT32_MAX;
}

int atomic_order_init(struct atomic_order *o, const struct session *session,
                      struct atomic_word *word, size_t word_cnt, const struct shared_write **op,
                      size_t cnt)
{
    *o = (struct atomic_order){
        .session = session, .word = word, .word_cnt = word_cnt, .write = op, .write_cnt = cnt};
    sort_ops(o);
    for (size_t i = 0; i < o->write_cnt; i++)
        o->dir_cnt += i == 0 || o->write[i]->dir != o->write[i - 1]->dir;
    o->head = calloc(o->dir_cnt + 1, sizeof(*o->head));
    o->end = calloc(o->dir_cnt + 1, sizeof(*o->end));
    o->from = calloc(o->dir_cnt + 1, sizeof(*o->from));
    o->until = calloc(o->dir_cnt + 1, sizeof(*o->until));
    o->trial = malloc((o->write_cnt + 1) * sizeof(*o->trial));
    if (!o->head || !o->end || !o->from || !o->until || !o->trial)
        return -1;
    for (size_t i = 0, r = 0; i < o->write_cnt; i++) {
        if (i > 0 && o->write[i]->dir != o->write[i - 1]->dir)
            o->head[++r] = i;
        o->end[r] = i + 1;
    }
    for (size_t r = 0; r < o->dir_cnt; r++)
        set_head(o, r, o->head[r]);
    return 0;
}

void atomic_order_free(struct atomic_order *o)
{
    free(o->word);
    free(o->write);
    free(o->head);
    free(o->end);
    free(o->from);
    free(o->until);
    free(o->trial);
    free(o->dead_end);
    free(o->undo);
    memset(o, 0, sizeof(*o));
}

/* ---- applying a write --------------------------------------------------------------------------
 */

/* Copies the bytes of a WRITE that overlap a memory word into that word. */
static void store_bytes(struct atomic_word *word, const struct shared_write *w)
{
    uint8_t bits[8], mask[8];

    memcpy(bits, &word->bits, 8);
    memcpy(mask, &word->mask, 8);
    for (unsigned i = 0; i < 8; i++) {
        uint64_t at = word->va + i - w->va; /* `at` wraps to a large offset if the byte is before
                                             * the first byte of the WRITE */

        if (at >= w->len)
            continue;
        mask[i] = w->data ? 0xFF : 0;
        bits[i] = w->data ? w->data[at] : 0;
    }
    memcpy(&word->bits, bits, 8);
    memcpy(&word->mask, mask, 8);
}

/* Returns whether the responder never executed the next write of direction `run`: no response shows
 * its execution, and the order already contains a write that was sent after the same QP was
 * reused. */
static bool is_never_executed(const struct atomic_order *o, size_t run)
{
    const struct rc_direction *dir = &o->session->dir[o->write[o->head[run]]->dir];

    if (o->until[run] != UINT32_MAX)
        return false;
    for (size_t r = 0; r < o->dir_cnt; r++) {
        size_t first = r ? o->end[r - 1] : 0;
        const struct rc_direction *other = &o->session->dir[o->write[first]->dir];

        if (o->head[r] > first && !(dir->stretch && other->stretch) &&
            rc_direction_precedes(dir, other))
            return true;
    }
    return false;
}

/* Applies a write to a word. Returns false for an atomic if its response shows another original
 * value than the word has. */
static bool apply_write(const struct atomic_order *o, struct atomic_word *word,
                        const struct shared_write *w)
{
    const struct inferred_setup *s = &o->session->dir[w->dir].setup;
    struct roce_pkt pkt;

    if (!roce_opcode_is_atomic(event_opcode(s, s->req[w->req].event))) {
        store_bytes(word, w);
        return true;
    }
    if (w->known) {
        if (((word->bits ^ w->found) & word->mask) != 0)
            return false;
        word->bits = w->left;
        word->mask = UINT64_MAX;
        return true;
    }
    trace_parse(event_packet(s, s->req[w->req].event), &pkt);
    if (word->mask != UINT64_MAX)
        word->mask = word->bits = 0;
    else if (pkt.op->kind == ROCE_KIND_FETCH_ADD)
        word->bits += pkt.atomiceth.swap_add;
    else if (word->bits == pkt.atomiceth.compare)
        word->bits = pkt.atomiceth.swap_add;
    return true;
}

static void undo_writes(struct atomic_order *o, size_t undo)
{
    while (o->undo_cnt > undo) {
        const struct atomic_undo *u = &o->undo[--o->undo_cnt];
        struct atomic_word *word = &o->word[u->word];

        o->state ^= mix(u->word, word->bits, word->mask) ^ mix(u->word, u->bits, u->mask);
        word->bits = u->bits;
        word->mask = u->mask;
    }
}

/* Returns the index of the first word that the write may change. */
static size_t first_word(const struct atomic_order *o, const struct shared_write *w)
{
    uint64_t from = w->va < 7 ? 0 : w->va - 7;
    size_t low = 0, high = o->word_cnt;

    while (low < high) {
        size_t mid = low + (high - low) / 2;
        const struct atomic_word *word = &o->word[mid];

        if (word->rkey < w->rkey || (word->rkey == w->rkey && word->va < from))
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

/* Applies a write to all words that it changes. For an atomic, returns false and changes no word if
 * the response shows another original value than the word has. */
static bool try_op(struct atomic_order *o, const struct shared_write *w, uint64_t *effort)
{
    size_t undo = o->undo_cnt;

    for (size_t i = first_word(o, w);
         i < o->word_cnt && o->word[i].rkey == w->rkey && o->word[i].va < w->va + w->len; i++) {
        struct atomic_word *word = &o->word[i];

        ++*effort;
        if (VEC_GROW(o->undo, o->undo_cnt, o->undo_cap)) {
            const struct atomic_undo was = {.word = i, .bits = word->bits, .mask = word->mask};
            bool fits = apply_write(o, word, w);

            o->undo[o->undo_cnt++] = was;
            o->state ^= mix(i, was.bits, was.mask) ^ mix(i, word->bits, word->mask);
            if (fits)
                continue;
        }
        undo_writes(o, undo);
        return false;
    }
    return true;
}

/* ---- searching for an order --------------------------------------------------------------------
 */

/* Returns whether the next write of direction `run` may be executed now. Returns false if the
 * capture shows that a remaining write of another direction was executed before that write. */
static bool may_be_next(const struct atomic_order *o, size_t run)
{
    uint32_t from = o->from[run];

    for (size_t r = 0; r < o->dir_cnt; r++)
        if (o->until[r] < from && r != run)
            return false;
    return true;
}

/* Returns the direction that supplies the write that the search tries next at this position of the
 * order. The search tries the directions in capture order of their next writes. `last` is the
 * direction tried before at this position, or SIZE_MAX. Returns SIZE_MAX if no direction is
 * left. */
static size_t next_dir(const struct atomic_order *o, size_t last)
{
    size_t before =
        last == SIZE_MAX ? 0 : o->from[last]; /* `from` of the write that was tried last */
    uint32_t best_from = UINT32_MAX;
    size_t best = SIZE_MAX;

    for (size_t r = 0; r < o->dir_cnt; r++) {
        uint32_t from = o->from[r];

        if (from >= best_from || from < before || (from == before && last != SIZE_MAX && r <= last))
            continue;
        best = r;
        best_from = from;
    }
    return best;
}

/* Remembers that no order continues from the current state. If memory runs out, remembers nothing,
 * and the search only needs more steps. */
static void note_dead_end(struct atomic_order *o)
{
    if (!o->dead_end)
        o->dead_end = calloc(DEAD_ENDS, sizeof(*o->dead_end));
    if (o->dead_end)
        o->dead_end[o->state % DEAD_ENDS] = o->state;
}

/* Undoes the latest write of direction `run`. */
static void step_back(struct atomic_order *o, size_t run, size_t undo)
{
    undo_writes(o, undo);
    set_head(o, run, o->head[run] - 1);
}

/* Executes the next write of direction `run`, or omits it if the responder never executed it.
 * Returns false and changes nothing if the write may not be executed now, or if the search has
 * already found that no order continues from the resulting state. */
static bool step(struct atomic_order *o, size_t run, uint64_t *effort)
{
    size_t undo = o->undo_cnt;

    if (!may_be_next(o, run) ||
        (!is_never_executed(o, run) && !try_op(o, o->write[o->head[run]], effort)))
        return false;
    set_head(o, run, o->head[run] + 1);
    if (!o->dead_end || o->dead_end[o->state % DEAD_ENDS] != o->state)
        return true;
    step_back(o, run, undo);
    return false;
}

bool atomic_order_find(struct atomic_order *o, uint64_t *effort, uint64_t limit)
{
    size_t depth = 0;
    size_t last = SIZE_MAX;

    while (depth < o->write_cnt) {
        size_t run = next_dir(o, last), undo = o->undo_cnt;

        *effort += o->dir_cnt;
        if (*effort > limit) {
            o->gave_up = true;
            return false;
        }
        if (run == SIZE_MAX) {
            if (depth == 0)
                return false;
            note_dead_end(o);
            last = o->trial[--depth].dir;
            step_back(o, last, o->trial[depth].undo);
            continue;
        }
        if (!step(o, run, effort)) {
            last = run;
            continue;
        }
        o->trial[depth++] = (struct atomic_trial){.dir = run, .undo = undo};
        last = SIZE_MAX;
    }
    return true;
}
