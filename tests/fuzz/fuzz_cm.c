/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Fuzz target: the parser of MADs and CM messages.
 *
 * Invariants: any MAD is parsed or refused, without a read past its end. A CM message that was
 * parsed, and its RDMA-IP header, are built again to the same bytes. The parser reports a message
 * that was not captured completely as cut.
 */
#include "fuzz.h"
#include "support/sample.h"
#include "wire/cm_msg.h"

static void check_texts(const struct roce_hdr_info *info, const uint8_t *p)
{
    for (unsigned i = 0; i < info->field_cnt; i++) {
        char text[512];

        roce_field_text(&info->fields[i], p, text, sizeof(text));
        FUZZ_CHECK(memchr(text, 0, sizeof(text)));
    }
}

static void check_rdmaip(struct roce_cm_msg *msg)
{
    struct roce_cm_rdmaip ip, again;
    struct roce_cm_msg copy = *msg;
    int error = roce_cm_rdmaip_read(&ip, msg);

    FUZZ_CHECK(error == ROCE_OK || error == ROCE_ERR_NOT_ROCE || error == ROCE_ERR_MALFORMED);
    if (error == ROCE_ERR_NOT_ROCE)
        return;
    FUZZ_CHECK(roce_cm_rdmaip_write(&ip, &copy) == ROCE_OK);
    FUZZ_CHECK(roce_cm_rdmaip_read(&again, &copy) == error);
    FUZZ_CHECK(memcmp(&ip, &again, sizeof(ip)) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct roce_cm_msg msg, cut;
    uint8_t out[ROCE_MAD_SIZE];
    struct roce_mad mad;
    size_t len;
    int error;

    memset(&msg, 0xA5, sizeof(msg));
    error = roce_cm_msg_parse(&msg, data, size, size);
    FUZZ_CHECK(error == ROCE_OK || error == ROCE_ERR_NOT_ROCE || error == ROCE_ERR_MALFORMED);
    FUZZ_CHECK(error == ROCE_ERR_MALFORMED || size == ROCE_MAD_SIZE);
    if (size < ROCE_MAD_SIZE) { /* too short for a MAD: parse it as the captured start of a MAD */
        error = roce_cm_msg_parse(&cut, data, size, ROCE_MAD_SIZE);
        FUZZ_CHECK(error == ROCE_ERR_CUT || error == ROCE_ERR_NOT_ROCE ||
                   error == ROCE_ERR_MALFORMED);
        FUZZ_CHECK(size >= ROCE_MAD_LEN || error == ROCE_ERR_CUT);
        return 0;
    }
    if (error)
        return 0;
    FUZZ_CHECK((unsigned)msg.kind < ROCE_CM_MSG_CNT);
    FUZZ_CHECK(roce_cm_msg_build(&msg, out, sizeof(out)) == (int)ROCE_MAD_SIZE);
    FUZZ_CHECK(memcmp(out, data, sizeof(out)) == 0);
    FUZZ_CHECK(roce_mad_read(&mad, data, size, size) == ROCE_OK && mad.tid == msg.mad.tid);
    FUZZ_CHECK(roce_cm_private_data(&msg, &len) && len > 0 && len < ROCE_MAD_SIZE);
    check_texts(roce_mad_info(), data);
    check_texts(roce_cm_info(msg.kind), data + ROCE_MAD_LEN);
    check_rdmaip(&msg);
    FUZZ_CHECK(*roce_cm_name(msg.kind));
    /* Cut the message somewhere after its MAD header: the parser must report ROCE_ERR_CUT but still
     * recognize the kind and the transaction ID. */
    len = ROCE_MAD_LEN + data[ROCE_MAD_SIZE - 1] % (ROCE_MAD_SIZE - ROCE_MAD_LEN);
    FUZZ_CHECK(roce_cm_msg_parse(&cut, data, len, size) == ROCE_ERR_CUT);
    FUZZ_CHECK(cut.kind == msg.kind && cut.mad.tid == msg.mad.tid);
    return 0;
}
