/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Preload of exec: replaces the exec functions of the C library, as preload.c does for _exit().
 * exec runs no destructors, so the device must send its delayed acknowledgements before exec. If
 * exec fails, the program continues, and nothing is lost.
 *
 * A program may start another one with its own LD_PRELOAD or LD_LIBRARY_PATH
 * ("LD_PRELOAD=librspreload.so iperf -s"). The functions then add our library or folder again, so
 * the other program runs on the device too. A program that removes these variables (env -i) runs
 * without the device.
 *
 * The functions do not call dlsym(), because the child of a vfork() may call them. Such a child
 * runs in the memory of its parent and has no device; rnic_preload_before_exit() checks that.
 */
#include <alloca.h>
#include <dlfcn.h>
#include <limits.h>
#include <stdarg.h>
#include <stdbool.h>
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

/* Variables of the dynamic linker that rnic-run sets, with the value that rnic-run adds. */
static struct linker_variable {
    const char *name;   /* name of the variable, with the '=' */
    char own[PATH_MAX]; /* value that rnic-run adds; empty: unknown */
    bool first;         /* true: `own` precedes the values of the program; false: it follows them */
} linker_variables[] = {{.name = "LD_PRELOAD="}, {.name = "LD_LIBRARY_PATH=", .first = true}};

/* Stores the file name and the folder of this library in the form that rnic-run uses. LD_PRELOAD
 * cannot contain a path with a space. If the path has one, stores only the name of the file. */
static void note_own_path(void)
{
    struct linker_variable *preload = &linker_variables[0], *folder = &linker_variables[1];
    const char *file;
    Dl_info info;

    if (!dladdr(linker_variables, &info) || !info.dli_fname)
        return;
    file = strrchr(info.dli_fname, '/');
    if (!file || strlen(info.dli_fname) >= PATH_MAX)
        return;
    strcpy(preload->own, strchr(info.dli_fname, ' ') ? file + 1 : info.dli_fname);
    memcpy(folder->own, info.dli_fname, (size_t)(file - info.dli_fname));
}

__attribute__((constructor)) static void find_next_functions(void)
{
    void *found[] = {dlsym(RTLD_NEXT, "execve"), dlsym(RTLD_NEXT, "execvpe"),
                     dlsym(RTLD_NEXT, "fexecve")};

    if (next_execve)
        return;
    note_own_path();
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

/* If `entry` of an environment sets a variable of linker_variables without our value, returns the
 * variable; otherwise NULL. */
static const struct linker_variable *replaced_variable(const char *entry)
{
    for (size_t i = 0; i < sizeof(linker_variables) / sizeof(linker_variables[0]); i++) {
        const struct linker_variable *v = &linker_variables[i];

        if (strncmp(entry, v->name, strlen(v->name)) == 0)
            return *v->own && !strstr(entry, v->own) ? v : NULL;
    }
    return NULL;
}

/* Returns the number of bytes that the changed entries of the environment need. Sets *cnt to the
 * number of all entries, including the NULL at the end. */
static size_t measure_environment(char *const envp[], size_t *cnt)
{
    size_t room = 1;

    *cnt = 1;
    for (; envp && *envp; envp++, ++*cnt) {
        const struct linker_variable *v = replaced_variable(*envp);

        room += v ? strlen(*envp) + strlen(v->own) + 2 : 0;
    }
    return room;
}

/* Copies the environment to `copy`. An entry that lacks our value is written to `room` with our
 * value added. */
static void copy_environment(char *const envp[], char **copy, char *room)
{
    for (; envp && *envp; envp++) {
        const struct linker_variable *v = replaced_variable(*envp);
        const char *value = v ? *envp + strlen(v->name) : NULL;

        *copy++ = v ? room : *envp;
        if (!v)
            continue;
        room = stpcpy(room, v->name);
        room = stpcpy(room, v->first ? v->own : value);
        room = stpcpy(room, *value ? ":" : "");
        room = stpcpy(room, v->first ? value : v->own) + 1;
    }
    *copy = NULL;
}

/* Calls an exec function with an environment in which the program finds the device. Uses alloca(),
 * because the child of a vfork() must not call malloc(). */
#define EXEC(next, file, argv, envp)                                                               \
    do {                                                                                           \
        size_t cnt, len;                                                                           \
        char **copy, *room;                                                                        \
                                                                                                   \
        before_exec();                                                                             \
        len = measure_environment(envp, &cnt);                                                     \
        copy = alloca(cnt * sizeof(*copy));                                                        \
        room = alloca(len);                                                                        \
        copy_environment(envp, copy, room);                                                        \
        return next(file, argv, copy);                                                             \
    } while (0)

int execve(const char *path, char *const argv[], char *const envp[])
{
    EXEC(next_execve, path, argv, envp);
}

int execvpe(const char *file, char *const argv[], char *const envp[])
{
    EXEC(next_execvpe, file, argv, envp);
}

int fexecve(int fd, char *const argv[], char *const envp[])
{
    EXEC(next_fexecve, fd, argv, envp);
}

int execv(const char *path, char *const argv[])
{
    return execve(path, argv, environ);
}

int execvp(const char *file, char *const argv[])
{
    return execvpe(file, argv, environ);
}

/* Returns the number of arguments: `arg`, those in `args`, and the NULL at their end. */
static size_t count_args(const char *arg, va_list args)
{
    size_t cnt = 1;

    for (; arg; cnt++)
        arg = va_arg(args, const char *);
    return cnt;
}

/* Copies the arguments to an array in the format of execv(). Afterwards, the next va_arg() of
 * `args` returns the argument after the NULL. */
static void fill_argv(char **argv, const char *arg, va_list *args)
{
    union {
        const char *in;
        char *out;
    } word = {.in = arg};

    for (*argv++ = word.out; word.in; *argv++ = word.out)
        word.in = va_arg(*args, const char *);
}

/* Calls va_start() for `args`, and sets `argv` to an array of the arguments from `arg` to the NULL.
 * Uses alloca(), because the child of a vfork() must not call malloc(). */
#define COLLECT_ARGV(argv, arg, args)                                                              \
    do {                                                                                           \
        va_start(args, arg);                                                                       \
        argv = alloca(count_args(arg, args) * sizeof(*argv));                                      \
        va_end(args);                                                                              \
        va_start(args, arg);                                                                       \
        fill_argv(argv, arg, &args);                                                               \
    } while (0)

int execl(const char *path, const char *arg, ...)
{
    va_list args;
    char **argv;

    COLLECT_ARGV(argv, arg, args);
    va_end(args);
    return execv(path, argv);
}

int execlp(const char *file, const char *arg, ...)
{
    va_list args;
    char **argv;

    COLLECT_ARGV(argv, arg, args);
    va_end(args);
    return execvp(file, argv);
}

int execle(const char *path, const char *arg, ...)
{
    va_list args;
    char *const *envp;
    char **argv;

    COLLECT_ARGV(argv, arg, args);
    envp = va_arg(args, char *const *);
    va_end(args);
    return execve(path, argv, envp);
}
