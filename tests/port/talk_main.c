/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * port_talk FILE [IMPAIR]: records a conversation on the loopback of a separate namespace, for
 * tests that check the capture with other programs.
 */
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>
#include "netns.h"
#include "talk.h"

int main(int argc, char **argv)
{
    char folder[4096];
    struct talk talk = {.iface = "lo",
                        .record = folder,
                        .impair = argc > 2 ? argv[2] : NULL,
                        .shared = true,
                        .rounds = 10,
                        .size = 20000,
                        .path_mtu = 1024,
                        .polls = true};
    pid_t pid[2];
    int pair[2], failed;

    if (argc < 2) {
        fprintf(stderr, "port_talk FILE [IMPAIR]\n");
        return 2;
    }
    snprintf(folder, sizeof(folder), "%s.d", argv[1]);
    if (!netns_enter())
        return NETNS_SKIP;
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) < 0)
        return 1;
    for (int i = 0; i < 2; i++) {
        pid[i] = fork();
        if (pid[i] == 0) {
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            talk.client = i == 1;
            talk.fd = pair[i];
            close(pair[1 - i]);
            _exit(talk_play(&talk) ? 0 : 1);
        }
    }
    close(pair[0]);
    close(pair[1]);
    failed = netns_wait(pid[0]) | netns_wait(pid[1]);
    return talk_join_recordings(folder, argv[1]) ? failed : 1;
}
