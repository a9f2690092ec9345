/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* Inputs of rocedrill check: files, pipes, compression, link layers, tunnels, and broken captures.
 */
#define _XOPEN_SOURCE 700 /* declares posix_openpt() */
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "pcapng/pcapng.h"
#include "replay/checkrun.h"
#include "replay/ngfile.h"
#include "support/suite.h"

/* Three captures: one without a violation, one with a violation, and one with a QP that fails
 * without a violation. */
#define HOLDS    "$C/rc-send-sizes.pcap"
#define VIOLATES "$C/rc-loss-atomic-write.pcap"
#define FAILS    "$C/rc-retry-exhausted.pcap"
#define VNI_OFF  48u /* last byte of the VXLAN VNI, after Ethernet, IPv4, UDP */

/* Asserts exit status 2 and `text` in the report, for a capture without a packet to judge. */
static void expect_no_verdict(const char *arguments, const char *text)
{
    struct checkrun r = checkrun("%s", arguments);

    CU_ASSERT_EQUAL(r.status, 2);
    CU_ASSERT_PTR_NOT_NULL(strstr(r.out, text));
    checkrun_free(&r);
}

/* Checks an input with the conversation of VIOLATES. Returns the findings, without the members that
 * depend on the input's name, for comparison with the findings of VIOLATES. */
static char *findings_of(const char *input)
{
    struct checkrun r = checkrun("check --quirks none --json - %s", input);
    json_t *lines = checkrun_json(r.out);
    char *text;

    if (r.status != 1)
        suite_fail(__FILE__, __LINE__, "%s: status %d: %s", input, r.status, r.err);
    for (size_t i = 0; i < json_array_size(lines); i++) {
        json_object_del(json_array_get(lines, i), "file");
        json_object_del(json_array_get(lines, i), "fault");
        json_object_del(json_array_get(lines, i), "encapsulation");
        json_object_del(json_array_get(lines, i), "vni");
        json_object_del(json_array_get(lines, i), "tunnels");
        json_object_del(json_array_get(lines, i), "bytes");
        json_object_del(json_object_get(json_array_get(lines, i), "a"), "bytes");
        json_object_del(json_object_get(json_array_get(lines, i), "b"), "bytes");
    }
    text = json_dumps(lines, JSON_SORT_KEYS);
    json_decref(lines);
    checkrun_free(&r);
    return text;
}

/* Checks an input. Returns those counters of each connection side that do not depend on the network
 * layer. */
static char *counts_of(const char *input)
{
    static const char *const kept[] = {
        "psn_naks",     "rnr_naks",     "acks",          "responses",       "duplicates",
        "missing_psns", "payload_sent", "goodput_bytes", "retransmissions", "operations"};
    struct checkrun r = checkrun("check --quirks none --json - %s", input);
    json_t *lines = checkrun_json(r.out), *all = json_array();
    char *text;

    for (size_t i = 0; i < json_array_size(lines); i++) {
        const json_t *o = json_array_get(lines, i);

        for (int side = 0; side < 2; side++)
            for (size_t k = 0; k < sizeof(kept) / sizeof(kept[0]); k++)
                json_array_append(all,
                                  json_object_get(json_object_get(o, side ? "b" : "a"), kept[k]));
    }
    CU_ASSERT_TRUE(json_array_size(all) > 10);
    text = json_dumps(all, JSON_SORT_KEYS);
    json_decref(all);
    json_decref(lines);
    checkrun_free(&r);
    return text;
}

static void expect_same(const char *prepare, const char *input)
{
    char *expected = findings_of(VIOLATES), *actual;
    struct checkrun r = checkrun_shell("%s", prepare);

    EXPECT_EQ(r.status, 0);
    checkrun_free(&r);
    actual = findings_of(input);
    if (strcmp(expected, actual) != 0)
        suite_fail(__FILE__, __LINE__, "%s: other findings than the plain capture's", input);
    free(expected);
    free(actual);
}

static bool have(const char *program)
{
    struct checkrun r = checkrun_shell("command -v %s", program);
    bool yes = r.status == 0;

    checkrun_free(&r);
    return yes;
}

