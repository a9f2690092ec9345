/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "capture/split_reader.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include "base/pause.h"
#include "capture/mapped_reader.h"
#include "capture/split_index.h"
#include "flow/split.h"

/* The file is divided into windows: all threads parse the frames of a window before they judge its
 * packets. A window has WINDOW_EACH frames for each thread, at most WINDOW_MAX. A thread keeps the
 * packets of DEPTH windows. */
#define WINDOW_EACH 128u
#define WINDOW_MAX  (8 * WINDOW_EACH)
#define DEPTH       4u

_Static_assert(SPLIT_AHEAD == DEPTH * WINDOW_MAX, "a thread is at most DEPTH windows ahead");

/* A thread indexes a window before it does other work, if fewer than this number of windows are
 * indexed that it has not parsed. A thread that would wait indexes as many windows as the index has
 * memory for. */
#define INDEX_AHEAD 4u

#define SAMPLE_FRAMES 8192u /* number of frames that split_choose_parts() counts */

/* Number of polls, about 1 us in total, before a waiting thread yields its processor. */
#define LOOKS 50u

/* The packets of one window that one thread passes to judge(). */
struct split_window {
    struct parsed_frame *item;
    uint8_t *part; /* for each item: number of its part. SPLIT_ALONE is added if all other
                    * threads wait while the item is judged */
    unsigned cnt;
    struct frame_counts counts;
    uint32_t last; /* number of the window's last frame */
    /* True: the result for a packet of this thread may depend on packets of other threads. */
    bool unsure;
    bool ends; /* the file ends with this window */
};

struct split {
    struct capture_reader *reader;
    struct capture_reader *shown; /* shows the progress */
    const struct split_consumer *consumer;
    struct split_index index;
    /* Number of threads that have parsed their packets of window n, at index n % DEPTH. */
    _Alignas(64) atomic_uint parsed[DEPTH];
    _Alignas(64) atomic_uint_least64_t looked; /* number of windows passed to consumer->look() */
    atomic_size_t unneeded; /* no thread needs the bytes of the file before this offset */
    atomic_bool stopped;    /* split_read() ends before window number `looked` */
    uint32_t judged;        /* number of the last frame in the latest window passed to look() */
    size_t end[DEPTH];      /* of window n, at index n % DEPTH: end of its last record */
    struct split_thread *thread;
    pthread_mutex_t start; /* held until all threads exist */
    bool cancelled;        /* a thread could not be started, so none does any work */
};

struct split_thread {
    _Alignas(128) struct split *split;
    unsigned part;
    uint64_t parsed, judged;           /* numbers of windows that the thread parsed and judged */
    bool ended;                        /* the thread has parsed or judged the last window */
    struct split_window window[DEPTH]; /* window n has index n % DEPTH */
    void *memory;                      /* memory of the items */
    pthread_t id;
};

/* ---- one thread parses a window ---------------------------------------------------------------
 */

/* Adds a packet of another part to the window. While the thread of that part judges the packet, all
 * other threads wait. */
static void add_alone(struct split_window *window, uint32_t number, unsigned part)
{
    window->item[window->cnt].number = number;
    window->part[window->cnt++] = (uint8_t)(part | SPLIT_ALONE);
}

/* Parses a packet of this thread's part and adds it to the window. If the parsed packet has other
 * hosts than the index, or is malformed, sets `unsure`, because the other threads have not parsed
 * the frame. */
static void add_own(struct split_thread *thread, struct split_window *window,
                    const struct split_index_window *indexed, const struct split_entry *entry)
{
    const struct split_consumer *consumer = thread->split->consumer;
    const struct split_rare rare = split_index_rare(indexed, entry);
    struct parsed_frame *item = &window->item[window->cnt];
    const struct captured_frame frame = {.number = indexed->before + entry->number,
                                         .time = entry->time,
                                         .link = (enum roce_link)entry->link,
                                         .cap_len = entry->cap_len,
                                         .wire_len = entry->wire_len,
                                         .data = rare.data};
    bool gsi = entry->flags & SPLIT_GSI;

    parsed_frame_set(item, &frame, consumer->secret);
    if (entry->kind == SPLIT_PLAIN && (item->parsed != 0 || item->pkt.cap_len != entry->cap_len ||
                                       roce_flow_group(&item->digest) != entry->group ||
                                       (item->pkt.bth.dest_qp == ROCE_QP_GSI) != gsi)) {
        window->unsure = true;
        return;
    }
    parsed_frame_set_icrc(item, consumer->icrc);
    window->unsure |= item->icrc == ROCE_ICRC_BAD;
    item->look = (struct roce_flow_look){
        .last_time = rare.last_time, .grain = rare.grain, .icrc = item->icrc};
    item->bytes = rare.bytes;
    frame_counts_add(&window->counts, item, &frame);
    window->part[window->cnt++] = (uint8_t)(thread->part | (gsi ? SPLIT_ALONE : 0));
}

