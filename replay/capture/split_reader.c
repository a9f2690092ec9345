/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "capture/split_reader.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include "capture/mapped_reader.h"
#include "flow/split.h"

/* The file is divided into windows: all threads parse the frames of a window before they judge its
 * packets. A window has WINDOW_EACH frames for each thread, at most WINDOW_MAX. A thread keeps the
 * packets of two windows, which fit into the second level cache. */
#define WINDOW_EACH 256u
#define WINDOW_MAX  (8 * WINDOW_EACH)

_Static_assert(2 * WINDOW_MAX == SPLIT_AHEAD, "threads meet after each window");

#define SAMPLE_FRAMES 8192u /* number of frames that split_choose_parts() counts */

/* Number of polls, about 1 us in total, before a waiting thread yields its processor. */
#define LOOKS 50u

#define PREPARE_FRAMES 64u /* a thread maps the next pages after this number of frames */

/* The packets of one window that one thread passes to judge(). */
struct split_window {
    struct parsed_frame *item;
    uint8_t *part; /* for each item: number of its part. SPLIT_ALONE is added if all other
                    * threads wait while the item is judged */
    unsigned cnt;
    struct frame_counts counts;
    size_t begin;  /* file offset of the window's first record */
    uint32_t last; /* number of the window's last frame */
    /* True: the result for a packet of this thread may depend on packets of other threads. */
    bool unsure;
    bool ends; /* the file ends with this window */
};

struct split {
    struct capture_reader *reader;
    const struct split_consumer *consumer;
    unsigned window; /* number of frames of each window */
    /* Number of threads that have parsed their packets of window n, at index n % 4. */
    _Alignas(64) atomic_uint parsed[4];
    _Alignas(64) atomic_uint_least64_t looked; /* number of windows passed to consumer->look() */
    atomic_bool stopped;                       /* split_read() ends before window number `looked` */
    uint32_t judged; /* number of the last frame in the latest window passed to look() */
    size_t begin;    /* file offset of the first record of the latest window passed to look() */
    struct split_thread *thread;
    pthread_mutex_t start; /* held until all threads exist */
    bool cancelled;        /* a thread could not be started, so none does any work */
};