static void reads_standard_input(void)
{
    expect_same("true", "- <" VIOLATES);
    expect_same("cat " VIOLATES " >$T/s.pcap", "- <$T/s.pcap");
    expect_same("true", "<" VIOLATES " -");
}

static const char *const archivers[] = {"zstd", "xz", "bzip2", "lz4"};

static const char *archived_path(const char *archiver, const char *before)
{
    static char path[64];

    snprintf(path, sizeof(path), "%s$T/z.pcap.%s", before, archiver);
    return path;
}

static void reads_compressed_captures(void)
{
    if (!have("gzip"))
        return;
    expect_same("gzip -c " VIOLATES " >$T/z.pcap.gz", "$T/z.pcap.gz");
    expect_same("gzip -c " VIOLATES " >$T/z.pcap.gz", "- <$T/z.pcap.gz");
    /* The input is several gzip members in sequence, and trailing zeros as on a tape. */
    expect_same("{ head -c 5000 " VIOLATES " | gzip -c; tail -c +5001 " VIOLATES
                " | gzip -c; head -c 512 /dev/zero; } >$T/parts.gz",
                "$T/parts.gz");
    for (unsigned i = 0; i < sizeof(archivers) / sizeof(archivers[0]); i++) {
        const char *a = archivers[i];
        char whole[256], parts[512];

        if (!have(a))
            continue;
        snprintf(whole, sizeof(whole), "%s -c <" VIOLATES " >$T/z.pcap.%s", a, a);
        snprintf(parts, sizeof(parts),
                 "{ head -c 5000 " VIOLATES " | %s -c; tail -c +5001 " VIOLATES
                 " | %s -c; } >$T/z.pcap.%s",
                 a, a, a);
        expect_same(whole, archived_path(a, ""));
        expect_same(parts, archived_path(a, "- <"));
    }
}

/* Writes the frames of VIOLATES with `head` in place of their Ethernet header. */
static void rewrap(const char *name, uint32_t linktype, const uint8_t *head, size_t head_len)
{
    struct capture capture;

    CU_ASSERT_TRUE_FATAL(capture_load(&capture, TRACES_DIR "/captures/rc-loss-atomic-write.pcap"));
    for (size_t i = 0; i < capture.cnt; i++) {
        struct capture_frame *f = &capture.frame[i];
        size_t len = f->len - 14 + head_len;
        uint8_t *data = malloc(len);

        if (head_len)
            memcpy(data, head, head_len);
        memcpy(data + head_len, f->data + 14, f->len - 14u);
        capture_put(&capture, i, data, len);
        free(data);
    }
    checkrun_write_pcap(name, linktype, &capture);
    capture_free(&capture);
}

static void reads_every_link_layer(void)
{
    static const uint8_t sll[16] = {0, 0, 0, 1, 0, 6, 2, 0x52, 0x6F, 0x43, 0x45, 1, 0, 0, 8, 0};
    static const uint8_t sll2[20] = {8, 0, 0, 0, 0,    0,    0,    2,    0,
                                     1, 0, 6, 2, 0x52, 0x6F, 0x43, 0x45, 1};

    rewrap("sll.pcap", 113, sll, sizeof(sll));
    expect_same("true", "$T/sll.pcap");
    rewrap("sll2.pcap", 276, sll2, sizeof(sll2));
    expect_same("true", "$T/sll2.pcap");
    rewrap("raw.pcap", 101, NULL, 0);
    expect_same("true", "$T/raw.pcap");
    rewrap("ip4.pcap", 228, NULL, 0);
    expect_same("true", "$T/ip4.pcap");
    rewrap("serial.pcap", 50, sll, sizeof(sll)); /* serial PPP, a link type that cannot contain
                                                  * RoCE */
    checkrun_refused("check $T/serial.pcap", "is not supported");
}

