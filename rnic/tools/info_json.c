/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* JSON output of rnic-info: devices, processes and limits. */
#include "info.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* text printed before the next member or element: "" before the first one, otherwise "," */
static const char *comma = "";

static void print_comma(void)
{
    fputs(comma, stdout);
    comma = ",";
}

/* Prints a name that the kernel or a program chose. Bytes that are not ASCII are printed as
 * question marks, because they may not be UTF-8. */
static void print_text(const char *text)
{
    putchar('"');
    for (; *text; text++) {
        unsigned char c = (unsigned char)*text;
        if (c == '"' || c == '\\')
            putchar('\\');
        putchar(c < 0x20 || c >= 0x7F ? '?' : c);
    }
    putchar('"');
}

static void put_number(const char *name, uint64_t value)
{
    print_comma();
    printf("\"%s\":%" PRIu64, name, value);
}

static void put_text(const char *name, const char *text)
{
    print_comma();
    printf("\"%s\":", name);
    print_text(text);
}

/* Prints the opening bracket of an array or object. `name` is its name, or NULL for an element of
 * an array. */
static void open_bracket(const char *name, char bracket)
{
    print_comma();
    if (name)
        printf("\"%s\":", name);
    putchar(bracket);
    comma = "";
}

static void close_bracket(char bracket)
{
    putchar(bracket);
    comma = ",";
}

static void put_device(const struct rnic_iface *iface)
{
    char text[64];
    open_bracket(NULL, '{');
    snprintf(text, sizeof text, "rnic_%s", iface->name);
    put_text("device", text);
    put_text("interface", iface->name);
    print_comma();
    printf("\"up\":%s", iface->up ? "true" : "false");
    put_number("mtu", iface->mtu);
    put_number("path_mtu", iface->path_mtu);
    snprintf(text, sizeof text, "%02x:%02x:%02x:%02x:%02x:%02x", iface->mac[0], iface->mac[1],
             iface->mac[2], iface->mac[3], iface->mac[4], iface->mac[5]);
    put_text("mac", text);
    open_bracket("gids", '[');
    for (unsigned i = 0; i < iface->gid_cnt && i < RNIC_GID_MAX; i++) {
        const uint8_t *gid = iface->gid[i].gid;
        size_t len = 0;
        open_bracket(NULL, '{');
        put_number("index", i);
        put_text("type", iface->gid[i].type == RNIC_GID_ROCE_V2 ? "RoCEv2" : "RoCEv1");
        for (unsigned b = 0; b < 16; b += 2)
            len += (size_t)snprintf(text + len, sizeof text - len, "%s%02x%02x", b ? ":" : "",
                                    gid[b], gid[b + 1]);
        put_text("gid", text);
        close_bracket('}');
    }
    close_bracket(']');
    close_bracket('}');
}

static void put_counters(char *at)
{
    char *line, name[64];
    uint64_t value;
    open_bracket("counters", '{');
    while ((line = info_next_line(&at, "counter")) != NULL)
        if (sscanf(line, "%63[a-z0-9_] %" SCNu64, name, &value) == 2)
            put_number(name, value);
    close_bracket('}');
}

static void put_qps(char *at)
{
    struct info_qp qp;
    open_bracket("qps", '[');
    while (info_next_qp(&at, &qp)) {
        open_bracket(NULL, '{');
        put_number("lqpn", qp.number);
        put_text("type", qp.type);
        put_text("state", qp.state);
        if (qp.path_mtu) {
            put_number("rqpn", qp.peer);
            put_number("path_mtu", qp.path_mtu);
        }
        put_number("sq_psn", qp.sq_psn);
        put_number("rq_psn", qp.rq_psn);
        put_number("send_wr", qp.send_wr);
        put_number("recv_wr", qp.recv_wr);
        close_bracket('}');
    }
    close_bracket(']');
}

/* Calls put() with a copy of `text`, because info_next_line() changes the text. */
static void put_part(const char *text, void (*put)(char *at))
{
    char *copy = strdup(text);
    if (copy)
        put(copy);
    free(copy);
}

static void put_objects(char *at)
{
    unsigned contexts, qps, cqs, srqs;
    char *line = info_next_line(&at, "res");
    if (!line || sscanf(line, "%u %u %u %u", &contexts, &qps, &cqs, &srqs) != 4)
        return;
    open_bracket("objects", '{');
    put_number("ctx", contexts);
    put_number("qp", qps);
    put_number("cq", cqs);
    put_number("srq", srqs);
    close_bracket('}');
}

static void put_process(const struct rnic_process *process, const char *comm, char *text)
{
    char device[64];
    open_bracket(NULL, '{');
    snprintf(device, sizeof device, "rnic_%s", process->iface);
    put_text("device", device);
    put_number("pid", (uint64_t)process->pid);
    put_text("comm", comm);
    put_part(text, put_objects);
    put_part(text, put_qps);
    put_part(text, put_counters);
    close_bracket('}');
}

int info_json(void)
{
    int bad;
    comma = "";
    open_bracket(NULL, '{');
    put_number("schema_version", 1);
    open_bracket("devices", '[');
    bad = info_devices(put_device);
    close_bracket(']');
    open_bracket("processes", '[');
    bad |= info_processes(put_process);
    close_bracket(']');
    open_bracket("limits", '{');
    bad |= info_limits(put_number);
    close_bracket('}');
    close_bracket('}');
    putchar('\n');
    return bad;
}
