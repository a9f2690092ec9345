/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "util/sandbox.h"

#include <stdio.h>

#ifdef HAVE_SECCOMP
#include <errno.h>
#include <sched.h>
#include <seccomp.h>
#include <string.h>
#include <unistd.h>

/* System calls that start programs, access other processes, or change the kernel's state. */
static const int process_calls[] = {
    SCMP_SYS(execve),
    SCMP_SYS(execveat),
    SCMP_SYS(fork),
    SCMP_SYS(vfork),
    SCMP_SYS(kill),
    SCMP_SYS(tkill),
    SCMP_SYS(rt_sigqueueinfo),
    SCMP_SYS(rt_tgsigqueueinfo),
    SCMP_SYS(pidfd_open),
    SCMP_SYS(pidfd_getfd),
    SCMP_SYS(pidfd_send_signal),
    SCMP_SYS(ptrace),
    SCMP_SYS(process_vm_readv),
    SCMP_SYS(process_vm_writev),
    SCMP_SYS(setns),
    SCMP_SYS(unshare),
    SCMP_SYS(mount),
    SCMP_SYS(umount2),
    SCMP_SYS(pivot_root),
    SCMP_SYS(chroot),
    SCMP_SYS(bpf),
    SCMP_SYS(perf_event_open),
    SCMP_SYS(userfaultfd),
    SCMP_SYS(io_uring_setup),
    SCMP_SYS(keyctl),
    SCMP_SYS(add_key),
    SCMP_SYS(request_key),
    SCMP_SYS(init_module),
    SCMP_SYS(finit_module),
    SCMP_SYS(delete_module),
    SCMP_SYS(kexec_load),
    SCMP_SYS(reboot),
    SCMP_SYS(chmod),
    SCMP_SYS(fchmod),
    SCMP_SYS(fchmodat),
    SCMP_SYS(chown),
    SCMP_SYS(fchown),
    SCMP_SYS(fchownat),
    SCMP_SYS(setuid),
    SCMP_SYS(setgid),
    SCMP_SYS(setxattr),
    SCMP_SYS(name_to_handle_at),
    SCMP_SYS(open_by_handle_at),
    SCMP_SYS(memfd_create),
};

static const int network_calls[] = {
    SCMP_SYS(socket),   SCMP_SYS(socketpair), SCMP_SYS(connect), SCMP_SYS(bind),
    SCMP_SYS(listen),   SCMP_SYS(accept),     SCMP_SYS(accept4), SCMP_SYS(sendto),
    SCMP_SYS(sendmsg),  SCMP_SYS(sendmmsg),   SCMP_SYS(recvmsg), SCMP_SYS(recvmmsg),
    SCMP_SYS(recvfrom),
};

/* Forbids the system calls of a list. Skips calls that this architecture does not have. */
static int forbid_calls(scmp_filter_ctx filter, const int *calls, size_t cnt)
{
    int rc = 0;

    for (size_t i = 0; i < cnt && rc == 0; i++)
        rc = seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM), calls[i], 0);
    return rc;
}

/* Forbids new processes, but not new threads. For clone(), checks the flag CLONE_THREAD. A filter
 * cannot read the flags of clone3(), which are in memory: clone3() returns ENOSYS, and libc then
 * uses clone(). */
static int forbid_processes(scmp_filter_ctx filter)
{
    int rc = seccomp_rule_add(filter, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(clone3), 0);

    return rc != 0 ? rc
                   : seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(clone), 1,
                                      SCMP_A0(SCMP_CMP_MASKED_EQ, CLONE_THREAD, 0));
}

/* Forbids signals to other processes and access to their resource limits. Permits signals to the
 * own process, which abort() sends. */
static int forbid_others(scmp_filter_ctx filter)
{
    const scmp_datum_t self = (scmp_datum_t)getpid();
    int rc = seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(tgkill), 1,
                              SCMP_A0(SCMP_CMP_NE, self, 0));

    return rc != 0 ? rc
                   : seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(prlimit64), 1,
                                      SCMP_A0(SCMP_CMP_NE, 0, 0));
}

/* Returns 0 or a negative errno. */
static int load_filter(scmp_filter_ctx filter, bool network)
{
    int rc = forbid_calls(filter, process_calls, sizeof(process_calls) / sizeof(int));

    if (rc == 0)
        rc = forbid_processes(filter);
    if (rc == 0)
        rc = forbid_others(filter);
    if (rc == 0 && !network)
        rc = forbid_calls(filter, network_calls, sizeof(network_calls) / sizeof(int));
    return rc != 0 ? rc : seccomp_load(filter);
}

bool sandbox_enter(const char *command, bool network)
{
    scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);
    int rc = filter ? load_filter(filter, network) : -ENOMEM;

    if (filter)
        seccomp_release(filter);
    if (rc != 0)
        cli_error("%s: warning: no sandbox: %s", command, strerror(-rc));
    return rc == 0;
}

void sandbox_library(char *buf, size_t size)
{
    const struct scmp_version *version = seccomp_version();

    snprintf(buf, size, "%u.%u.%u", version->major, version->minor, version->micro);
}

#else

bool sandbox_enter(const char *command, bool network)
{
    (void)command;
    (void)network;
    return false;
}

void sandbox_library(char *buf, size_t size)
{
    snprintf(buf, size, "none");
}
#endif