/* Writes each frame of a capture in an ERF record with `ext` extension headers. */
static void wrap_erf(const char *name, unsigned ext)
{
    struct capture capture;

    CU_ASSERT_TRUE_FATAL(capture_load(&capture, TRACES_DIR "/captures/rc-loss-atomic-write.pcap"));
    for (size_t i = 0; i < capture.cnt; i++) {
        struct capture_frame *f = &capture.frame[i];
        size_t off = 16 + 8 * ext + 2, len = (off + f->len + 7) & ~(size_t)7;
        uint8_t *data = calloc(1, len);

        data[8] = (uint8_t)(2 | (ext ? 0x80 : 0)); /* ERF record type Ethernet */
        data[9] = 4;                               /* ERF flag for variable length */
        data[10] = (uint8_t)(len >> 8);
        data[11] = (uint8_t)len;
        data[14] = (uint8_t)(f->len >> 8);
        data[15] = (uint8_t)f->len;
        for (unsigned k = 0; k < ext; k++)
            data[16 + 8 * k] = k + 1 < ext ? 0x83 : 0x03;
        memcpy(data + off, f->data, f->len);
        capture_put(&capture, i, data, len);
        free(data);
    }
    checkrun_write_pcap(name, 197, &capture);
    capture_free(&capture);
}

static void reads_erf_records(void)
{
    wrap_erf("erf.pcap", 0);
    expect_same("true", "$T/erf.pcap");
    wrap_erf("erf2.pcap", 2);
    expect_same("true", "$T/erf2.pcap");
}

/* ---- InfiniBand links: the same conversation, with LRH and GRH in place of Ethernet and IP ------
 */

static size_t native_of(const struct capture_frame *f, uint8_t *out, size_t cap)
{
    struct roce_pkt pkt;
    uint8_t src[16], dst[16];
    int len;

    CU_ASSERT_EQUAL_FATAL(roce_pkt_parse(&pkt, ROCE_LINK_ETHERNET, f->data, f->len, f->len), 0);
    roce_pkt_addr(&pkt, src, dst);
    pkt.encap = ROCE_ENCAP_IB_GLOBAL;
    pkt.present &=
        ~(ROCE_HDR_BIT(ROCE_HDR_ETH) | ROCE_HDR_BIT(ROCE_HDR_IP4) | ROCE_HDR_BIT(ROCE_HDR_UDP));
    pkt.present |= ROCE_HDR_BIT(ROCE_HDR_LRH) | ROCE_HDR_BIT(ROCE_HDR_GRH);
    /* InfiniBand packets have no source ports. Without them, flows with small PSNs are paired late,
     * so raise the PSNs. */
    pkt.bth.psn += 0x400000;
    pkt.lrh.lnh = 3;
    pkt.lrh.slid = src[15];
    pkt.lrh.dlid = dst[15];
    pkt.grh.ipver = 6;
    pkt.grh.next = ROCE_GRH_NEXT_IBA;
    pkt.grh.hop = 64;
    memcpy(pkt.grh.sgid, src, 16);
    memcpy(pkt.grh.dgid, dst, 16);
    len = roce_pkt_build(&pkt, 0, out, cap);
    CU_ASSERT_TRUE_FATAL(len > 0);
    return (size_t)len;
}

/* Writes the frames of a capture as InfiniBand packets or, with `as_ip`, as IP packets. Puts each
 * into an ERF record of type `erf_type`, unless the type is 0. */
static void write_native(const char *name, uint32_t linktype, uint8_t erf_type, bool as_ip)
{
    static uint8_t data[ROCE_FRAME_MAX + 16];
    struct capture capture;

    CU_ASSERT_TRUE_FATAL(capture_load(&capture, TRACES_DIR "/captures/rc-loss-atomic-write.pcap"));
    for (size_t i = 0; i < capture.cnt; i++) {
        struct capture_frame *f = &capture.frame[i];
        size_t head = erf_type ? 16 : 0, len;

        if (as_ip) {
            len = f->len - 14;
            memcpy(data + head, f->data + 14, len);
        } else {
            len = native_of(f, data + head, ROCE_FRAME_MAX);
        }
        if (erf_type) {
            memset(data, 0, head);
            data[8] = erf_type;
            data[10] = (uint8_t)((head + len) >> 8);
            data[11] = (uint8_t)(head + len);
            data[14] = (uint8_t)(len >> 8);
            data[15] = (uint8_t)len;
        }
        capture_put(&capture, i, data, head + len);
    }
    checkrun_write_pcap(name, linktype, &capture);
    capture_free(&capture);
}

