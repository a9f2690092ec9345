/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "check/check.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/error.h"
#include "capture/mapped_reader.h"
#include "capture/narrow.h"
#include "capture/parallel_reader.h"
#include "capture/split_reader.h"
#include "check/annotate.h"
#include "check/base/turns.h"
#include "check/check_json.h"
#include "check/programs.h"
#include "flow/split.h"
#include "pcapng/pcapng.h"
#include "util/cli_opts.h"
#include "util/keymap.h"
#include "util/sigint.h"
#include "util/strbuf.h"

/* Limits of the total length of a capture's JSON lines, bytes, which prevent a small capture from
 * filling a disk. The smaller limit applies: JSON_ROOM plus JSON_RATIO for each captured byte of
 * RoCE packets, or JSON_START plus JSON_FRAME for each frame. Half of this length is reserved for
 * violations and failed connections. The limits do not depend on the lengths of the packets on the
 * wire, because a hostile capture can claim any length. */
#define JSON_ROOM    (UINT64_C(64) << 20)
#define JSON_RATIO   2u
#define JSON_START   (UINT64_C(1) << 20)
#define JSON_FRAME   16384u
#define JSON_CONN    3072u /* typical line of a connection, bytes */
#define JSON_FINDING 512u  /* typical line of a finding or congestion episode, bytes */

/* Least memory limit of a part, bytes. A capture can be split into parts: a part is the packets
 * between some pairs of hosts, judged by one thread. If a part has used half of its limit, it
 * requests the merge of all parts. The second half is for the packets that it judges until the
 * merge. */
#define SPLIT_MEM ((size_t)8 << 20)

#define REJ_OF_REP 1 /* value of the field `message` in a REJ that rejects a REP */

/* Without --jobs, a capture is split only if each part has at most this share of the packets, in
 * percent. */
#define SPLIT_MOST 70u

/* A part waits for all other parts at the first packet of each connection. The parts are merged if
 * a part has judged more than WAITS_FROM packets, and waited at more than 1 of WAITS_SHARE. */
#define WAITS_FROM  1024u
#define WAITS_SHARE 8u

struct check;

/* State of one thread. The thread passes the packets of its part of the capture to rnic/flow (it
 * judges them). Aligned to separate cache lines, because each thread writes its struct with each
 * packet. */
struct judge {
    _Alignas(128) struct check *check;
    struct roce_flow *flow;
    unsigned part;
    uint32_t frame; /* number of the frame that is being judged */
    uint64_t bytes; /* captured bytes of all RoCE packets up to frame `frame` */
    /* Bit set of the QPNs of unanswered REPs, as unanswered_cm_filter() returns it. Copied from
     * check_report.unanswered_cm.filter, and computed again after a REP is removed. For most
     * packets, it shows that the list of unanswered REPs need not be searched. */
    uint64_t rep_filter;
    unsigned rep_changes; /* value of unanswered_cm.changes when `rep_filter` was copied */
    uint64_t judged;      /* number of packets that the part judged */
    uint64_t waits; /* number of these packets for which the part waited for the other parts */
};

/* State of the check of one capture. */
struct check {
    const struct check_options *options;
    struct check_report *report;
    struct capture_reader *reader, *again; /* readers of the capture; `again` is for the second
                                            * pass, which writes the annotated copy */
    struct annotator annotate;
    struct roce_flow *flow;
    struct progress progress;
    bool json_failed;
    uint64_t json_bytes;      /* length of the JSON lines written up to now */
    bool watches_packets;     /* a watch (struct check_watch) needs the result of each packet */
    bool of_rnic;             /* the software RNIC recorded the capture (rnic-run -w) */
    struct mmap_file *mapped; /* the capture, or NULL */
    unsigned parts;
    uint64_t bytes; /* captured bytes of the RoCE packets that were judged before the parts were
                     * merged */
    atomic_bool crowded; /* the parts must be merged: one is short of memory, one waits too often,
                          * or the history of events is full */
    struct judge judge[SPLIT_PARTS_MAX];
    struct roce_flow *part[SPLIT_PARTS_MAX];
    uint8_t part_of[ROCE_FLOW_GROUPS]; /* for each group of hosts, the number of its part */
    struct turns turns;
};

