/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* Parses the command line of rxedrive: options, and the steps that usage() describes. */
#include "recorder/rxedrive_step.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *name;
    int status;
} statuses[] = {
    {"success", IBV_WC_SUCCESS},
    {"local-length", IBV_WC_LOC_LEN_ERR},
    {"local-qp-operation", IBV_WC_LOC_QP_OP_ERR},
    {"local-protection", IBV_WC_LOC_PROT_ERR},
    {"flushed", IBV_WC_WR_FLUSH_ERR},
    {"mw-bind", IBV_WC_MW_BIND_ERR},
    {"bad-response", IBV_WC_BAD_RESP_ERR},
    {"local-access", IBV_WC_LOC_ACCESS_ERR},
    {"remote-invalid-request", IBV_WC_REM_INV_REQ_ERR},
    {"remote-access", IBV_WC_REM_ACCESS_ERR},
    {"remote-operation", IBV_WC_REM_OP_ERR},
    {"retry-exceeded", IBV_WC_RETRY_EXC_ERR},
    {"rnr-retry-exceeded", IBV_WC_RNR_RETRY_EXC_ERR},
    {"general", IBV_WC_GENERAL_ERR},
    {"none", WC_NONE},
    {"any", WC_ANY},
};

static const char *const key_names[KEYS] = {
    [KEY_ALL] = "all", [KEY_READONLY] = "readonly", [KEY_WRITEONLY] = "writeonly",
    [KEY_MW] = "mw",   [KEY_WRONG] = "wrong",
};

const char *status_name(int status)
{
    for (size_t i = 0; i < sizeof(statuses) / sizeof(*statuses); i++) {
        if (statuses[i].status == status)
            return statuses[i].name;
    }
    return ibv_wc_status_str(status);
}

static void usage(void)
{
    puts("usage: rxedrive --left|--right [options] STEP...\n"
         "A step is OP[=VALUE][,KEY[=VALUE]]...; both sides get the same steps.");
    for (const struct op *op = ops; op->name; op++)
        printf("  %-12s %s\n", op->name, op->help);
    puts("keys: from=right (the requester), qp=N, off=BYTES, key=all|readonly|writeonly|mw|wrong,\n"
         "      imm=N, inv, solicited, fence, nowait, count=N, expect=STATUS, peer=STATUS\n"
         "options: --type rc|uc|ud --qps N --mtu N --psn N --peer-psn N --min-rnr CODE\n"
         "         --timeout N --retry N --rnr-retry N --rd-atomic N --tclass N --srq --lossy\n"
         "         --extended --cm --cm-reject --cm-abandon --group IP --patience S\n"
         "         --ip LEFT,RIGHT --control LEFT,RIGHT\n"
         "or:    rxedrive --spend N   use up N queue pair numbers");
}

static int find_status(const char *name)
{
    for (size_t i = 0; i < sizeof(statuses) / sizeof(*statuses); i++) {
        if (strcmp(statuses[i].name, name) == 0)
            return statuses[i].status;
    }
    fatal("no completion status %s", name);
}

static enum key find_key(const char *name)
{
    for (int key = 0; key < KEYS; key++) {
        if (strcmp(key_names[key], name) == 0)
            return key;
    }
    fatal("no key %s", name);
}

static void parse_value(struct step *step, char *value)
{
    char *end;

    step->value = strtoull(value, &end, 0);
    if (*end == ':')
        step->value2 = strtoull(end + 1, &end, 0);
    if (*end)
        fatal("not a number: %s", value);
}

