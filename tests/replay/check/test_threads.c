/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Several threads: `check` reports the same with any number of threads, byte by byte. The captures
 * are those of traces/, and mixtures of them: several recorded conversations that run at the same
 * time between random hosts, with lost and damaged packets.
 */
#include <glob.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "check/check.h"
#include "check/check_json.h"
#include "check/check_junit.h"
#include "flow/base/packet_digest.h"
#include "flow/split.h"
#include "page/page_data.h"
#include "replay/capture.h"
#include "replay/ngfile.h"
#include "support/rng.h"
#include "support/suite.h"
#include "wire/bytes.h"
#include "wire/icrc.h"
#include "wire/tunnel.h"

#define THREADS_MAX  8u
#define MIXTURES     40u  /* number of captures, each a random mixture of conversations */
#define MIXTURES_ALL 200u /* number of captures if ROCEDRILL_THREADS is set */
#define TALKS_MAX    10u
#define LIST_MAX     256u

static struct capture talk[LIST_MAX]; /* the captures of traces/ */
static char *path[LIST_MAX];
static unsigned talk_cnt;

/* Output of one check in all its formats. */
struct output {
    char *text, *json, *junit, *page;
};

static void output_free(struct output *out)
{
    free(out->text);
    free(out->json);
    free(out->junit);
    free(out->page);
}

static struct output check_with(const char *file, unsigned threads, size_t mem_max)
{
    struct output out;
    size_t len;
    FILE *text = open_memstream(&out.text, &len), *json = open_memstream(&out.json, &len),
         *junit = open_memstream(&out.junit, &len), *page = open_memstream(&out.page, &len);
    struct page_capture *capture = page_capture_new("capture");
    const struct check_watch watch = page_capture_watch(capture);
    const struct page_selection all = {.conn = NULL};
    const struct check_options options = {.keep_findings = true,
                                          .keep_history = true,
                                          .conn_max = 4096,
                                          .profile = ROCE_PROFILE_AUTO,
                                          .json = json,
                                          .watch = &watch,
                                          .watch_cnt = 1,
                                          .name = "capture",
                                          .threads = threads,
                                          .mem_max = mem_max};
    struct error error = {""};
    struct check_report report;

    (void)check_capture(file, &options, &report, &error);
    check_text(text, &report, true);
    check_junit_add(junit, &report, FAIL_ON_NOTE);
    check_json_summary(json, &report, false, 0);
    (void)page_data_write(page, capture, &report, 0, &all);
    fprintf(text, "%s", error.text);
    page_capture_del(capture);
    check_report_free(&report);
    fclose(text);
    fclose(json);
    fclose(junit);
    fclose(page);
    return out;
}

static void expect_equal(const char *file, const char *what, unsigned threads, const char *one,
                         const char *many)
{
    size_t at = 0;

    if (strcmp(one, many) == 0)
        return;
    while (one[at] && one[at] == many[at])
        at++;
    suite_fail(__FILE__, __LINE__,
               "%s: %s with %u threads, from byte %zu: %.200s instead of %.200s", file, what,
               threads, at, many + at, one + at);
}

/* Checks a file with 1 thread, and with each number of threads from `least` to `most`, and asserts
 * equal outputs. Returns the output. */
static struct output compare_threads(const char *file, unsigned least, unsigned most,
                                     size_t mem_max)
{
    struct output one = check_with(file, 1, mem_max);

    for (unsigned threads = least; threads <= most; threads++) {
        struct output many = check_with(file, threads, mem_max);

        expect_equal(file, "text", threads, one.text, many.text);
        expect_equal(file, "JSON", threads, one.json, many.json);
        expect_equal(file, "JUnit", threads, one.junit, many.junit);
        expect_equal(file, "page", threads, one.page, many.page);
        output_free(&many);
    }
    return one;
}