static void reads_infiniband_links(void)
{
    char *expected, *actual;

    write_native("ib.pcap", 247, 0, false);
    write_native("erf-ib.pcap", 197, 21, false);
    write_native("erf-ip.pcap", 197, 22, true);
    expect_same("true", "$T/erf-ip.pcap");
    /* InfiniBand packets have no IP identification and no UDP port, so findings that use these may
     * differ. The counters must be equal. */
    expected = counts_of(VIOLATES);
    actual = counts_of("$T/ib.pcap");
    CU_ASSERT_STRING_EQUAL(actual, expected);
    free(actual);
    actual = counts_of("$T/erf-ib.pcap");
    CU_ASSERT_STRING_EQUAL(actual, expected);
    free(actual);
    free(expected);
}

/* A capture has packets of an Ethernet interface and of a Linux cooked capture. All are read. */
static void reads_interfaces_of_different_links(void)
{
    static const uint8_t sll[16] = {0, 0, 0, 1, 0, 6, 2, 0x52, 0x6F, 0x43, 0x45, 1, 0, 0, 8, 0};
    static uint8_t data[ROCE_FRAME_MAX];
    struct capture capture;
    struct ngfile f = {0};

    CU_ASSERT_TRUE_FATAL(capture_load(&capture, TRACES_DIR "/captures/rc-loss-atomic-write.pcap"));
    ng_section(&f, true, UINT64_MAX);
    ng_interface(&f, 1, 0, 9, 0);
    ng_interface(&f, 113, 0, 9, 0);
    for (size_t i = 0; i < capture.cnt; i++) {
        const struct capture_frame *fr = &capture.frame[i];

        memcpy(data, sll, sizeof(sll));
        memcpy(data + sizeof(sll), fr->data + 14, fr->len - 14);
        if (i & 1)
            ng_enhanced(&f, 1, fr->time, data, fr->len + 2, NULL);
        else
            ng_enhanced(&f, 0, fr->time, fr->data, fr->len, NULL);
    }
    ng_write(&f, checkrun_path("mixed.pcapng"));
    ng_free(&f);
    capture_free(&capture);
    expect_same("true", "$T/mixed.pcapng");
    expect_same("true", "- <$T/mixed.pcapng");
    if (have("gzip"))
        expect_same("gzip -c $T/mixed.pcapng >$T/mixed.gz", "$T/mixed.gz");
}

/* Reads the output on the terminal until the program erases a line, or until no output comes for
 * `wait_ms`. Returns the number of bytes. */
static size_t read_terminal(int master, char *seen, size_t cap, int wait_ms)
{
    struct pollfd poller = {.fd = master, .events = POLLIN};
    size_t len = 0;

    seen[0] = '\0';
    while (len + 1 < cap && poll(&poller, 1, wait_ms) == 1) {
        ssize_t got = read(master, seen + len, cap - len - 1);

        if (got <= 0)
            break;
        len += (size_t)got;
        seen[len] = '\0';
        if (len > 4 && strcmp(seen + len - 4, "\r\033[K") == 0)
            break;
    }
    return len;
}

/* A slow input must cause a progress line on a terminal, which is erased at the end. With -q or
 * without a terminal, there must be no progress line. */
static void shows_progress_on_a_terminal(void)
{
    int master = posix_openpt(O_RDWR | O_NOCTTY | O_NONBLOCK), slave;
    char seen[4096];
    size_t len;

    if (master < 0 || grantpt(master) != 0 || unlockpt(master) != 0) {
        /* A minimal chroot has no /dev/pts, so this test cannot run there. No other test needs a
         * terminal. */
        printf("no pseudo-terminal here, so nothing was tested ... ");
        CU_PASS("no pseudo-terminal");
        if (master >= 0)
            close(master);
        return;
    }
    setenv("TTY", ptsname(master), 1);
    slave = open(ptsname(master), O_RDWR | O_NOCTTY); /* while a slave end is open, the output can
                                                       * be read */
    CU_ASSERT_TRUE_FATAL(slave >= 0);
    for (int quiet = 0; quiet < 2; quiet++) {
        struct checkrun r = checkrun_shell(
            "\"$GEN\" -n 8000 >$T/slow.pcap; { head -c 1000000 $T/slow.pcap; sleep 1.2; "
            "tail -c +1000001 $T/slow.pcap; } | $R check %s - 2>\"$TTY\"",
            quiet ? "-q" : "");

        EXPECT_EQ(r.status, 0);
        checkrun_free(&r);
        len = read_terminal(master, seen, sizeof(seen), quiet ? 100 : 5000);
        if (quiet) {
            EXPECT_EQ(len, 0);
            continue;
        }
        CU_ASSERT_PTR_NOT_NULL(strstr(seen, "\rreading standard input: "));
        CU_ASSERT_PTR_NOT_NULL(strstr(seen, " frames"));
        CU_ASSERT_TRUE(len > 4 && strcmp(seen + len - 4, "\r\033[K") == 0);
    }
    close(slave);
    close(master);
}