/* Parses the packets of this thread's part in a window that was indexed. */
static void parse_window(struct split_thread *thread, struct split_window *window,
                         const struct split_index_window *indexed)
{
    const struct split_entry *entry =
        &indexed->entry[(size_t)thread->part * thread->split->index.frames];
    unsigned cnt = indexed->cnt[thread->part];

    window->cnt = 0;
    window->unsure = false;
    window->last = indexed->last;
    window->ends = indexed->ends;
    frame_counts_init(&window->counts);
    for (unsigned i = 0; i < cnt; i++) {
        if (cnt - i > 16)
            __builtin_prefetch(&entry[i + 16]);
        if (cnt - i > 3) {
            const uint8_t *soon = indexed->data + entry[i + 3].off;

            __builtin_prefetch(soon);
            __builtin_prefetch(soon + 64);
        }
        if (entry[i].kind == SPLIT_MARK)
            add_alone(window, indexed->before + entry[i].number, entry[i].part);
        else
            add_own(thread, window, indexed, &entry[i]);
    }
}

/* ---- the threads meet --------------------------------------------------------------------------
 */

/* Passes window `n`, which all threads have parsed, to look(). */
static void look_at_window(struct split *split, uint64_t n)
{
    const struct split_consumer *consumer = split->consumer;
    const struct split_index_window *indexed = split_index_window(&split->index, n);
    struct frame_counts counts = indexed->counts;
    bool unsure = false;

    for (unsigned i = 0; i < consumer->parts; i++) {
        const struct split_window *window = &split->thread[i].window[n % DEPTH];

        frame_counts_join(&counts, &window->counts);
        unsure |= window->unsure;
    }
    reader_show(split->shown, indexed->end);
    if (unsure || !consumer->look(consumer->user, split->shown, &counts, indexed->last)) {
        atomic_store(&split->stopped, true);
        return;
    }
    /* All threads have judged window n - DEPTH. */
    atomic_store_explicit(&split->unneeded, split->end[n % DEPTH], memory_order_relaxed);
    split->end[n % DEPTH] = indexed->end;
    split->judged = indexed->last;
    atomic_store_explicit(&split->looked, n + 1, memory_order_release);
}

/* Records that a thread has parsed window `n`. */
static void finish_parsing(struct split *split, uint64_t n)
{
    atomic_uint *parsed = &split->parsed[n % DEPTH];

    if (atomic_fetch_add(parsed, 1) + 1 < split->consumer->parts)
        return;
    atomic_store(parsed, 0);
    look_at_window(split, n);
}

static bool index_next(struct split *split)
{
    return split_index_step(&split->index,
                            atomic_load_explicit(&split->looked, memory_order_acquire),
                            atomic_load_explicit(&split->unneeded, memory_order_relaxed));
}

static void parse_next(struct split_thread *thread)
{
    struct split *split = thread->split;
    uint64_t n = thread->parsed;
    struct split_window *window = &thread->window[n % DEPTH];

    parse_window(thread, window, split_index_window(&split->index, n));
    thread->parsed++;
    thread->ended = window->ends;
    finish_parsing(split, n);
}

/* Judges the next window. */
static void judge_next(struct split_thread *thread)
{
    const struct split_consumer *consumer = thread->split->consumer;
    const struct split_window *window = &thread->window[thread->judged % DEPTH];

    consumer->judge(
        consumer->user, thread->part,
        &(struct frame_batch){
            .item = window->item, .part = window->part, .cnt = window->cnt, .last = window->last});
    thread->judged++;
}