static void parse_key(struct step *step, const char *name, const char *value)
{
    const struct {
        const char *name;
        bool *flag;
    } flags[] = {
        {"inv", &step->inv},     {"solicited", &step->solicited},
        {"fence", &step->fence}, {"nowait", &step->nowait},
        {"whole", &step->whole}, {"persistent", &step->persistent},
    };

    for (size_t i = 0; i < sizeof(flags) / sizeof(*flags); i++) {
        if (strcmp(flags[i].name, name) == 0) {
            *flags[i].flag = true;
            return;
        }
    }
    if (!value)
        fatal("step %s: key %s unknown or without value", step->text, name);
    if (strcmp(name, "from") == 0)
        step->requester = strcmp(value, "right") == 0 ? RIGHT : LEFT;
    else if (strcmp(name, "qp") == 0)
        step->qp = atoi(value) % MAX_QPS;
    else if (strcmp(name, "off") == 0)
        step->off = strtoull(value, NULL, 0);
    else if (strcmp(name, "count") == 0)
        step->count = atoi(value);
    else if (strcmp(name, "imm") == 0)
        step->imm = strtoul(value, NULL, 0), step->has_imm = true;
    else if (strcmp(name, "key") == 0)
        step->key = find_key(value);
    else if (strcmp(name, "expect") == 0)
        step->expect = find_status(value);
    else if (strcmp(name, "peer") == 0)
        step->peer = find_status(value);
    else
        fatal("step %s: no key %s", step->text, name);
}

struct step parse_step(const char *text)
{
    struct step step = {.text = text, .count = 1, .peer = WC_NONE};
    char *next = strdup(text), *part, *value;

    part = strsep(&next, ",");
    value = strchr(part, '=');
    if (value)
        *value++ = '\0';
    for (step.op = ops; step.op->name && strcmp(step.op->name, part) != 0; step.op++)
        ;
    if (!step.op->name)
        fatal("no step %s", part);
    if (step.op->run == run_sh) {
        if (!value)
            fatal("step %s without a command", text);
        step.rest = strchr(text, '=') + 1;
        return step;
    }
    if (value)
        parse_value(&step, value);
    while ((part = strsep(&next, ","))) {
        value = strchr(part, '=');
        if (value)
            *value++ = '\0';
        parse_key(&step, part, value);
    }
    /* default: if the request succeeds, its receive succeeds too */
    if (step.peer == WC_NONE && step.expect == IBV_WC_SUCCESS)
        step.peer = IBV_WC_SUCCESS;
    return step;
}

static void split(char *text, const char *pair[SIDES])
{
    pair[RIGHT] = strchr(text, ',');
    if (!pair[RIGHT])
        fatal("two addresses wanted: %s", text);
    *strchr(text, ',') = '\0';
    pair[RIGHT]++;
    pair[LEFT] = text;
}

enum {
    OPT_LEFT = 256,
    OPT_RIGHT,
    OPT_TYPE,
    OPT_QPS,
    OPT_MTU,
    OPT_PSN,
    OPT_PEER_PSN,
    OPT_MIN_RNR,
    OPT_TIMEOUT,
    OPT_RETRY,
    OPT_RNR_RETRY,
    OPT_RD_ATOMIC,
    OPT_TCLASS,
    OPT_SRQ,
    OPT_LOSSY,
    OPT_EXTENDED,
    OPT_CM,
    OPT_CM_REJECT,
    OPT_CM_ABANDON,
    OPT_GROUP,
    OPT_PATIENCE,
    OPT_IP,
    OPT_CONTROL,
    OPT_SPEND,
    OPT_HELP,
};

static const struct option long_options[] = {
    {"left", no_argument, NULL, OPT_LEFT},
    {"right", no_argument, NULL, OPT_RIGHT},
    {"type", required_argument, NULL, OPT_TYPE},
    {"qps", required_argument, NULL, OPT_QPS},
    {"mtu", required_argument, NULL, OPT_MTU},
    {"psn", required_argument, NULL, OPT_PSN},
    {"peer-psn", required_argument, NULL, OPT_PEER_PSN},
    {"min-rnr", required_argument, NULL, OPT_MIN_RNR},
    {"timeout", required_argument, NULL, OPT_TIMEOUT},
    {"retry", required_argument, NULL, OPT_RETRY},
    {"rnr-retry", required_argument, NULL, OPT_RNR_RETRY},
    {"rd-atomic", required_argument, NULL, OPT_RD_ATOMIC},
    {"tclass", required_argument, NULL, OPT_TCLASS},
    {"srq", no_argument, NULL, OPT_SRQ},
    {"lossy", no_argument, NULL, OPT_LOSSY},
    {"extended", no_argument, NULL, OPT_EXTENDED},
    {"cm", no_argument, NULL, OPT_CM},
    {"cm-reject", no_argument, NULL, OPT_CM_REJECT},
    {"cm-abandon", no_argument, NULL, OPT_CM_ABANDON},
    {"group", required_argument, NULL, OPT_GROUP},
    {"patience", required_argument, NULL, OPT_PATIENCE},
    {"ip", required_argument, NULL, OPT_IP},
    {"control", required_argument, NULL, OPT_CONTROL},
    {"spend", required_argument, NULL, OPT_SPEND},
    {"help", no_argument, NULL, OPT_HELP},
    {0},
};