/* Writes the frames of a capture in a tunnel: `head` contains the tunnel headers, from the Ethernet
 * header on. Writes `networks` copies of each frame, with the VNI of `head` plus 0, 1, 2... */
static void put_in_tunnel(const char *name, const uint8_t *head, size_t head_len, uint8_t networks)
{
    struct capture capture, out = {0};

    CU_ASSERT_TRUE_FATAL(capture_load(&capture, TRACES_DIR "/captures/rc-loss-atomic-write.pcap"));
    for (size_t i = 0; i < capture.cnt * networks; i++) {
        const struct capture_frame *f = &capture.frame[i / networks];
        size_t len = head_len + f->len;
        uint8_t *data = malloc(len);

        memcpy(data, head, head_len);
        data[16] = (uint8_t)((len - 14) >> 8); /* total length of the IPv4 header */
        data[17] = (uint8_t)(len - 14);
        data[VNI_OFF] += (uint8_t)(i % networks);
        memcpy(data + head_len, f->data, f->len);
        capture_add(&out, data, len, f->time);
        free(data);
    }
    checkrun_write_pcap(name, 1, &out);
    capture_free(&capture);
    capture_free(&out);
}

static void looks_into_tunnels(void)
{
    static const uint8_t vxlan[50] = {
        [12] = 8, [14] = 0x45, [22] = 64, 17, [36] = 0x12, 0xB5, [42] = 8, [VNI_OFF] = 42};
    static const uint8_t erspan[50] = {[12] = 8, [14] = 0x45, [22] = 64, 47,         [34] = 0x10,
                                       0,        0x88,        0xBE,      [42] = 0x10};
    static const uint8_t ipsec[50] = {[12] = 8, [14] = 0x45, [22] = 64, 50};
    struct checkrun r;

    put_in_tunnel("vxlan.pcap", vxlan, sizeof(vxlan), 1);
    put_in_tunnel("overlays.pcap", vxlan, sizeof(vxlan), 3);
    put_in_tunnel("erspan.pcap", erspan, sizeof(erspan), 1);
    put_in_tunnel("ipsec.pcap", ipsec, sizeof(ipsec), 1);
    expect_same("true", "$T/vxlan.pcap");
    expect_same("true", "$T/erspan.pcap");
    r = checkrun("check $T/vxlan.pcap");
    CU_ASSERT_PTR_NOT_NULL(strstr(r.out, "inside tunnels: "));
    CU_ASSERT_PTR_NOT_NULL(strstr(r.out, " VXLAN\n"));
    CU_ASSERT_PTR_NOT_NULL(strstr(r.out, ", VNI 42,"));
    checkrun_free(&r);
    r = checkrun("check $T/overlays.pcap"); /* equal addresses and QPNs in three networks form three
                                             * connections */
    CU_ASSERT_PTR_NOT_NULL(strstr(r.out, ", 3 connections\n"));
    CU_ASSERT_PTR_NULL(strstr(r.out, "copy of the previous packet"));
    checkrun_free(&r);
    expect_no_verdict("check $T/ipsec.pcap", "tunnels that check cannot decode: ");
    expect_no_verdict("check --json - $T/ipsec.pcap", "\"tunnels_closed\":{\"IPsec\":");
}