/* Does the next piece of work of a thread: indexes, parses or judges a window. Returns false if the
 * thread must wait for the other threads. */
static bool do_next(struct split_thread *thread)
{
    struct split *split = thread->split;
    uint64_t indexed = split_index_cnt(&split->index);

    if (indexed < thread->parsed + INDEX_AHEAD && index_next(split))
        return true;
    if (thread->judged < atomic_load_explicit(&split->looked, memory_order_acquire)) {
        judge_next(thread);
        return true;
    }
    if (thread->parsed < indexed && thread->parsed - thread->judged < DEPTH) {
        parse_next(thread);
        return true;
    }
    return index_next(split);
}

/* Returns whether the thread has judged all windows that it has to judge. */
static bool is_done(const struct split_thread *thread)
{
    const struct split *split = thread->split;

    if (thread->ended && thread->judged == thread->parsed)
        return true;
    return atomic_load(&split->stopped) && thread->judged == atomic_load(&split->looked);
}

static void *run_thread(void *arg)
{
    struct split_thread *thread = arg;
    struct split *split = thread->split;
    unsigned looks = 0;
    bool cancelled;

    pthread_mutex_lock(&split->start);
    cancelled = split->cancelled;
    pthread_mutex_unlock(&split->start);
    if (cancelled)
        return NULL;
    while (!is_done(thread))
        if (do_next(thread))
            looks = 0;
        else if (++looks > LOOKS)
            sched_yield();
        else
            rnic_pause();
    return NULL;
}

/* ---- beginning and end ------------------------------------------------------------------------
 */

/* Prepares the thread of a part. Returns false if out of memory. */
static bool begin_thread(struct split_thread *thread, struct split *split, unsigned part)
{
    size_t cnt = split->index.frames, size = cnt * (sizeof(struct parsed_frame) + 1);
    uint8_t *p;

    thread->split = split;
    thread->part = part;
    /* calloc() does not touch the pages of a large block. So the kernel allocates the pages of each
     * thread when the thread uses them, close to its processor. */
    thread->memory = calloc(1, DEPTH * size + _Alignof(struct parsed_frame));
    if (!thread->memory)
        return false;
    p = thread->memory;
    p += -(uintptr_t)p % _Alignof(struct parsed_frame);
    for (unsigned i = 0; i < DEPTH; i++, p += cnt * sizeof(struct parsed_frame))
        thread->window[i].item = (struct parsed_frame *)(void *)p;
    for (unsigned i = 0; i < DEPTH; i++, p += cnt)
        thread->window[i].part = p;
    return true;
}

/* Runs the threads. If one of them cannot be started, reads nothing and returns false. */
static bool run_threads(struct split *split)
{
    unsigned cnt = split->consumer->parts, started = 1;

    pthread_mutex_lock(&split->start);
    while (started < cnt && pthread_create(&split->thread[started].id, NULL, run_thread,
                                           &split->thread[started]) == 0)
        started++;
    split->cancelled = started < cnt;
    pthread_mutex_unlock(&split->start);
    if (!split->cancelled)
        run_thread(&split->thread[0]);
    for (unsigned i = 1; i < started; i++)
        pthread_join(split->thread[i].id, NULL);
    return !split->cancelled;
}

/* Moves the reader to the first frame that was not judged. Passes all RoCE packets before this
 * frame to judged(). */
static int skip_judged(struct split *split, struct error *error)
{
    const struct split_consumer *consumer = split->consumer;
    struct parsed_frame *item = calloc(1, sizeof(*item));
    struct captured_frame frame;
    struct error ended;

    if (!item)
        return error_set(error, "%s: no memory", reader_name(split->reader));
    for (uint32_t i = 0; i < split->judged; i++) {
        if (reader_skip(split->reader, &frame, &ended) != 1)
            break;
        parsed_frame_set(item, &frame, consumer->secret);
        if (item->parsed != 0)
            continue;
        parsed_frame_set_icrc(item, consumer->icrc);
        consumer->judged(consumer->user, item);
    }
    free(item);
    return 1;
}

static bool begin_split(struct split *split, unsigned frames)
{
    const struct split_consumer *consumer = split->consumer;
    bool ok = split_index_open(&split->index, split->reader, consumer->part_of, consumer->secret,
                               consumer->parts, frames);

    split->shown = reader_twin(split->reader, false);
    for (unsigned i = 0; i < consumer->parts && ok; i++)
        ok = begin_thread(&split->thread[i], split, i);
    return ok && split->shown;
}

