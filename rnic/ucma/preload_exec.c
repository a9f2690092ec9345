/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Preload of exec: replaces the exec functions of the C library, as preload.c does for _exit().
 * exec runs no destructors, so the device must send its delayed acknowledgements before exec. If
 * exec fails, the program continues, and nothing is lost.
 *
 * The functions do not call dlsym(), because the child of a vfork() may call them. Such a child
 * runs in the memory of its parent and has no device; rnic_preload_before_exit() checks that.
 */
#include <alloca.h>
#include <dlfcn.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

EXPORT int execve(const char *path, char *const argv[], char *const envp[]);
EXPORT int execv(const char *path, char *const argv[]);
EXPORT int execvp(const char *file, char *const argv[]);
EXPORT int execvpe(const char *file, char *const argv[], char *const envp[]);
EXPORT int fexecve(int fd, char *const argv[], char *const envp[]);
EXPORT int execl(const char *path, const char *arg, ...);
EXPORT int execlp(const char *file, const char *arg, ...);
EXPORT int execle(const char *path, const char *arg, ...);

extern void (*rnic_preload_before_exit)(void); /* defined in preload.c */

static int (*next_execve)(const char *, char *const[], char *const[]);
static int (*next_execvpe)(const char *, char *const[], char *const[]);
static int (*next_fexecve)(int, char *const[], char *const[]);

__attribute__((constructor)) static void find_next_functions(void)
{
    void *found[] = {dlsym(RTLD_NEXT, "execve"), dlsym(RTLD_NEXT, "execvpe"),
                     dlsym(RTLD_NEXT, "fexecve")};

    if (next_execve)
        return;
    /* copy dlsym()'s object pointers to function pointers, as POSIX allows */
    memcpy(&next_execve, &found[0], sizeof(next_execve));
    memcpy(&next_execvpe, &found[1], sizeof(next_execvpe));
    memcpy(&next_fexecve, &found[2], sizeof(next_fexecve));
}

static void before_exec(void)
{
    find_next_functions(); /* needed only if the constructor of another library calls exec before
                            * the one of this library ran */
    if (rnic_preload_before_exit)
        rnic_preload_before_exit();
}

int execve(const char *path, char *const argv[], char *const envp[])
{
    before_exec();
    return next_execve(path, argv, envp);
}

int execv(const char *path, char *const argv[])
{
    before_exec();
    return next_execve(path, argv, environ);
}

int execvp(const char *file, char *const argv[])
{
    before_exec();
    return next_execvpe(file, argv, environ);
}

int execvpe(const char *file, char *const argv[], char *const envp[])
{
    before_exec();
    return next_execvpe(file, argv, envp);
}

int fexecve(int fd, char *const argv[], char *const envp[])
{
    before_exec();
    return next_fexecve(fd, argv, envp);
}

/* Returns the number of arguments: `arg`, those in `args`, and the NULL at their end. */
static size_t count_args(const char *arg, va_list args)
{
    size_t cnt = 1;

    for (; arg; cnt++)
        arg = va_arg(args, const char *);
    return cnt;
}

/* Copies the arguments to an array in the format of execv(). */
static void fill_argv(char **argv, const char *arg, va_list args)
{
    union {
        const char *in;
        char *out;
    } word = {.in = arg};

    for (*argv++ = word.out; word.in; *argv++ = word.out)
        word.in = va_arg(args, const char *);
}

int execl(const char *path, const char *arg, ...)
{
    va_list args;
    char **argv;
    size_t cnt;

    va_start(args, arg);
    cnt = count_args(arg, args);
    va_end(args);
    argv = alloca(cnt * sizeof(*argv)); /* alloca(), because the child of a vfork() must not call
                                         * malloc() */
    va_start(args, arg);
    fill_argv(argv, arg, args);
    va_end(args);
    return execv(path, argv);
}

int execlp(const char *file, const char *arg, ...)
{
    va_list args;
    char **argv;
    size_t cnt;

    va_start(args, arg);
    cnt = count_args(arg, args);
    va_end(args);
    argv = alloca(cnt * sizeof(*argv)); /* alloca(), because the child of a vfork() must not call
                                         * malloc() */
    va_start(args, arg);
    fill_argv(argv, arg, args);
    va_end(args);
    return execvp(file, argv);
}

int execle(const char *path, const char *arg, ...)
{
    va_list args;
    char *const *envp;
    char **argv;
    size_t cnt;

    va_start(args, arg);
    cnt = count_args(arg, args);
    va_end(args);
    argv = alloca(cnt * sizeof(*argv)); /* alloca(), because the child of a vfork() must not call
                                         * malloc() */
    va_start(args, arg);
    fill_argv(argv, arg, args);
    envp = va_arg(args, char *const *);
    va_end(args);
    return execve(path, argv, envp);
}