/* Of several captures, each is reported, even an unusable one. The last line counts all of them. */
static void several_captures_have_a_total(void)
{
    struct checkrun r = checkrun("check --quirks none " HOLDS " $T/none.pcap " VIOLATES);
    json_t *lines;

    EXPECT_EQ(r.status, 2);
    CU_ASSERT_PTR_NOT_NULL(strstr(r.out, "\n3 captures: 1 passed, 1 failed, 1 unusable\n"));
    checkrun_free(&r);
    r = checkrun("check -q --json - " HOLDS " $T/none.pcap");
    lines = checkrun_json(r.out);
    EXPECT_EQ(checkrun_count(lines, "summary"), 2);
    CU_ASSERT_PTR_NOT_NULL(strstr(r.out, "none.pcap: No such file"));
    json_decref(lines);
    checkrun_free(&r);
}

/* A capture has no RoCE packet. The text report has no verdict, because the error message gives the
 * reason. The message names a document, not a file of the sources. */
static void capture_without_roce_gets_one_answer(void)
{
    struct checkrun r = checkrun_shell(
        "{ head -c 24 " HOLDS "; printf '\\1\\0\\0\\0\\0\\0\\0\\0\\74\\0\\0\\0\\74\\0\\0\\0'; "
        "head -c 60 /dev/zero; } >$T/foreign; $R check $T/foreign");

    EXPECT_EQ(r.status, 2);
    CU_ASSERT_PTR_NOT_NULL(strstr(r.out, "foreign: 1 frame, 0 RoCE packets"));
    CU_ASSERT_PTR_NULL(strstr(r.out, "verdict"));
    CU_ASSERT_PTR_NOT_NULL(strstr(r.err, "(document capture.md)\n"));
    checkrun_free(&r);
    expect_no_verdict("check --json - $T/foreign", "\"headline\":\"Nothing to check: ");
}

static void refuses_what_is_no_capture(void)
{
    struct checkrun r =
        checkrun_shell(": >$T/empty; printf 'hello, this is no capture at all' >$T/text; "
                       "head -c 24 " HOLDS " >$T/head");

    checkrun_free(&r);
    checkrun_refused("check $T/empty", "empty: not a capture file");
    checkrun_refused("check $T/text", "text: not a capture file");
    checkrun_refused("check $T/head", "head: no RoCE packet");
    expect_no_verdict("check --json - $T/head", "\"verdict\":\"skipped\"");
    checkrun_refused("check - </dev/null", "standard input: not a capture file");
    r = checkrun_shell("cat " HOLDS " " HOLDS " >$T/joined; cp $T/text $T/old");
    checkrun_free(&r);
    checkrun_refused("check -q $T/joined", "another capture begins here");
    /* If the input is unusable, an existing output file stays unchanged. */
    checkrun_refused("check --annotate $T/old - <$T/text", "standard input: not a capture file");
    checkrun_refused("check --annotate $T/old $T/text", "text: not a capture file");
    checkrun_refused("check --annotate $T/old $T/none", "none: No such file");
    r = checkrun_shell("cmp $T/old $T/text");
    EXPECT_EQ(r.status, 0);
    checkrun_free(&r);
    if (!have("gzip"))
        return;
    r = checkrun_shell("gzip -c $T/text >$T/text.gz; gzip -c " HOLDS " | head -c 3000 >$T/cut.gz; "
                       /* the last gzip member has a wrong checksum */
                       "{ gzip -c " HOLDS " | head -c -8; head -c 8 /dev/zero; } >$T/bad.gz; "
                       "printf '\\3757zXZ\\0abcdefgh' >$T/bad.xz");
    checkrun_free(&r);
    checkrun_refused("check $T/text.gz", "text.gz: not a capture file");
    checkrun_refused("check -q $T/cut.gz", "is truncated");
    checkrun_refused("check -q $T/bad.gz", "corrupt");
    checkrun_refused("check -q $T/bad.xz", "the xz data is corrupt");
    for (unsigned i = 0; i < sizeof(archivers) / sizeof(archivers[0]); i++) {
        const char *a = archivers[i];

        if (!have(a))
            continue;
        r = checkrun_shell("%s -c <" VIOLATES " | head -c -20 >$T/z.pcap.%s", a, a);
        checkrun_free(&r);
        checkrun_refused(archived_path(a, "check -q "), "is truncated");
    }
}

