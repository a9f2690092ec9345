/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* rocedrill check --annotate: writes a copy of a capture that has the findings as packet
 * comments. */
#include <stdlib.h>
#include <string.h>
#include "replay/checkrun.h"
#include "replay/ngfile.h"
#include "support/suite.h"

#define LOSS "$C/rc-loss-atomic-write.pcap"

static void expect_same_frames(const char *path, const char *copy)
{
    struct capture a, b;

    CU_ASSERT_TRUE_FATAL(capture_load(&a, path));
    CU_ASSERT_TRUE_FATAL(capture_load(&b, copy));
    EXPECT_EQ(b.cnt, a.cnt);
    for (size_t i = 0; i < a.cnt && i < b.cnt; i++) {
        EXPECT_EQ(b.frame[i].time, a.frame[i].time);
        EXPECT_EQ(b.frame[i].len, a.frame[i].len);
        CU_ASSERT_EQUAL(memcmp(a.frame[i].data, b.frame[i].data, a.frame[i].len), 0);
    }
    capture_free(&a);
    capture_free(&b);
}

static void annotated_copy_has_the_same_frames(void)
{
    static const char *const names[] = {"rc-loss-both", "vlan", "mtu-4096", "cm-reject"};

    for (unsigned i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        struct checkrun r = checkrun("check -q --annotate $T/out.pcapng $C/%s.pcap", names[i]);
        char path[512];

        CU_ASSERT_TRUE(r.status < 2);
        checkrun_free(&r);
        snprintf(path, sizeof(path), "%s/captures/%s.pcap", TRACES_DIR, names[i]);
        expect_same_frames(path, checkrun_path("out.pcapng"));
        r = checkrun_shell("$R check -q --annotate $T/in.pcapng - <$C/%s.pcap && cmp $T/in.pcapng "
                           "$T/out.pcapng || test $? = 1",
                           names[i]);
        EXPECT_EQ(r.status, 0);
        checkrun_free(&r);
    }
}

static uint32_t get32(const uint8_t *p)
{
    uint32_t v;

    memcpy(&v, p, sizeof(v));
    return v;
}

/* In the annotated copy, every finding is a comment at its frame, and there is no other new
 * comment. */
static void annotated_copy_has_the_findings(void)
{
    struct checkrun r = checkrun("check --json - --annotate $T/notes.pcapng " LOSS);
    json_t *lines = checkrun_json(r.out);
    FILE *file = fopen(checkrun_path("notes.pcapng"), "rb");
    static uint8_t all[1 << 20];
    size_t len, off = 0, comments = 0;
    uint32_t frame = 0;

    CU_ASSERT_PTR_NOT_NULL_FATAL(file);
    len = fread(all, 1, sizeof(all), file);
    fclose(file);
    while (off + 12 <= len) {
        uint32_t type = get32(all + off), block = get32(all + off + 4), at;

        CU_ASSERT_TRUE_FATAL(block >= 12 && block % 4 == 0 && off + block <= len);
        EXPECT_EQ(get32(all + off + block - 4), block);
        if (type == 6) {
            frame++;
            at = 28 + ((get32(all + off + 20) + 3) & ~3u);
            while (at + 4 <= block - 4 && (get32(all + off + at) & 0xFFFF) == 1) {
                uint32_t n = get32(all + off + at) >> 16;
                bool found = false;

                for (size_t i = 0; i < json_array_size(lines) && !found; i++) {
                    const json_t *o = json_array_get(lines, i);
                    const char *text = json_string_value(json_object_get(o, "text"));

                    found = text && json_integer_value(json_object_get(o, "frame")) == frame &&
                            n > strlen(text) &&
                            memcmp(all + off + at + 4 + n - strlen(text), text, strlen(text)) == 0;
                }
                CU_ASSERT_TRUE(found);
                comments++;
                at += 4 + ((n + 3) & ~3u);
            }
        }
        off += block;
    }
    EXPECT_EQ(off, len);
    EXPECT_EQ(comments, checkrun_count(lines, "finding"));
    json_decref(lines);
    checkrun_free(&r);
}

/* The temporary file for the findings cannot be written; `ulimit` simulates a full disk. The
 * program must report an error, not write a copy without findings. */
static void incomplete_annotated_copy_is_an_error(void)
{
    struct checkrun r = checkrun_shell("trap '' XFSZ; ulimit -f 1; $R check -q --annotate - "
                                       "$C/rc-loss-requests.pcap 2>&1 >/dev/null");

    EXPECT_EQ(r.status, 2);
    CU_ASSERT_PTR_NOT_NULL(strstr(r.out, "temporary file"));
    checkrun_free(&r);
}

/* ---- annotated copies of pcapng ----------------------------------------------------------------
 */

static uint32_t get32_of(bool big, const uint8_t *p)
{
    uint32_t v = get32(p);

    return big ? __builtin_bswap32(v) : v;
}

/* Writes a pcapng file that has more than packets: two sections, interfaces with options, names, a
 * block of unknown type, statistics and comments. */