static void load_talks(void)
{
    glob_t found;

    if (talk_cnt)
        return;
    CU_ASSERT_EQUAL_FATAL(glob(TRACES_DIR "/captures/*.pcap", 0, NULL, &found), 0);
    for (size_t i = 0; i < found.gl_pathc && talk_cnt < LIST_MAX; i++) {
        path[talk_cnt] = strdup(found.gl_pathv[i]);
        talk_cnt += capture_load(&talk[talk_cnt], found.gl_pathv[i]);
    }
    globfree(&found);
    CU_ASSERT_TRUE_FATAL(talk_cnt > 100);
}

/* ---- mixing captures ------------------------------------------------------------------------- */

#define IP_OFF  14u
#define BTH_OFF 42u

static bool is_v2_ip4(const uint8_t *p, size_t len)
{
    return len >= BTH_OFF + 16 && p[12] == 8 && p[13] == 0 && p[IP_OFF] == 0x45 &&
           p[IP_OFF + 9] == 17 && roce_be_get(p + 36, 2) == 4791;
}

static void set_ip_checksum(uint8_t *ip)
{
    uint32_t sum = 0;

    ip[10] = ip[11] = 0;
    for (unsigned i = 0; i < 20; i += 2)
        sum += (uint32_t)roce_be_get(ip + i, 2);
    sum = (sum & 0xFFFF) + (sum >> 16);
    sum = ~((sum & 0xFFFF) + (sum >> 16));
    ip[10] = (uint8_t)(sum >> 8);
    ip[11] = (uint8_t)sum;
}

/* Moves a unicast address to network 10.0.net[0].0/24 if the address is even, or 10.0.net[1].0/24
 * if the address is odd. Its last byte stays. */
static void move_address(uint8_t *addr, const uint8_t net[2])
{
    if (addr[0] >= 224)
        return;
    addr[0] = 10;
    addr[1] = 0;
    addr[2] = net[addr[3] & 1];
}

/* Moves a RoCEv2 frame over IPv4 to other hosts. A correct ICRC is corrected for the new
 * addresses. */
static void move_frame(uint8_t *p, size_t len, const uint8_t net[2])
{
    bool right;

    if (!is_v2_ip4(p, len))
        return;
    right = roce_icrc(ROCE_ENCAP_V2_IP4, p + IP_OFF, BTH_OFF - IP_OFF, len - IP_OFF - 4) ==
            roce_le32_get(p + len - 4);
    move_address(p + IP_OFF + 12, net);
    move_address(p + IP_OFF + 16, net);
    set_ip_checksum(p + IP_OFF);
    if (right)
        roce_le32_put(p + len - 4,
                      roce_icrc(ROCE_ENCAP_V2_IP4, p + IP_OFF, BTH_OFF - IP_OFF, len - IP_OFF - 4));
}

static int by_time(const void *a, const void *b)
{
    const struct capture_frame *x = a, *y = b;

    return x->time != y->time ? (x->time > y->time) - (x->time < y->time)
                              : (x->data > y->data) - (x->data < y->data);
}

/* Adds a conversation with new addresses. One in `damage` frames is lost, and one in `damage`
 * frames is damaged. If `damage` is 0, no frame is lost or damaged. */
static void add_talk(struct capture *mix, const struct capture *from, struct rng *rng,
                     uint32_t damage)
{
    uint8_t net[2] = {(uint8_t)rng_below(rng, 6), (uint8_t)rng_below(rng, 6)}, buf[9000];
    uint64_t begin = rng_below(rng, 200000000);

    for (size_t i = 0; i < from->cnt; i++) {
        const struct capture_frame *frame = &from->frame[i];
        uint32_t what = damage ? rng_below(rng, damage) : 2;

        if (frame->len > sizeof(buf) || what == 0)
            continue;
        memcpy(buf, frame->data, frame->len);
        move_frame(buf, frame->len, net);
        if (what == 1 && frame->len > BTH_OFF + 16)
            buf[BTH_OFF + 12 + rng_below(rng, frame->len - BTH_OFF - 12)] ^= 0x10;
        capture_add(mix, buf, frame->len, begin + frame->time - from->frame[0].time);
    }
}