/* Half of a capture is written to a pipe, and the rest only after the first finding was printed. So
 * the program must print findings before the end of the input. */
static void findings_are_printed_before_the_end_of_input(void)
{
    static const char *const packings[] = {"cat", "gzip -c"};

    for (unsigned i = 0; i < 2; i++) {
        struct checkrun r = checkrun_shell(
            "c=$C/rc-loss-both.pcap; n=$(wc -c <$c); rm -f $T/live $T/live.json; mkfifo $T/live; "
            "(head -c $((n / 2)) $c | %s; for i in $(seq 200); do grep -qs '\"rule\"' "
            "$T/live.json && break; sleep 0.1; done; grep -qs '\"rule\"' $T/live.json || exit 9; "
            "tail -c +$((n / 2 + 1)) $c | %s) >$T/live & "
            "$R check -q --json $T/live.json - <$T/live; wait $!",
            packings[i], packings[i]);

        EXPECT_EQ(r.status, 0);
        CU_ASSERT_STRING_EQUAL(r.err, "");
        checkrun_free(&r);
    }
}

/* Ctrl-C ends the reading of a pipe, and all received frames are reported. This also holds if the
 * last frame is incomplete or if the writer continues. If the input is a plain file, the exit
 * status shows that the file was not read to its end. */
static void frames_before_an_interrupt_are_reported(void)
{
    static const char *const signals[] = {"INT", "TERM"};
    struct checkrun r;

    for (unsigned i = 0; i < 2; i++) {
        r = checkrun_shell("rm -f $T/on; mkfifo $T/on; { head -c 30000 " FAILS "; head -c %u $C/"
                           "rc-send-sizes.pcap | tail -c +25; exec sleep 20; } >$T/on & "
                           "timeout --preserve-status -s %s 1 $R check - <$T/on; s=$?; "
                           "kill $!; exit $s",
                           i ? 5000 : 5024, signals[i]);
        EXPECT_EQ(r.status, 0);
        CU_ASSERT_STRING_EQUAL(r.err, "");
        CU_ASSERT_PTR_NOT_NULL(strstr(r.out, "IBV_WC_RETRY_EXC_ERR"));
        CU_ASSERT_PTR_NOT_NULL(strstr(r.out, "verdict: holds ("));
        checkrun_free(&r);
    }
    /* The annotated copy must contain all frames received before the interrupt. */
    r = checkrun_shell("rm -f $T/on; mkfifo $T/on; { cat " FAILS "; exec sleep 20; } >$T/on & "
                       "timeout --preserve-status -s INT 1 $R check -q --annotate $T/a.pcapng - "
                       "<$T/on; s=$?; kill $!; $R check --fail-on failed -q $T/a.pcapng; "
                       "echo \"then $?\"; exit $s");
    EXPECT_EQ(r.status, 0);
    CU_ASSERT_STRING_EQUAL(r.out, "then 1\n");
    checkrun_free(&r);
    /* A terminal sends Ctrl-C to the writer of the pipe as well. The program must still read the
     * writer's last output, which comes a moment later. */
    r = checkrun_shell("rm -f $T/on; mkfifo $T/on; { sleep 1.3; cat " FAILS "; } >$T/on & "
                       "timeout --preserve-status -s INT 1 $R check - <$T/on");
    EXPECT_EQ(r.status, 0);
    CU_ASSERT_PTR_NOT_NULL(strstr(r.out, "IBV_WC_RETRY_EXC_ERR"));
    checkrun_free(&r);
}

/* A capture breaks off in a record. The frames before that record are reported, and the exit status
 * is 2. */
static void frames_before_a_broken_record_are_reported(void)
{
    struct checkrun r = checkrun_shell("head -c 40000 $C/rc-loss-both.pcap >$T/broken.pcap; "
                                       "$R check --json $T/broken.json $T/broken.pcap");
    char *text = checkrun_read(checkrun_path("broken.json"));
    json_t *lines = checkrun_json(text), *summary = checkrun_first(lines, "summary");

    EXPECT_EQ(r.status, 2);
    CU_ASSERT_TRUE(checkrun_complains(&r, "broken.pcap: frame "));
    CU_ASSERT_PTR_NOT_NULL(
        strstr(r.out, "verdict: holds in the part of the capture that could be read ("));
    EXPECT_EQ(json_integer_value(json_object_get(summary, "exit_status")), 2);
    CU_ASSERT_TRUE(json_is_string(json_object_get(summary, "fault")));
    json_decref(lines);
    free(text);
    checkrun_free(&r);
}

