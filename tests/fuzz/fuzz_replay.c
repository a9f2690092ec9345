/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Fuzz target: whole captures through replay. The input is a pcap file; what does not make one is
 * put right, and so are the ICRCs of most frames, so that what is strange is so behind them.
 *
 * Invariants: replay comes to a verdict or a fault, both ends, with bounded memory (the libFuzzer
 * run has a limit); the setup that it dumps is one that it reads, and given that it comes to the
 * same verdict of each connection; a closed loop of it comes to an end; without addresses and
 * payload a frame is of the same form, and its ICRC as right as it was.
 */
#define _GNU_SOURCE
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "anonymize.h"
#include "fuzz.h"
#include "given.h"
#include "report.h"
#include "report_closed.h"
#include "setup_json.h"
#include "wire/bytes.h"

#define FRAMES_MAX 400u
#define HDR_LEN    24u
#define RECORD_LEN 16u

/* Of the frames that are damaged, one in four stays so. */
static void mend(uint8_t *frame, uint32_t cap_len, uint32_t wire_len, enum roce_link link,
                 uint32_t dice)
{
    struct roce_pkt pkt;
    uint32_t icrc;

    if (dice % 4 != 3 && cap_len == wire_len &&
        roce_pkt_parse(&pkt, link, frame, cap_len, wire_len) == 0 &&
        roce_pkt_icrc_check(&pkt, &icrc) == ROCE_ICRC_BAD && pkt.icrc_off + 4 <= cap_len)
        roce_le32_put(frame + pkt.icrc_off, icrc);
}

/* A capture file of the input; its descriptor. */
static int make_file(const uint8_t *data, size_t size)
{
    static const uint8_t header[HDR_LEN] = {0xD4, 0xC3, 0xB2, 0xA1, 2, 0, 4, 0, [18] = 4, [20] = 1};
    int fd = memfd_create("capture", 0);
    size_t at = HDR_LEN;

    FUZZ_CHECK(fd >= 0);
    FUZZ_CHECK(write(fd, header, HDR_LEN) == (ssize_t)HDR_LEN);
    for (unsigned i = 0; i < FRAMES_MAX && at + RECORD_LEN < size; i++) {
        uint8_t frame[RECORD_LEN + ROCE_FRAME_MAX];
        uint32_t cap = roce_le32_get(data + at + 8), len = roce_le32_get(data + at + 12);
        size_t left = size - at - RECORD_LEN;

        if (cap > ROCE_FRAME_MAX)
            cap %= ROCE_FRAME_MAX;
        if (cap > left)
            cap = (uint32_t)left;
        if (len < cap || len > 65535)
            len = cap;
        memcpy(frame, data + at, RECORD_LEN + cap);
        roce_le32_put(frame + 4, roce_le32_get(frame + 4) % 1000000);
        roce_le32_put(frame + 8, cap);
        roce_le32_put(frame + 12, len);
        mend(frame + RECORD_LEN, cap, len, ROCE_LINK_ETHERNET, roce_le32_get(frame + 4));
        FUZZ_CHECK(write(fd, frame, RECORD_LEN + cap) == (ssize_t)(RECORD_LEN + cap));
        at += RECORD_LEN + cap;
    }
    return fd;
}

/* Gives the setup back: nothing of the verdict changes. */
static void check_setup(const struct replay *replay, const char *path)
{
    struct replay_options options = {0};
    struct given given;
    struct replay again;
    struct fault fault = {""};
    char setup[64];
    int fd = memfd_create("setup", 0);

    FUZZ_CHECK(fd >= 0);
    snprintf(setup, sizeof(setup), "/proc/self/fd/%d", fd);
    FUZZ_CHECK(setup_json_write(&replay->drive, &replay->stores, setup, &fault) == 0);
    if (given_read(&given, setup, &fault) != 0) {
        fprintf(stderr, "%s\n", fault.text);
        FUZZ_CHECK(!"the dumped setup can be read");
    }
    options.given = &given;
    if (replay_run(&again, path, &options, &fault) == 0) {
        FUZZ_CHECK(again.drive.run_cnt == replay->drive.run_cnt);
        for (uint32_t i = 0; i < again.drive.run_cnt; i++)
            FUZZ_CHECK(report_run_verdict(&again, i) == report_run_verdict(replay, i));
    } else {
        fprintf(stderr, "%s\n", fault.text);
        FUZZ_CHECK(!"the dumped setup can be given");
    }
    replay_free(&again);
    given_free(&given);
    close(fd);
}

static void check_closed(const struct replay *replay, uint64_t seed)
{
    struct closed_options options = {.seed = seed, .repeat = 1};
    struct closed_sum sum;
    struct fault fault;

    /* READs of megabytes by a capture of bytes end too, but not soon. */
    for (size_t i = 0; i < replay->drive.run_cnt; i++)
        if (replay->drive.run[i].setup.bytes_out > 1u << 20)
            return;
    FUZZ_CHECK(edits_add(&options.edits, "drop@p=0.05", &fault) == 0);
    FUZZ_CHECK(edits_add(&options.edits, "dup@p=0.05", &fault) == 0);
    options.exchanges = &replay->exchanges;
    options.sides = (unsigned)(seed % 3) + 1;
    FUZZ_CHECK(closed_sum_run(&sum, &replay->drive, &options, &fault) == 0);
    closed_sum_free(&sum);
}

static void check_anonymous(const struct replay *replay)
{
    struct anonymizer anonymizer;
    struct masks masks;

    FUZZ_CHECK(masks_make(&masks, &replay->drive) == 0);
    anonymizer_init(&anonymizer, &replay->trace, true, &masks);
    for (uint32_t i = 0; i < replay->trace.cnt; i++) {
        const struct trace_packet *p = &replay->trace.pkt[i];
        uint8_t *copy = malloc(p->cap_len);
        struct roce_pkt was, is;

        FUZZ_CHECK(copy != NULL);
        memcpy(copy, p->data, p->cap_len);
        trace_parse(p, &was);
        FUZZ_CHECK(
            anonymize(&anonymizer, i, (enum roce_link)p->link, copy, p->cap_len, p->wire_len) == 0);
        FUZZ_CHECK(roce_pkt_parse(&is, (enum roce_link)p->link, copy, p->cap_len, p->wire_len) ==
                   0);
        FUZZ_CHECK(is.bth.opcode == was.bth.opcode && is.bth.psn == was.bth.psn &&
                   is.payload_len == was.payload_len && is.icrc_off == was.icrc_off);
        if (!p->seal)
            FUZZ_CHECK(roce_pkt_icrc_check(&is, NULL) == roce_pkt_icrc_check(&was, NULL));
        free(copy);
    }
    anonymizer_free(&anonymizer);
    masks_free(&masks);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct replay_options options = {.stores = true,
                                           .peer = size & 1 ? "linux-rxe-6.1" : NULL};
    struct replay replay;
    struct fault fault = {""};
    char path[64];
    int fd;

    if (size < HDR_LEN + RECORD_LEN)
        return 0;
    fd = make_file(data, size);
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    if (replay_run(&replay, path, &options, &fault) == 0) {
        FILE *null = fopen("/dev/null", "w");
        const struct report_options report = {.ladder = true, .verbose = true};

        FUZZ_CHECK(null != NULL);
        report_text(null, &replay, &report);
        fclose(null);
        if (!options.peer)
            check_setup(&replay, path);
        check_closed(&replay, size);
        check_anonymous(&replay);
    } else {
        FUZZ_CHECK(fault.text[0] != '\0');
    }
    replay_free(&replay);
    close(fd);
    return 0;
}
