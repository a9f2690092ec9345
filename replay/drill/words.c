/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "drill/words.h"

#include <stddef.h>
#include <string.h>
#include "cm/cm.h"
#include "device/rnic.h"
#include "wire/codes.h"

const struct word_number words_access[] = {
    {"none", 0},
    {"local", RNIC_ACCESS_LOCAL_WRITE},
    {"write", RNIC_ACCESS_LOCAL_WRITE | RNIC_ACCESS_REMOTE_WRITE},
    {"remote-write-only", RNIC_ACCESS_REMOTE_WRITE},
    {"read", RNIC_ACCESS_REMOTE_READ},
    {"atomic", RNIC_ACCESS_LOCAL_WRITE | RNIC_ACCESS_REMOTE_ATOMIC},
    {"flush-global", RNIC_ACCESS_FLUSH_GLOBAL},
    {"flush-persistent", RNIC_ACCESS_FLUSH_PERSISTENT},
    {"bind", RNIC_ACCESS_MW_BIND},
    {"all", RNIC_ACCESS_ALL & ~(unsigned)RNIC_ACCESS_MW_BIND},
    {NULL, 0},
};

const struct word_number words_state[] = {
    {"RESET", RNIC_QPS_RESET}, {"INIT", RNIC_QPS_INIT},
    {"RTR", RNIC_QPS_RTR},     {"RTS", RNIC_QPS_RTS},
    {"SQD", RNIC_QPS_SQD},     {"SQE", RNIC_QPS_SQE},
    {"ERR", RNIC_QPS_ERR},     {NULL, 0},
};

const struct word_number words_level[] = {
    {"range", RNIC_FLUSH_RANGE},
    {"mr", RNIC_FLUSH_MR},
    {NULL, 0},
};

const struct word_number words_status[] = {
    {"success", RNIC_WC_SUCCESS},
    {"local-length", RNIC_WC_LOC_LEN_ERR},
    {"local-qp-operation", RNIC_WC_LOC_QP_OP_ERR},
    {"local-protection", RNIC_WC_LOC_PROT_ERR},
    {"flushed", RNIC_WC_WR_FLUSH_ERR},
    {"bind-error", RNIC_WC_MW_BIND_ERR},
    {"bad-response", RNIC_WC_BAD_RESP_ERR},
    {"local-access", RNIC_WC_LOC_ACCESS_ERR},
    {"remote-invalid-request", RNIC_WC_REM_INV_REQ_ERR},
    {"remote-access", RNIC_WC_REM_ACCESS_ERR},
    {"remote-operation", RNIC_WC_REM_OP_ERR},
    {"retry-exceeded", RNIC_WC_RETRY_EXC_ERR},
    {"rnr-retry-exceeded", RNIC_WC_RNR_RETRY_EXC_ERR},
    {NULL, 0},
};

const struct word_number words_event[] = {
    {"cq-error", RNIC_EVENT_CQ_ERR},
    {"qp-fatal", RNIC_EVENT_QP_FATAL},
    {"qp-request-error", RNIC_EVENT_QP_REQ_ERR},
    {"qp-access-error", RNIC_EVENT_QP_ACCESS_ERR},
    {"communication-established", RNIC_EVENT_COMM_EST},
    {"sq-drained", RNIC_EVENT_SQ_DRAINED},
    {"srq-error", RNIC_EVENT_SRQ_ERR},
    {"srq-limit-reached", RNIC_EVENT_SRQ_LIMIT_REACHED},
    {"last-wqe-reached", RNIC_EVENT_QP_LAST_WQE_REACHED},
    {NULL, 0},
};

const struct word_number words_error[] = {
    {"no-memory", -RNIC_ERR_NOMEM},
    {"invalid", -RNIC_ERR_INVALID},
    {"busy", -RNIC_ERR_BUSY},
    {"exists", -RNIC_ERR_EXISTS},
    {"state", -RNIC_ERR_STATE},
    {"full", -RNIC_ERR_FULL},
    {NULL, 0},
};

const struct word_number words_nak[] = {
    {"sequence", ROCE_NAK_PSN_SEQ},
    {"PSN sequence error", ROCE_NAK_PSN_SEQ},
    {"invalid-request", ROCE_NAK_INVALID_REQ},
    {"invalid request", ROCE_NAK_INVALID_REQ},
    {"remote-access", ROCE_NAK_REMOTE_ACCESS},
    {"remote access error", ROCE_NAK_REMOTE_ACCESS},
    {"remote-operation", ROCE_NAK_REMOTE_OP},
    {"remote operational error", ROCE_NAK_REMOTE_OP},
    {NULL, 0},
};

const struct word_number words_cm_event[] = {
    {"request", RNIC_CM_REQUEST},
    {"response", RNIC_CM_RESPONSE},
    {"established", RNIC_CM_ESTABLISHED},
    {"rejected", RNIC_CM_REJECTED},
    {"unreachable", RNIC_CM_UNREACHABLE},
    {"disconnected", RNIC_CM_DISCONNECTED},
    {"timewait-exit", RNIC_CM_TIMEWAIT_EXIT},
    {"sidr-request", RNIC_CM_SIDR_REQUEST},
    {"sidr-response", RNIC_CM_SIDR_RESPONSE},
    {NULL, 0},
};

const char *const words_counter[] = {
#define X(name, text) #name,
    RNIC_COUNTERS(X)
#undef X
        NULL,
};

const char *const words_known[] = {
    "D1",  "D2",  "D3",  "D4",  "D5",  "D6",  "D7",  "D8",  "D9",  "D10", "D11", "D12", "D13",
    "D14", "D15", "D16", "D17", "D18", "D19", "D41", "D42", "D43", "D44", "D45", "D46", "D47",
    "D48", "D49", "D50", "D51", "D52", "D53", "D54", "D55", "D56", "D57", "D58", "S1",  "S2",
    "S3",  "S4",  "S5",  "S6",  "S7",  "S8",  "S9",  "S10", "S11", "S12", "S13", "S14", "S15",
    "S16", "S17", "S18", "S19", "S20", "S21", "S22", "S23", "S24", "S25", "S26", NULL,
};

const char *const words_needs[] = {
    "uc",         "ud",           "xrc",     "srq",        "mw",     "mw-2a",     "mw-2b",
    "flush",      "atomic-write", "cnp",     "cm",         "atomic", "multicast", "counters",
    "invalidate", "zero-based",   "credits", "exact-time", NULL,
};

bool words_has(const char *const *list, const char *word)
{
    while (*list && strcmp(*list, word) != 0)
        list++;
    return *list != NULL;
}

bool words_is_need(const char *word)
{
    return words_has(words_needs, word);
}

bool words_list_has(const char *list, const char *word, size_t len)
{
    while (*list && (strcspn(list, " ") != len || strncmp(list, word, len) != 0)) {
        list += strcspn(list, " ");
        list += strspn(list, " ");
    }
    return *list != '\0';
}

bool words_have(const struct word_number *table, uint64_t number)
{
    while (table->word && table->number != number)
        table++;
    return table->word != NULL;
}

const char *words_name(const struct word_number *table, uint64_t number)
{
    for (; table->word; table++)
        if (table->number == number)
            return table->word;
    return "unknown";
}