/* Calls the callback `callback` of each watch; skips watches without this callback. */
#define WATCHES(check, callback, ...)                                                              \
    do {                                                                                           \
        for (unsigned watch_ = 0; watch_ < (check)->options->watch_cnt; watch_++)                  \
            if ((check)->options->watch[watch_].callback)                                          \
                (check)->options->watch[watch_].callback((check)->options->watch[watch_].user,     \
                                                         __VA_ARGS__);                             \
    } while (0)

static void print_error(const struct check *check, const struct roce_finding *finding)
{
    char buf[1024];

    if (finding->severity != ROCE_SEV_ERROR || finding->known)
        return;
    put_escaped(stderr, check->report->name);
    fprintf(stderr, ": frame %u: %s %s\n", finding->frame, roce_rule_info(finding->rule)->id,
            roce_finding_text(finding, buf, sizeof(buf)));
}

/* Returns whether the limits permit another JSON line of about `cost` bytes. Only lines that report
 * a violation or a failure are important. Other lines may use only half of the limit. */
static bool may_list(const struct judge *judge, uint32_t cost, bool important)
{
    uint64_t room = JSON_ROOM + JSON_RATIO * judge->bytes;
    uint64_t of_frames = JSON_START + (uint64_t)JSON_FRAME * judge->frame;

    if (room > of_frames)
        room = of_frames;
    return judge->check->options->json_all ||
           judge->check->json_bytes + cost <= (important ? room : room / 2);
}

static void list_finding(const struct judge *judge, const struct roce_finding *finding)
{
    struct check *check = judge->check;

    if (!may_list(judge, JSON_FINDING, finding->severity == ROCE_SEV_ERROR))
        check->report->findings_not_listed++;
    else if (check_json_finding(check->options->json, check->report->name, finding, false,
                                &check->json_bytes) != 0)
        check->json_failed = true;
}

/* Stores a connection until the end, when check_json_later() writes its JSON line. */
static void keep_conn(struct check *check, const struct roce_conn_summary *sum)
{
    struct check_report *report = check->report;

    if (!VEC_GROW(report->later, report->later_cnt, report->later_cap)) {
        check->json_failed = true;
        return;
    }
    check_conn_set(&report->later[report->later_cnt++], sum);
    check->json_bytes += JSON_CONN;
}

static void list_conn(const struct judge *judge, const struct roce_conn_summary *sum)
{
    struct check *check = judge->check;
    struct check_conn conn;

    if (!may_list(judge, JSON_CONN,
                  check_conn_failed(sum) || sum->facts.findings[ROCE_SEV_ERROR] > 0)) {
        check->report->conns_not_listed++;
        return;
    }
    if (check->options->json_later) {
        keep_conn(check, sum);
        return;
    }
    check_conn_set(&conn, sum);
    if (check_json_conn(check->options->json, check->report->name, &conn, NULL, false,
                        &check->json_bytes) != 0)
        check->json_failed = true;
}

static void on_finding(void *user, const struct roce_finding *finding)
{
    struct judge *judge = user;
    struct check *check = judge->check;

    if (check->options->immediate)
        print_error(check, finding);
    finding_groups_add(&check->report->groups, finding);
    WATCHES(check, on_finding, finding);
    if (check->options->annotate_to)
        annotate_add(&check->annotate, finding, judge->frame);
    if (check->options->json)
        list_finding(judge, finding);
}

/* Requests the merge of the parts if the history of connection events is full
 * (event_history_is_full()). */
static void note_conn_number(struct check *check, uint32_t conn_index)
{
    if (event_history_is_full(conn_index) && !atomic_load(&check->crowded))
        atomic_store(&check->crowded, true);
}

static void wait_for_turn(void *user);

/* Returns whether the capture has every request of the connection: rnic-run recorded both programs
 * on one host, and dropped no packet itself. */
static bool has_every_request(const struct check *check, const struct roce_conn_summary *sum)
{
    return check->of_rnic && !check->report->impaired[0] &&
           memcmp(sum->side[0].addr, sum->side[1].addr, sizeof(sum->side[0].addr)) == 0;
}

