/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Hang: opens a device, then waits forever in two threads and in a child process with a separate
 * process group. The test of stacks.py requires that it finds all these threads.
 */
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>
#include "endpoint.h"

static pthread_mutex_t held = PTHREAD_MUTEX_INITIALIZER;

__attribute__((noinline)) static void *wants_the_lock(void *arg)
{
    int seen_in_the_stack = 4711;
    pthread_mutex_lock(&held);
    printf("%d\n", seen_in_the_stack);
    return arg;
}

__attribute__((noinline)) static void child_waits(void)
{
    setpgid(0, 0);
    for (;;)
        pause();
}

int main(void)
{
    pthread_t thread;
    struct ibv_context *context = endpoint_device(NULL);
    if (fork() == 0)
        child_waits();
    pthread_mutex_lock(&held);
    if (!context || pthread_create(&thread, NULL, wants_the_lock, NULL))
        die("no thread");
    printf("hangs\n");
    fflush(stdout);
    pthread_join(thread, NULL);
    return 0;
}