/* For any input bytes, the exit status is valid. If it is 2, there is exactly one error line. */
static void survives_any_bytes(void)
{
    struct checkrun r = checkrun_shell("cp " VIOLATES " $T/any.pcap");

    checkrun_free(&r);
    for (unsigned i = 0; i < 40; i++) {
        r = checkrun_shell("printf '\\%o\\%o\\377' | dd of=$T/any.pcap bs=1 seek=%u conv=notrunc "
                           "2>/dev/null; $R check -v $T/any.pcap",
                           i * 37 % 256, i * 91 % 256, 24 + i * 977);
        CU_ASSERT_TRUE(r.status >= 0 && r.status <= 2);
        if (r.status == 2)
            CU_ASSERT_TRUE(checkrun_complains(&r, "any.pcap"));
        checkrun_free(&r);
    }
}

/* A capture without a packet: the message depends on the program that wrote the file. */
static void empty_recording_of_rnic_run_names_its_writer(void)
{
    static const struct {
        const char *writer, *message;
    } cases[] = {
        {PCAPNG_RNIC, "no RoCE packet in 0 frames; rnic-run recorded this file"},
        {"Dumpcap", "no RoCE packet in 0 frames; an RNIC bypasses the kernel"},
    };

    for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        uint8_t block[256];
        size_t len = pcapng_section(block, sizeof(block), cases[i].writer);
        FILE *file = fopen(checkrun_path("empty.pcapng"), "wb");

        CU_ASSERT_TRUE_FATAL(file != NULL);
        len += pcapng_interface(block + len, sizeof(block) - len, "rnic0", NULL,
                                PCAPNG_LINKTYPE_ETHERNET, 0);
        fwrite(block, 1, len, file);
        fclose(file);
        checkrun_refused("check $T/empty.pcapng", cases[i].message);
    }
}

/* Memory of the buffers in which rocedrill stores frames from a pipe, KiB, rounded up: 9 pieces of
 * 320 KiB of the capture, and 4 batches of 1024 parsed frames of 704 bytes. If other programs delay
 * the thread that judges the packets, rocedrill uses more of these buffers. */
#define BUFFERS_KB 6144

static void memory_does_not_grow_with_the_capture(void)
{
    const char *command = "\"$GEN\" -n %u -c 20 | $R check -q -";
    struct checkrun r = checkrun_shell(command, 50000);
    long before = r.max_rss_kb;

    EXPECT_EQ(r.status, 0);
    checkrun_free(&r);
    r = checkrun_shell(command, 500000);
    EXPECT_EQ(r.status, 0);
    CU_ASSERT_STRING_EQUAL(r.err, "");
    if (r.max_rss_kb > before + BUFFERS_KB)
        suite_fail(__FILE__, __LINE__, "%ld kB for 50,000 packets, %ld kB for 500,000", before,
                   r.max_rss_kb);
    checkrun_free(&r);
}

SUITE("replay.inputs", TEST(reads_standard_input), TEST(reads_compressed_captures),
      TEST(reads_every_link_layer), TEST(reads_erf_records), TEST(reads_infiniband_links),
      TEST(reads_interfaces_of_different_links), TEST(looks_into_tunnels),
      TEST(several_captures_have_a_total), TEST(shows_progress_on_a_terminal),
      TEST(capture_without_roce_gets_one_answer), TEST(refuses_what_is_no_capture),
      TEST(findings_are_printed_before_the_end_of_input),
      TEST(frames_before_an_interrupt_are_reported),
      TEST(frames_before_a_broken_record_are_reported), TEST(survives_any_bytes),
      TEST(memory_does_not_grow_with_the_capture),
      TEST(empty_recording_of_rnic_run_names_its_writer))