static void on_conn(void *user, const struct roce_conn_summary *sum)
{
    struct judge *judge = user;
    struct check *check = judge->check;
    struct roce_conn_summary local;

    if (has_every_request(check, sum) && sum->facts.silence.cnt) {
        /* No silence is the ACK timeout after a lost request. */
        local = *sum;
        memset(&local.facts.silence, 0, sizeof(local.facts.silence));
        sum = &local;
    }
    note_conn_number(check, sum->facts.conn_index);
    check_report_add(check->report, sum);
    WATCHES(check, on_conn, sum);
    if (check->options->json)
        list_conn(judge, sum);
}

static void on_cnp_episode(void *user, const struct roce_cnp_episode *episode)
{
    struct judge *judge = user;
    struct check *check = judge->check;

    WATCHES(check, on_cnp_episode, episode);
    if (check->options->json && !may_list(judge, JSON_FINDING, false))
        check->report->findings_not_listed++;
    else if (check->options->json &&
             check_json_congestion(check->options->json, check->report->name, episode,
                                   &check->json_bytes) != 0)
        check->json_failed = true;
}

/* Keeps the addresses and the reason of a REJ. The report needs them because a rejected connection
 * has no data packets. */
static void note_rejection(struct check_report *report, const struct roce_flow_in *in,
                           const struct roce_cm_msg *msg)
{
    struct check_rejection *r;

    if (report->rejection_cnt++ >= CHECK_REJECTIONS)
        return;
    r = &report->rejection[report->rejection_cnt - 1];
    r->frame = in->frame;
    r->reason = msg->rej.reason;
    r->of_rep = msg->rej.message == REJ_OF_REP;
    roce_pkt_addr(in->pkt, r->from, r->to);
}

static void on_link(void *user, enum roce_link_kind kind, uint32_t frame, uint32_t other)
{
    struct check *check = ((struct judge *)user)->check;

    WATCHES(check, on_link, kind, frame, other);
}

static void on_done(void *user, const struct roce_flow_done *done)
{
    struct check *check = ((struct judge *)user)->check;

    WATCHES(check, on_done, done);
}

static void on_cm(void *user, const struct roce_flow_in *in, const struct roce_cm_msg *msg)
{
    struct check *check = ((struct judge *)user)->check;

    if (msg->kind == ROCE_CM_REJ)
        note_rejection(check->report, in, msg);
    unanswered_cm_add(&check->report->unanswered_cm, msg, in->pkt, in->frame, in->time);
}

/* Records a data packet in the list of unanswered CM messages, if the packet may show that its
 * sender received one of the listed REPs. */
static inline void note_data_packet(struct judge *judge, const struct roce_pkt *pkt)
{
    struct unanswered_cm *list = &judge->check->report->unanswered_cm;

    if (judge->rep_changes != list->changes) {
        judge->rep_changes = list->changes;
        judge->rep_filter = list->filter;
    }
    if (!unanswered_cm_has(judge->rep_filter, pkt->bth.dest_qp))
        return;
    wait_for_turn(judge);
    unanswered_cm_note_packet(list, pkt);
    judge->rep_filter = unanswered_cm_filter(list);
}

static inline void judge_packet(struct judge *judge, const struct parsed_frame *item)
{
    struct check *check = judge->check;
    struct check_report *report = check->report;
    const struct roce_flow_totals *totals = roce_flow_totals(judge->flow);
    struct roce_flow_result result;
    uint64_t dropped = totals->dropped;
    bool gsi = item->pkt.bth.dest_qp == ROCE_QP_GSI;
    struct roce_flow_in in = {.pkt = &item->pkt,
                              .frame = item->number,
                              .time = item->time,
                              .icrc = item->icrc,
                              .digest = &item->digest,
                              .look = check->parts > 1 ? &item->look : NULL};

    judge->frame = item->number;
    judge->bytes = check->parts > 1 ? item->bytes : judge->bytes + item->pkt.cap_len;
    roce_flow_feed(judge->flow, &in,
                   report->history || gsi || check->watches_packets ? &result : NULL);
    if (gsi && report->rejection_cnt && report->rejection_cnt <= CHECK_REJECTIONS &&
        report->rejection[report->rejection_cnt - 1].frame == in.frame) {
        report->rejection[report->rejection_cnt - 1].service = result.cm_service;
        report->rejection[report->rejection_cnt - 1].active = result.flags & ROCE_AN_CM_ACTIVE;
    }
    if (report->history) {
        event_history_add(report->history, &in, &result);
        note_conn_number(check, result.conn_index);
        note_conn_number(check, result.cm_conn_index);
    }
    if (check->watches_packets)
        WATCHES(check, on_packet, &in, &result);
    if (!gsi && totals->dropped == dropped)
        note_data_packet(judge, &item->pkt);
}