struct split_thread {
    _Alignas(64) struct split *split;
    unsigned part;
    struct capture_reader *reader; /* reader of this part; all parts read the same mapped file */
    struct split_window window[2]; /* window n has index n % 2 */
    struct roce_group_cache groups;
    struct roce_flow_look look; /* result of roce_flow_look_next() for the latest RoCE packet */
    uint32_t frames;            /* number of the latest frame */
    uint64_t bytes;             /* captured bytes of the RoCE packets of all parts read so far */
    void *memory;               /* memory of the items */
    int end; /* last result of reader_next(): 0 at the end of the file, -1 after an error */
    struct error error;
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

static void note_packet(struct split_thread *thread, const struct captured_frame *frame,
                        uint32_t cap_len)
{
    roce_flow_look_next(&thread->look, frame->time);
    thread->bytes += cap_len;
}

/* Adds a parsed packet of this thread's part. */
static void add_own(struct split_thread *thread, struct split_window *window,
                    const struct captured_frame *frame)
{
    struct parsed_frame *item = &window->item[window->cnt];
    bool alone = item->pkt.bth.dest_qp == ROCE_QP_GSI;

    parsed_frame_set_icrc(item, thread->split->consumer->icrc);
    window->unsure |= item->icrc == ROCE_ICRC_BAD;
    item->look = thread->look;
    item->look.icrc = item->icrc;
    item->bytes = thread->bytes;
    frame_counts_add(&window->counts, item, frame);
    window->part[window->cnt++] = (uint8_t)(thread->part | (alone ? SPLIT_ALONE : 0));
}

/* Handles a frame whose hosts roce_flow_frame_hosts() found without parsing the frame. Only the
 * thread of the frame's part parses the frame. If the parsed packet has other hosts or is
 * malformed, the thread sets `unsure`, because the other threads have not parsed the frame. */
static void add_plain(struct split_thread *thread, struct split_window *window,
                      const struct captured_frame *frame, const struct roce_frame_hosts *hosts)
{
    const struct split_consumer *consumer = thread->split->consumer;
    unsigned part = consumer->part_of[hosts->group];
    struct parsed_frame *item = &window->item[window->cnt];

    note_packet(thread, frame, frame->cap_len);
    if (part != thread->part) {
        if (hosts->gsi)
            add_alone(window, frame->number, part);
        return;
    }
    parsed_frame_set(item, frame, consumer->secret);
    if (item->parsed != 0 || item->pkt.cap_len != frame->cap_len ||
        roce_flow_group(&item->digest) != hosts->group ||
        (item->pkt.bth.dest_qp == ROCE_QP_GSI) != hosts->gsi) {
        window->unsure = true;
        return;
    }
    add_own(thread, window, frame);
}

/* Handles a frame whose hosts roce_flow_frame_hosts() cannot find, for example because of VLAN
 * tags. Every thread parses this frame. */
static void add_other(struct split_thread *thread, struct split_window *window,
                      const struct captured_frame *frame)
{
    const struct split_consumer *consumer = thread->split->consumer;
    struct parsed_frame *item = &window->item[window->cnt];
    unsigned part;

    parsed_frame_set(item, frame, consumer->secret);
    if (item->parsed != 0) {
        parsed_frame_set_icrc(item, false);
        if (thread->part == 0)
            frame_counts_add(&window->counts, item, frame);
        return;
    }
    part = consumer->part_of[roce_flow_group(&item->digest)];
    note_packet(thread, frame, item->pkt.cap_len);
    if (part == thread->part)
        add_own(thread, window, frame);
    else if (item->pkt.bth.dest_qp == ROCE_QP_GSI)
        add_alone(window, frame->number, part);
}

static void parse_window(struct split_thread *thread, struct split_window *window)
{
    struct captured_frame frame;

    window->cnt = 0;
    window->unsure = false;
    frame_counts_init(&window->counts);
    for (unsigned i = 0; i < thread->split->window; i++) {
        struct roce_frame_hosts hosts;
        size_t at = i % PREPARE_FRAMES ? 0 : reader_map_next(thread->reader);

        window->begin = i == 0 ? at : window->begin;
        if (!reader_next_here(thread->reader, &frame)) {
            thread->end = reader_next(thread->reader, &frame, &thread->error);
            window->ends = thread->end != 1;
            if (window->ends)
                break;
        }
        /* Prefetches the header of the next frame. Also prefetches the header of the frame after
         * it, whose address is right if the next frame is as long as this one. */
        __builtin_prefetch(frame.data + frame.cap_len);
        __builtin_prefetch(frame.data + 2 * (size_t)frame.cap_len);
        thread->frames = frame.number;
        if (frame.link == ROCE_LINK_ETHERNET &&
            roce_flow_frame_hosts(&thread->groups, &hosts, frame.data, frame.cap_len))
            add_plain(thread, window, &frame, &hosts);
        else
            add_other(thread, window, &frame);
    }
    window->last = thread->frames;
}

/* ---- the threads meet --------------------------------------------------------------------------
 */

/* Passes window `n`, which all threads have parsed, to look(). */
static void look_at_window(struct split *split, uint64_t n)
{
    const struct split_consumer *consumer = split->consumer;
    const struct split_window *first = &split->thread[0].window[n % 2];
    struct frame_counts counts;
    bool unsure = false;

    frame_counts_init(&counts);
    for (unsigned i = 0; i < consumer->parts; i++) {
        const struct split_window *window = &split->thread[i].window[n % 2];

        frame_counts_join(&counts, &window->counts);
        unsure |= window->unsure;
    }
    if (unsure || !consumer->look(consumer->user, split->thread[0].reader, &counts, first->last)) {
        atomic_store(&split->stopped, true);
        return;
    }
    /* All threads have judged window n - 2, so the pages before window n - 1 can be unmapped. The
     * offset of window n - 1 was stored in split->begin, because a thread may already have
     * overwritten its struct split_window. */
    if (n > 0)
        reader_unmap_before(split->reader, split->begin);
    split->begin = first->begin;
    split->judged = first->last;
    atomic_store_explicit(&split->looked, n + 1, memory_order_release);
}

/* Records that a thread has parsed window `n`. */
static void finish_parsing(struct split *split, uint64_t n)
{
    atomic_uint *parsed = &split->parsed[n % 4];

    if (atomic_fetch_add(parsed, 1) + 1 < split->consumer->parts)
        return;
    atomic_store(parsed, 0);
    look_at_window(split, n);
}

/* Waits until window `n` was passed to look(). Returns false if the split ends before window
 * `n`. */
static bool wait_for_look(struct split *split, uint64_t n)
{
    unsigned looks = 0;

    while (atomic_load_explicit(&split->looked, memory_order_acquire) <= n) {
        if (atomic_load(&split->stopped) && atomic_load(&split->looked) <= n)
            return false;
        if (++looks > LOOKS)
            sched_yield();
    }
    return true;
}

static void *run_thread(void *arg)
{
    struct split_thread *thread = arg;
    struct split *split = thread->split;
    const struct split_window *window = &thread->window[0];
    bool cancelled;

    pthread_mutex_lock(&split->start);
    cancelled = split->cancelled;
    pthread_mutex_unlock(&split->start);
    if (cancelled)
        return NULL;
    parse_window(thread, &thread->window[0]);
    finish_parsing(split, 0);
    for (uint64_t n = 0;; n++) {
        struct split_window *next = &thread->window[(n + 1) % 2];

        if (!window->ends) {
            parse_window(thread, next);
            finish_parsing(split, n + 1);
        }
        if (!wait_for_look(split, n))
            break;
        split->consumer->judge(split->consumer->user, thread->part,
                               &(struct frame_batch){.item = window->item,
                                                     .part = window->part,
                                                     .cnt = window->cnt,
                                                     .last = window->last});
        if (window->ends)
            break;
        window = next;
    }
    return NULL;
}

/* ---- beginning and end ------------------------------------------------------------------------
 */

/* Prepares the thread of a part. Returns false if out of memory. */
static bool begin_thread(struct split_thread *thread, struct split *split, unsigned part)
{
    size_t cnt = split->window, size = cnt * (sizeof(struct parsed_frame) + 1);
    uint8_t *p;

    thread->split = split;
    thread->part = part;
    thread->reader = reader_twin(split->reader, part == 0);
    /* calloc() does not touch the pages of a large block. So the kernel allocates the pages of each
     * thread when the thread uses them, close to its processor. */
    thread->memory = calloc(1, 2 * size + _Alignof(struct parsed_frame));
    if (!thread->reader || !thread->memory)
        return false;
    p = thread->memory;
    p += -(uintptr_t)p % _Alignof(struct parsed_frame);
    for (unsigned i = 0; i < 2; i++, p += cnt * sizeof(struct parsed_frame))
        thread->window[i].item = (struct parsed_frame *)(void *)p;
    thread->window[0].part = p;
    thread->window[1].part = p + cnt;
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

static int run_split(struct split *split, struct split_end *last, struct error *error)
{
    unsigned parts = split->consumer->parts;
    const struct split_thread *first = &split->thread[0];
    bool ok = true;

    for (unsigned i = 0; i < parts && ok; i++)
        ok = begin_thread(&split->thread[i], split, i);
    if (!ok)
        return error_set(error, "%s: no memory", reader_name(split->reader));
    if (!run_threads(split))
        return 1;
    if (atomic_load(&split->stopped))
        return skip_judged(split, error);
    *last = (struct split_end){first->look, first->bytes};
    if (first->end < 0)
        *error = first->error;
    return first->end;
}

int split_read(struct capture_reader *reader, const struct split_consumer *consumer,
               struct split_end *last, struct error *error)
{
    unsigned parts = consumer->parts, window = WINDOW_EACH * parts;
    struct split split = {.reader = reader,
                          .consumer = consumer,
                          .window = window < WINDOW_MAX ? window : WINDOW_MAX};
    int rc;

    split.thread = aligned_alloc(_Alignof(struct split_thread), parts * sizeof(*split.thread));
    if (!split.thread)
        return error_set(error, "%s: no memory", reader_name(reader));
    memset(split.thread, 0, parts * sizeof(*split.thread));
    pthread_mutex_init(&split.start, NULL);
    rc = run_split(&split, last, error);
    pthread_mutex_destroy(&split.start);
    for (unsigned i = 0; i < parts; i++) {
        reader_close(split.thread[i].reader);
        free(split.thread[i].memory);
    }
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
