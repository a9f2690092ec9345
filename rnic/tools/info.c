/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * rnic-info: the devices that programs find on this machine, with their GIDs, and what the
 * processes that have one open say of themselves (counters and objects, as JSON). Exit status 0, or
 * 1 if something could not be found out.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "port/loop.h"

static void print_iface(const struct rnic_iface *iface)
{
    printf("rnic_%s: %s, interface MTU %" PRIu32 ", path MTU %" PRIu32
           ", MAC %02x:%02x:%02x:%02x:%02x:%02x\n",
           iface->name, iface->up ? "up" : "down", iface->mtu, iface->path_mtu, iface->mac[0],
           iface->mac[1], iface->mac[2], iface->mac[3], iface->mac[4], iface->mac[5]);
    for (unsigned i = 0; i < iface->gid_cnt && i < RNIC_GID_MAX; i++) {
        const uint8_t *gid = iface->gid[i].gid;
        printf("  GID %u %s ", i, iface->gid[i].type == RNIC_GID_ROCE_V2 ? "RoCEv2" : "RoCEv1");
        for (unsigned b = 0; b < 16; b += 2)
            printf("%s%02x%02x", b ? ":" : "", gid[b], gid[b + 1]);
        printf("\n");
    }
}

static int print_devices(void)
{
    struct rnic_iface *list = NULL;
    struct rnic_why why = {""};
    size_t cnt = 0;
    int result = rnic_iface_list(&list, &cnt, &why);
    if (result < 0) {
        fprintf(stderr, "rnic-info: no list of interfaces: %s\n",
                why.text[0] ? why.text : strerror(-result));
        return 1;
    }
    for (size_t i = 0; i < cnt; i++)
        if (list[i].path_mtu > 0)
            print_iface(&list[i]);
    free(list);
    return 0;
}

static int print_processes(void)
{
    struct rnic_process *list = NULL;
    size_t cnt = 0;
    int result = rnic_process_list(&list, &cnt);
    if (result < 0) {
        fprintf(stderr, "rnic-info: no list of processes: %s\n", strerror(-result));
        return 1;
    }
    for (size_t i = 0; i < cnt; i++)
        printf("process %d on rnic_%s %s\n", list[i].pid, list[i].iface, list[i].text);
    rnic_process_free(list, cnt);
    return 0;
}

int main(int argc, char **argv)
{
    bool help = argc == 2 && (strcmp(argv[1], "-h") == 0 || strcmp(argv[1], "--help") == 0);
    if (argc > 1) {
        fputs("usage: rnic-info\n"
              "Lists the devices of the software RNIC here, their GIDs, and who has them open.\n",
              help ? stdout : stderr);
        return help ? 0 : 2;
    }
    int devices = print_devices();
    return print_processes() || devices;
}