/* Prefetches data for the next packets: `late`, the packet that the thread judges 8 places later,
 * and the connection state of `soon`, the packet 3 places later. Does not prefetch the bytes of the
 * frames, because rnic/flow needs only the digests of most packets. */
static inline void prefetch_items(const struct roce_flow *flow, const struct parsed_frame *late,
                                  const struct parsed_frame *soon)
{
    for (size_t off = 0; late && off < offsetof(struct parsed_frame, pkt.off); off += 64)
        __builtin_prefetch((const char *)late + off);
    if (soon)
        roce_flow_expect(flow, &soon->digest);
}

/* Counts frames before their packets are judged. `frames` is the number of the last one. */
static void count_frames(struct check *check, const struct capture_reader *reader,
                         const struct frame_counts *counts, uint32_t frames)
{
    frame_counts_join(&check->report->counts, counts);
    check->report->frames = frames;
    progress_step(&check->progress, reader, frames);
}

/* ---- one part --------------------------------------------------------------------------------
 */

static void judge_all(struct judge *judge, const struct frame_batch *frames)
{
    for (unsigned i = 0; i < frames->cnt; i++) {
        const struct parsed_frame *item = &frames->item[i];

        prefetch_items(judge->flow, frames->cnt - i > 8 ? item + 8 : NULL,
                       frames->cnt - i > 3 && item[3].parsed == 0 ? item + 3 : NULL);
        if (item->parsed == 0)
            judge_packet(judge, item);
    }
}

static void judge_batch(void *user, const struct frame_batch *frames)
{
    struct check *check = user;

    if (frames->cnt == 0)
        return;
    count_frames(check, check->reader, frames->counts, frames->item[frames->cnt - 1].number);
    judge_all(&check->judge[0], frames);
    WATCHES(check, on_batch, check->flow);
    if (check->options->json && reader_is_live(check->reader))
        /* A write error remains set in the stream. The end of the check reports it. */
        fflush(check->options->json);
}

/* ---- several parts ---------------------------------------------------------------------------
 */

/* Waits until all packets before the current one have been judged. */
static void wait_for_turn(void *user)
{
    struct judge *judge = user;

    if (judge->check->parts > 1) {
        judge->waits++;
        turns_wait(&judge->check->turns, judge->part, judge->frame);
    }
}

/* Returns whether a part waits so often for other parts that a single thread is faster. On a busy
 * machine, each wait can take as long as the time slices of all other programs. */
static bool waits_often(const struct judge *judge)
{
    return judge->judged > WAITS_FROM && judge->waits * WAITS_SHARE > judge->judged;
}

/* Handles a packet marked SPLIT_ALONE: no other packet may be judged at the same time. Every thread
 * calls this function for the packet. The thread of its part `part` waits until all earlier packets
 * were judged, and then judges the packet. The other threads wait for this thread. */
static void judge_alone(struct judge *judge, const struct parsed_frame *item, unsigned part)
{
    struct turns *turns = &judge->check->turns;

    turns_reach(turns, judge->part, item->number);
    if (part != judge->part) {
        turns_wait_for(turns, part, (uint64_t)item->number + 1);
        return;
    }
    turns_wait(turns, part, item->number);
    judge_packet(judge, item);
    turns_reach(turns, part, (uint64_t)item->number + 1);
}

static void judge_part(void *user, unsigned part, const struct frame_batch *frames)
{
    struct check *check = user;
    struct judge *judge = &check->judge[part];

    for (unsigned i = 0; i < frames->cnt; i++) {
        const struct parsed_frame *item = &frames->item[i];
        unsigned of = frames->part[i];

        prefetch_items(judge->flow, i + 8 < frames->cnt ? item + 8 : NULL,
                       i + 3 < frames->cnt && frames->part[i + 3] == part ? item + 3 : NULL);
        if (of & SPLIT_ALONE) {
            judge_alone(judge, item, of & ~SPLIT_ALONE);
            continue;
        }
        turns_reach(&check->turns, part, item->number);
        judge->judged++;
        judge_packet(judge, item);
    }
    turns_reach(&check->turns, part, (uint64_t)frames->last + 1);
    if (roce_flow_is_crowded(judge->flow) || waits_often(judge))
        atomic_store(&check->crowded, true);
}