static enum ibv_qp_type parse_type(const char *name)
{
    if (strcmp(name, "rc") == 0)
        return IBV_QPT_RC;
    if (strcmp(name, "uc") == 0)
        return IBV_QPT_UC;
    if (strcmp(name, "ud") == 0)
        return IBV_QPT_UD;
    fatal("no QP type %s", name);
}

static void parse_option(struct options *opt, int c, char *arg)
{
    int n = arg ? (int)strtol(arg, NULL, 0) : 0;

    switch (c) {
    case OPT_LEFT: opt->me = LEFT; break;
    case OPT_RIGHT: opt->me = RIGHT; break;
    case OPT_TYPE: opt->type = parse_type(arg); break;
    case OPT_QPS: opt->qps = n; break;
    case OPT_MTU: opt->mtu = n; break;
    case OPT_PSN: opt->psn[LEFT] = n; break;
    case OPT_PEER_PSN: opt->psn[RIGHT] = n; break;
    case OPT_MIN_RNR: opt->min_rnr = n; break;
    case OPT_TIMEOUT: opt->timeout = n; break;
    case OPT_RETRY: opt->retry = n; break;
    case OPT_RNR_RETRY: opt->rnr_retry = n; break;
    case OPT_RD_ATOMIC: opt->rd_atomic = n; break;
    case OPT_TCLASS: opt->tclass = n; break;
    case OPT_SRQ: opt->srq = true; break;
    case OPT_LOSSY: opt->lossy = true; break;
    case OPT_EXTENDED: opt->extended = true; break;
    case OPT_CM: opt->cm = CM_ACCEPT; break;
    case OPT_CM_REJECT: opt->cm = CM_REJECT; break;
    case OPT_CM_ABANDON: opt->cm = CM_ACCEPT, opt->disconnect = false; break;
    case OPT_GROUP: opt->group = arg; break;
    case OPT_PATIENCE: opt->patience = n; break;
    case OPT_IP: split(arg, opt->ip); break;
    case OPT_CONTROL: split(arg, opt->control); break;
    case OPT_SPEND: rig_spend_qpns(n); exit(0);
    case OPT_HELP: usage(); exit(0);
    default: usage(); exit(2);
    }
}

struct options parse_options(int argc, char **argv)
{
    struct options opt = {
        .me = -1,
        .control = {"198.51.100.1", "198.51.100.2"},
        .ip = {"192.0.2.1", "192.0.2.2"},
        .type = IBV_QPT_RC,
        .disconnect = true,
        .qps = 1,
        .mtu = 1024,
        .psn = {0x000100, 0x200000},
        .min_rnr = 12, /* 0.64 ms */
        .timeout = 17, /* 0.54 s: the guests are slow */
        .retry = 6,    /* 7 is endless on Linux 6.1 */
        .rnr_retry = 7,
        .rd_atomic = 4,
        .patience = 30,
    };
    int c;

    while ((c = getopt_long(argc, argv, "", long_options, NULL)) != -1)
        parse_option(&opt, c, optarg);
    if (opt.me < 0 || opt.qps < 1 || opt.qps > MAX_QPS) {
        usage();
        exit(2);
    }
    return opt;
}