static void make_rich(const char *path, bool big)
{
    static const uint8_t addr[4] = {10, 0, 0, 1}, stats[12] = {0};
    static const uint8_t custom[8] = {0, 0, 0x7F, 1, 1, 2, 3, 4};
    struct capture c;
    struct ngfile f = {0};

    CU_ASSERT_TRUE_FATAL(capture_load(&c, TRACES_DIR "/captures/rc-loss-both.pcap"));
    ng_section(&f, big, 4096);
    ng_name(&f, addr, "left");
    ng_interface(&f, 1, 0, 9, 0);
    ng_interface(&f, 1, 96, 6, 3600);
    for (size_t i = 0; i < c.cnt; i++) {
        const struct capture_frame *fr = &c.frame[i];

        if (i == c.cnt / 2) {
            ng_block(&f, 5, stats, sizeof(stats));
            ng_section(&f, !big, UINT64_MAX);
            ng_interface(&f, 1, 0, 9, 0);
        }
        if (i % 20 == 7)
            ng_obsolete(&f, 0, fr->time, fr->data, fr->len);
        else if (i % 20 == 3)
            ng_simple(&f, fr->data, fr->len);
        else
            ng_enhanced(&f, 0, fr->time, fr->data, fr->len, i % 3 ? NULL : "was there before");
        if (i % 50 == 9)
            ng_block(&f, 0x40000BAD, custom, sizeof(custom));
    }
    ng_block(&f, 5, stats, sizeof(stats));
    ng_write(&f, path);
    ng_free(&f);
    capture_free(&c);
}

/* Compares a file with its annotated copy, block by block. A block without a new comment must be
 * equal. A block with a new comment must keep all its data and options. Returns the number of
 * blocks with new comments. */
static unsigned expect_copy(const char *path, const char *copy)
{
    static uint8_t a[1 << 20], b[1 << 20];
    FILE *fa = fopen(path, "rb"), *fb = fopen(copy, "rb");
    size_t la = fa ? fread(a, 1, sizeof(a), fa) : 0, lb = fb ? fread(b, 1, sizeof(b), fb) : 0;
    size_t oa = 0, ob = 0;
    unsigned added = 0;
    bool big = false;

    CU_ASSERT_TRUE_FATAL(fa && fb && la < sizeof(a) && lb < sizeof(b));
    fclose(fa);
    fclose(fb);
    while (oa < la && ob < lb) {
        uint32_t na, nb, head, type;

        if (get32(a + oa) == 0x0A0D0D0A) {
            big = get32_of(true, a + oa + 8) == 0x1A2B3C4D;
            memset(a + oa + 16, 0xFF, 8); /* ignore the section lengths, which the copy leaves
                                           * unspecified */
        }
        na = get32_of(big, a + oa + 4);
        nb = get32_of(big, b + ob + 4);
        type = get32_of(big, a + oa);
        CU_ASSERT_TRUE_FATAL(na >= 12 && nb >= 12 && oa + na <= la && ob + nb <= lb);
        EXPECT_EQ(get32_of(big, b + ob + nb - 4), nb);
        if (na == nb && type == get32_of(big, b + ob)) {
            EXPECT_EQ(memcmp(a + oa, b + ob, na), 0);
        } else if (type == 3) { /* the copy has an Enhanced Packet Block instead of the Simple
                                 * Packet Block */
            uint32_t len = get32_of(big, a + oa + 8);

            EXPECT_EQ(get32_of(big, b + ob), 6);
            EXPECT_EQ(get32_of(big, b + ob + 20), len);
            EXPECT_EQ(memcmp(a + oa + 12, b + ob + 28, len), 0);
            added++;
        } else {
            EXPECT_EQ(get32_of(big, b + ob), type);
            head = 28 + ((get32_of(big, a + oa + 20) + 3) & ~3u);
            if (na > head + 4) /* compare all options except opt_endofopt */
                head = na - 8;
            EXPECT_EQ(memcmp(a + oa + 8, b + ob + 8, head - 8), 0);
            EXPECT_EQ(get32_of(big, b + ob + head) >> (big ? 16 : 0) & 0xFFFF, 1);
            added++;
        }
        oa += na;
        ob += nb;
    }
    EXPECT_EQ(oa, la);
    EXPECT_EQ(ob, lb);
    return added;
}

static void annotated_pcapng_keeps_what_it_had(void)
{
    for (int big = 0; big < 2; big++) {
        struct checkrun r;

        make_rich(checkrun_path("rich.pcapng"), big);
        r = checkrun_shell("$R check -q --fail-on warn --annotate $T/rich-out.pcapng "
                           "$T/rich.pcapng; test $? = 1");
        EXPECT_EQ(r.status, 0);
        CU_ASSERT_STRING_EQUAL(r.err, "");
        checkrun_free(&r);
        {
            char path[512];

            snprintf(path, sizeof(path), "%s", checkrun_path("rich.pcapng"));
            CU_ASSERT_TRUE(expect_copy(path, checkrun_path("rich-out.pcapng")) > 10);
        }
        /* A check of the annotated copy must report the findings of the original. */
        r = checkrun_shell(
            "$R check --json - $T/rich.pcapng | grep -v summary | sed 's/rich//' >$T/a; "
            "$R check --json - $T/rich-out.pcapng | grep -v summary | "
            "sed 's/rich-out//' >$T/b; cmp $T/a $T/b");
        EXPECT_EQ(r.status, 0);
        checkrun_free(&r);
        /* Wireshark's tools, if installed, must show the old and the new comments of the copy. */
        r = checkrun_shell("command -v tshark >/dev/null || exit 0; test $(tshark -n -r "
                           "$T/rich-out.pcapng -Y 'frame.comment contains \"was there before\"' "
                           "2>/dev/null | wc -l) -gt 60 && test $(tshark -n -r $T/rich-out.pcapng "
                           "-Y 'frame.comment contains \"RC-\"' 2>/dev/null | wc -l) -gt 10");
        EXPECT_EQ(r.status, 0);
        checkrun_free(&r);
    }
}

SUITE("replay.check_annotate", TEST(annotated_copy_has_the_same_frames),
      TEST(annotated_copy_has_the_findings), TEST(incomplete_annotated_copy_is_an_error),
      TEST(annotated_pcapng_keeps_what_it_had))