/* Called by the split reader when all threads have parsed the next window of the file, before they
 * judge its packets. Counts the frames of the window. Returns false to end the split before this
 * window. */
static bool look_at_window(void *user, const struct capture_reader *reader,
                           const struct frame_counts *counts, uint32_t frames)
{
    struct check *check = user;

    if (atomic_load(&check->crowded) || sigint_received())
        return false;
    count_frames(check, reader, counts, frames);
    return true;
}

/* Calls roce_flow_look() for a packet that was judged before the split ended, so that check->flow
 * counts the ICRC of the packet. The check continues with check->flow. */
static void note_judged(void *user, const struct parsed_frame *item)
{
    struct check *check = user;
    const struct roce_flow_in in = {.pkt = &item->pkt,
                                    .frame = item->number,
                                    .time = item->time,
                                    .icrc = item->icrc,
                                    .digest = &item->digest};
    struct roce_flow_look look;

    (void)roce_flow_look(check->flow, &in, &look);
    check->bytes += item->pkt.cap_len;
}

/* Returns whether a watch needs the packets in the order of the capture. */
static bool watches_order(const struct check_options *options)
{
    for (unsigned i = 0; i < options->watch_cnt; i++)
        if (!options->watch[i].any_thread)
            return true;
    return false;
}

/* Returns the number of threads between which the capture is split; 1: no split. The result is 1 if
 * a watch needs the packets in order, if an option selects frames, if the capture is not a mapped
 * file, or if the memory limit is too low for the parts. Without --jobs, the result is also 1 if
 * the parts would have very different numbers of packets. */
static unsigned choose_threads(struct check *check)
{
    const struct check_options *options = check->options;
    unsigned threads = cli_job_cnt(options->threads, SPLIT_PARTS_MAX);

    if (threads < 2 || !check->mapped || watches_order(options) ||
        (options->narrow && options->narrow->any) ||
        (options->mem_max && options->mem_max < SPLIT_MEM * threads) ||
        (split_choose_parts(check->reader, threads, check->part_of) > SPLIT_MOST &&
         !options->threads))
        return 1;
    return threads;
}

/* Splits the capture between threads if possible. Returns true if it was split. */
static bool split_capture(struct check *check)
{
    unsigned threads = choose_threads(check);
    void *judges[SPLIT_PARTS_MAX];

    check->parts = 1;
    if (threads == 1)
        return false;
    for (unsigned i = 0; i < threads; i++) {
        check->judge[i] = (struct judge){.check = check, .part = i};
        judges[i] = &check->judge[i];
    }
    check->judge[0].flow = check->flow;
    if (!roce_flow_split(check->flow, check->part, threads, judges, check->part_of, wait_for_turn))
        return false;
    for (unsigned i = 0; i < threads; i++)
        check->judge[i].flow = check->part[i];
    check->turns.cnt = threads;
    check->parts = threads;
    return true;
}

/* Judges the capture in several parts, up to its end or to a packet that ends the split. Then
 * merges the parts. Returns what split_read() returns. */
static int read_split(struct check *check, struct error *error)
{
    const struct split_consumer consumer = {.user = check,
                                            .icrc = !check->options->no_icrc,
                                            .secret = roce_flow_secret(check->flow),
                                            .parts = check->parts,
                                            .part_of = check->part_of,
                                            .look = look_at_window,
                                            .judge = judge_part,
                                            .judged = note_judged};
    struct split_end last = {0};
    int rc = split_read(check->reader, &consumer, &last, error);

    roce_flow_merge(check->flow);
    if (rc != 1) {
        roce_flow_set_look(check->flow, &last.look);
        check->bytes = last.bytes;
    }
    check->judge[0].bytes = check->bytes;
    /* The connections that are still open are reported with the last frame. */
    check->judge[0].frame = check->report->frames;
    check->parts = 1;
    return rc;
}