static struct capture make_mixture(struct rng *rng)
{
    static const uint32_t damages[] = {0, 0, 500, 20};
    uint32_t damage = damages[rng_below(rng, 4)], cnt = 2 + rng_below(rng, TALKS_MAX - 1);
    struct capture mix = {0};

    for (uint32_t i = 0; i < cnt; i++)
        add_talk(&mix, &talk[rng_below(rng, talk_cnt)], rng, damage);
    qsort(mix.frame, mix.cnt, sizeof(*mix.frame), by_time);
    return mix;
}

/* ---- tests of several threads ---------------------------------------------------------------- */

/* Returns whether the environment variable ROCEDRILL_THREADS requests every number of threads and
 * more mixtures, which takes minutes. */
static bool all_numbers(void)
{
    return getenv("ROCEDRILL_THREADS") != NULL;
}

static void captures_are_judged_equally_by_any_number_of_threads(void)
{
    unsigned most = all_numbers() ? THREADS_MAX : 2;

    load_talks();
    for (unsigned i = 0; i < talk_cnt; i++) {
        struct output one = compare_threads(path[i], 2, most, 0);

        output_free(&one);
    }
}

/* Half of the mixtures are judged by 2 threads, the others by a random number of threads. Both must
 * report the same as one thread. */
static void mixtures_are_judged_equally_by_any_number_of_threads(void)
{
    struct rng rng = rng_seed();
    bool all = all_numbers();

    load_talks();
    for (unsigned i = 0; i < (all ? MIXTURES_ALL : MIXTURES); i++) {
        struct capture mix = make_mixture(&rng);
        unsigned threads = i % 2 ? 2 : 3 + rng_below(&rng, THREADS_MAX - 2);
        char *file = capture_temp("", 0);
        struct output one;

        capture_keep(&mix, file);
        one = compare_threads(file, all ? 2 : threads, all ? THREADS_MAX : threads, 0);
        output_free(&one);
        unlink(file);
        free(file);
        capture_free(&mix);
    }
}

/* Writes a capture of `packets` packets of `conns` connections. Returns its path; the caller
 * deletes the file and frees the path. */
static char *generate(unsigned packets, unsigned conns)
{
    char *file = capture_temp("", 0), command[4096];

    snprintf(command, sizeof(command), "%s -n %u -c %u -s 64 >%s", GEN_CAPTURE_PROGRAM, packets,
             conns, file);
    CU_ASSERT_EQUAL_FATAL(system(command), 0);
    return file;
}

/* Each thread parses one window of the capture while other threads still judge the previous
 * window. */
static void long_capture_is_judged_equally_by_eight_threads(void)
{
    char *file = generate(60000, 64);
    struct output one = compare_threads(file, THREADS_MAX, THREADS_MAX, 0);

    output_free(&one);
    unlink(file);
    free(file);
}

/* Writes the frames of a capture as pcapng. Each section has another kind of interfaces, so that
 * the threads find the records partly with pcap_walk.h and partly with the full parser. */
static void write_sections(const struct capture *frames, const char *file)
{
    static const uint8_t addr[4] = {10, 0, 0, 1};
    struct ngfile f = {0};

    for (size_t i = 0; i < frames->cnt; i++) {
        const struct capture_frame *frame = &frames->frame[i];
        const size_t kind = i / 3000 % 4;
        const uint32_t ns = kind == 1 || (kind == 2 && i % 2);

        if (i % 3000 == 0) {
            ng_section(&f, kind == 3, UINT64_MAX);
            ng_interface(&f, 1, 65535, kind == 1 ? 9 : 6, 0);
            ng_interface(&f, 1, 65535, kind == 0 ? 6 : 9, 0);
        }
        if (i % 700 == 0)
            ng_name(&f, addr, "host");
        ng_enhanced(&f, kind == 2 ? (uint32_t)(i % 2) : 0, frame->time / (ns ? 1 : 1000),
                    frame->data, (uint32_t)frame->len, i % 900 == 0 ? "comment" : NULL);
    }
    ng_write(&f, file);
    ng_free(&f);
}