static int run_split(struct split *split, struct split_end *last, struct error *error)
{
    const struct split_index *index = &split->index;
    unsigned parts = split->consumer->parts, frames = WINDOW_EACH * parts;

    if (!begin_split(split, frames < WINDOW_MAX ? frames : WINDOW_MAX))
        return error_set(error, "%s: no memory", reader_name(split->reader));
    if (!run_threads(split))
        return 1;
    if (atomic_load(&split->stopped))
        return skip_judged(split, error);
    *last = (struct split_end){index->found.look, index->found.bytes};
    if (index->end < 0)
        *error = index->error;
    return index->end;
}

int split_read(struct capture_reader *reader, const struct split_consumer *consumer,
               struct split_end *last, struct error *error)
{
    unsigned parts = consumer->parts;
    struct split split = {.reader = reader, .consumer = consumer};
    int rc;

    split.thread = aligned_alloc(_Alignof(struct split_thread), parts * sizeof(*split.thread));
    if (!split.thread)
        return error_set(error, "%s: no memory", reader_name(reader));
    memset(split.thread, 0, parts * sizeof(*split.thread));
    pthread_mutex_init(&split.start, NULL);
    rc = run_split(&split, last, error);
    pthread_mutex_destroy(&split.start);
    for (unsigned i = 0; i < parts; i++)
        free(split.thread[i].memory);
    split_index_close(&split.index);
    reader_close(split.shown);
    free(split.thread);
    return rc;
}

/* ---- choosing the parts -----------------------------------------------------------------------
 */

static int by_load(const void *a, const void *b)
{
    const uint32_t *x = a, *y = b;

    return x[0] != y[0] ? (x[0] < y[0]) - (x[0] > y[0]) : (x[1] > y[1]) - (x[1] < y[1]);
}

/* Counts, for each group of hosts, its frames among the first SAMPLE_FRAMES frames. Sets load[g][0]
 * to the number for group g, and load[g][1] to g. Returns the sum of all numbers. */
static uint32_t count_groups(struct capture_reader *reader, uint32_t load[ROCE_FLOW_GROUPS][2])
{
    struct captured_frame frame;
    struct roce_group_cache groups = {0};
    struct roce_frame_hosts hosts;
    struct error error;
    uint32_t sum = 0;

    for (unsigned i = 0; i < ROCE_FLOW_GROUPS; i++)
        load[i][1] = i;
    for (unsigned i = 0; i < SAMPLE_FRAMES && reader_next(reader, &frame, &error) == 1; i++)
        if (frame.link == ROCE_LINK_ETHERNET &&
            roce_flow_frame_hosts(&groups, &hosts, frame.data, frame.cap_len)) {
            load[hosts.group][0]++;
            sum++;
        }
    return sum;
}

unsigned split_choose_parts(const struct capture_reader *reader, unsigned parts,
                            uint8_t part_of[ROCE_FLOW_GROUPS])
{
    struct capture_reader *twin = reader_twin(reader, false);
    uint32_t(*load)[2] = calloc(ROCE_FLOW_GROUPS, sizeof(*load));
    uint32_t of_part[SPLIT_PARTS_MAX] = {0}, sum, most = 0;

    for (unsigned i = 0; i < ROCE_FLOW_GROUPS; i++)
        part_of[i] = (uint8_t)(i % parts);
    sum = twin && load ? count_groups(twin, load) : 0;
    if (sum)
        qsort(load, ROCE_FLOW_GROUPS, sizeof(*load), by_load);
    for (unsigned i = 0; sum && i < ROCE_FLOW_GROUPS && load[i][0]; i++) {
        unsigned least = 0;

        for (unsigned k = 1; k < parts; k++)
            if (of_part[k] < of_part[least])
                least = k;
        part_of[load[i][1]] = (uint8_t)least;
        of_part[least] += load[i][0];
    }
    for (unsigned i = 0; i < parts; i++)
        most = of_part[i] > most ? of_part[i] : most;
    free(load);
    reader_close(twin);
    return sum ? (unsigned)(UINT64_C(100) * most / sum) : 100;
}