static void stop_catching(const struct check *check)
{
    if (!check->options->sigint_caught)
        sigint_end();
}

static int read_all(struct check *check, struct error *error)
{
    const struct frame_consumer consumer = {.user = check,
                                            .icrc = !check->options->no_icrc,
                                            .secret = roce_flow_secret(check->flow),
                                            .threads = check->options->threads,
                                            .judge = judge_batch};
    struct check_report *report = check->report;
    int rc = 1;

    frame_counts_init(&report->counts);
    progress_begin(&check->progress, stderr, check->options->progress, "reading");
    check->mapped = reader_map_lazily(check->reader, check->options->threads > 1 ? 1 : READER_LONG);
    if (split_capture(check))
        rc = read_split(check, error);
    if (rc == 1)
        rc = parallel_read(check->reader, &consumer, error);
    progress_end(&check->progress);
    if (report->frames == 0)
        report->counts = (struct frame_counts){0};
    report->interrupted |= sigint_received();
    /* Restore the default action of SIGINT, which ends the program at once. The rest of the check
     * is short. */
    stop_catching(check);
    return rc;
}

static int compare_numbers(const void *a, const void *b)
{
    const uint32_t *x = a, *y = b;

    return (*x > *y) - (*x < *y);
}

/* Two directions can get different connection numbers before the check detects that they are one
 * connection. One of the two numbers is then replaced, but earlier findings may contain it. Writes
 * a JSON line of type `alias` for each replaced number that findings contain. */
static void write_aliases(struct check *check)
{
    const struct finding_groups *groups = &check->report->groups;
    uint32_t *number = calloc((size_t)groups->group_cnt + 1, sizeof(*number));
    uint32_t is;

    if (!number) {
        check->json_failed = true;
        return;
    }
    for (uint32_t i = 0; i < groups->group_cnt; i++)
        number[i] = groups->group[i].first.conn_index;
    qsort(number, groups->group_cnt, sizeof(*number), compare_numbers);
    for (uint32_t i = 0; i < groups->group_cnt && number[i] != ROCE_NO_CONN; i++) {
        is = roce_flow_conn_index(check->flow, number[i]);
        if (is != number[i] && (i == 0 || number[i - 1] != number[i]) &&
            check_json_alias(check->options->json, check->report->name, number[i], is) != 0)
            check->json_failed = true;
    }
    free(number);
}

/* Returns the name that messages use for the capture. */
static const char *name_of(const struct check_options *options, const char *path)
{
    if (options->name)
        return options->name;
    return strcmp(path, "-") == 0 ? "standard input" : path;
}

/* Opens the capture. Opens a second reader if an annotated copy is requested, because the copy
 * needs a second pass. Returns 0, or -1 and an error. */
static int open_sources(struct check *check, const char *path, struct error *error)
{
    bool is_stdin = strcmp(path, "-") == 0;
    const char *name = name_of(check->options, path);
    char *copy = NULL;

    if (is_stdin && check->options->annotate_to) {
        if (annotate_copy_stdin(&copy, error) != 0)
            return -1;
        path = copy;
        check->report->interrupted = sigint_received(); /* SIGINT ends the copying */
        stop_catching(check);
    }
    check->reader = reader_open_as(path, name, error);
    if (check->reader && check->options->annotate_to)
        check->again = reader_open_as(path, name, error);
    if (copy) {
        unlink(copy); /* the file is open, so its name is no longer needed */
        free(copy);
    }
    return check->reader && (!check->options->annotate_to || check->again) ? 0 : -1;
}

static int write_annotated(struct check *check, struct error *error)
{
    struct progress progress;
    int rc;

    progress_begin(&progress, stderr, check->options->progress, "writing");
    rc = annotate_write(&check->annotate, check->again, &progress, error);
    progress_end(&progress);
    return rc;
}

static bool has_link_watch(const struct check_options *options)
{
    for (unsigned i = 0; i < options->watch_cnt; i++)
        if (options->watch[i].on_link)
            return true;
    return false;
}

/* Stores whether the software RNIC wrote this section of a pcapng file, and its comment about
 * --impair. rnic-run --selfcheck sends a last section with the final comment. */