static void pcapng_sections_are_judged_equally_by_two_and_three_threads(void)
{
    char *file = generate(20000, 64);
    struct capture frames = {0};
    struct output one;

    CU_ASSERT_TRUE_FATAL(capture_load(&frames, file));
    write_sections(&frames, file);
    one = compare_threads(file, 2, 3, 0);
    CU_ASSERT_PTR_NOT_NULL(strstr(one.json, "\"packets\":20000"));
    output_free(&one);
    capture_free(&frames);
    unlink(file);
    free(file);
}

/* The capture has more connections than one thread keeps, so connections are evicted. The threads
 * merge their results early, and evict the same connections as one thread. The text reports them,
 * too. */
static void limits_evict_the_same_connections(void)
{
    const unsigned conns = 11000;
    char *file = generate(2 * conns, conns);
    struct output one;

    one = compare_threads(file, 2, 2, (size_t)16 << 20);
    CU_ASSERT_PTR_NULL(strstr(one.json, "\"evicted\":0,"));
    CU_ASSERT_PTR_NOT_NULL(strstr(one.text, "limit reached: "));
    CU_ASSERT_PTR_NULL(strstr(one.text, "limit reached: 0 connections were closed early"));
    output_free(&one);
    unlink(file);
    free(file);
}

/* The page merges packets, because each connection has more packets than the page has room for. */
static void pages_of_many_connections_are_equal(void)
{
    char *file = capture_temp("", 0), command[4096];
    struct output one;

    snprintf(command, sizeof(command), "%s -n 150000 -c 1500 -s 64 -d 1000 >%s",
             GEN_CAPTURE_PROGRAM, file);
    CU_ASSERT_EQUAL_FATAL(system(command), 0);
    one = compare_threads(file, 2, 3, 0);
    CU_ASSERT_PTR_NOT_NULL(strstr(one.page, "\"100 packets are drawn together"));
    output_free(&one);
    unlink(file);
    free(file);
}

/* The pairs of hosts are divided into groups, and each group belongs to one thread. A thread skips
 * the frames of other groups without parsing them. So roce_flow_frame_hosts(), which does not parse
 * the frame, must return the same group as roce_flow_group() for the parsed packet. */
static void hosts_of_frames_are_those_of_the_parsed_packets(void)
{
    static struct roce_group_cache groups;
    static struct roce_pkt pkt;
    struct roce_packet_digest digest;
    const struct roce_hash_secret secret = {0};
    struct roce_frame_hosts hosts;
    unsigned found = 0;

    load_talks();
    for (unsigned i = 0; i < talk_cnt; i++)
        for (size_t k = 0; k < talk[i].cnt; k++) {
            const struct capture_frame *frame = &talk[i].frame[k];

            if (!roce_flow_frame_hosts(&groups, &hosts, frame->data, (uint32_t)frame->len) ||
                roce_tunnel_parse(&pkt, ROCE_LINK_ETHERNET, frame->data, frame->len, frame->len) !=
                    0)
                continue;
            roce_digest_packet(&digest, &pkt, &secret);
            CU_ASSERT_EQUAL(hosts.group, roce_flow_group(&digest));
            CU_ASSERT_EQUAL(hosts.gsi, pkt.bth.dest_qp == ROCE_QP_GSI);
            found++;
        }
    CU_ASSERT_TRUE(found > 1000);
}

SUITE("replay.threads", TEST(hosts_of_frames_are_those_of_the_parsed_packets),
      TEST(captures_are_judged_equally_by_any_number_of_threads),
      TEST(mixtures_are_judged_equally_by_any_number_of_threads),
      TEST(long_capture_is_judged_equally_by_eight_threads),
      TEST(pcapng_sections_are_judged_equally_by_two_and_three_threads),
      TEST(limits_evict_the_same_connections), TEST(pages_of_many_connections_are_equal))