static void note_writer(void *user, const uint8_t *block, uint32_t len, bool big)
{
    struct check *check = user;
    char impaired[sizeof(check->report->impaired)];

    if (pcapng_u32(big, block) == PCAPNG_SECTION)
        check->of_rnic = pcapng_is_written_by(big, block, len, PCAPNG_RNIC);
    if (pcapng_u32(big, block) == PCAPNG_SECTION && check->of_rnic &&
        pcapng_section_comment(big, block, len, impaired, sizeof(impaired)))
        memcpy(check->report->impaired, impaired, sizeof(impaired));
}

static int begin_check(struct check *check, const char *path, struct error *error)
{
    const struct check_options *o = check->options;
    const struct roce_flow_opts opts = {.profile = o->profile,
                                        .any_order = o->any_order,
                                        .mem_max = o->mem_max,
                                        .user = &check->judge[0],
                                        .on_finding = on_finding,
                                        .on_cnp_episode = on_cnp_episode,
                                        .on_cm = on_cm,
                                        .on_done = o->watch_cnt ? on_done : NULL,
                                        .on_link = has_link_watch(o) ? on_link : NULL,
                                        .on_conn = on_conn};

    if (open_sources(check, path, error) != 0)
        return -1;
    reader_narrow(check->reader, o->narrow);
    (void)reader_blocks(check->reader, note_writer, check);
    if (o->annotate_to && annotate_init(&check->annotate, o->annotate_to, error) != 0)
        return -1;
    for (unsigned i = 0; i < o->watch_cnt; i++)
        check->watches_packets |= o->watch[i].on_packet != NULL;
    check->flow = roce_flow_new(&opts);
    check->judge[0] = (struct judge){.check = check, .flow = check->flow};
    if (o->keep_history)
        check->report->history = event_history_new();
    check->report->name = name_of(o, path);
    check->report->narrow = o->narrow;
    check->report->profile = o->profile;
    check->report->no_icrc = o->no_icrc;
    if (!check->flow || (o->keep_history && !check->report->history))
        return error_set(error, "%s: no memory", check->report->name);
    return 0;
}

int check_capture(const char *path, const struct check_options *options,
                  struct check_report *report, struct error *error)
{
    struct check check = {.options = options, .report = report};
    /* Do not report an error of the second pass if the first pass failed: both passes then fail at
     * the same frame. */
    struct error same;
    int rc;

    check_report_init(report, options->conn_max, options->keep_findings);
    if (!options->sigint_caught)
        sigint_begin();
    rc = begin_check(&check, path, error);
    if (rc == 0) {
        WATCHES(&check, on_begin, check.flow);
        rc = read_all(&check, error);
        report->broke_off = rc != 0;
        roce_flow_finish(check.flow);
        WATCHES(&check, on_end, check.flow);
        if (options->json)
            write_aliases(&check);
        check_report_finish(report, check.flow);
        if (rc == 0 && check.of_rnic && options->keep_history)
            programs_find(path, report);
        if (rc == 0 && report->totals.packets == 0 && options->narrow && options->narrow->any)
            rc = error_set(error,
                           "%s: --connection, --host, --from, --to or --first selects no RoCE "
                           "packet",
                           report->name);
        else if (rc == 0 && report->totals.packets == 0 && report->counts.unreadable == 0)
            rc = error_set(
                error, "%s: no RoCE packet in %u frame%s; %s", report->name, report->frames,
                report->frames == 1 ? "" : "s",
                check.of_rnic
                    ? "rnic-run recorded this file, and its programs sent no packet: read their "
                      "error messages"
                    : "an RNIC bypasses the kernel, so tcpdump on its network interface does not "
                      "capture its packets: use a mirror port or the RNIC's sniffer "
                      "(document capture.md)");
        if (options->annotate_to && write_annotated(&check, rc == 0 ? error : &same) != 0)
            rc = -1;
        if (rc == 0 && check.json_failed)
            rc = error_set(error, "%s: cannot write the JSON", report->name);
        if (rc != 0)
            report->error = error->text;
    } else {
        report->name = NULL;
    }
    stop_catching(&check);
    roce_flow_del(check.flow);
    annotate_free(&check.annotate);
    reader_close(check.reader);
    reader_close(check.again);
    mmap_file_close(check.mapped);
    return rc;
}
