/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "tools/watch.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "base/clock.h"
#include "pcapng/pcapng.h"
#include "pcapng/pcapng_merge.h"
#include "wire/pkt.h"

#define PERIOD_NS 10000000 /* time between two reads of the recordings, ns */
/* maximum time from the kernel's time stamp of a received frame until its process records the
 * frame, ns */
#define LATE_NS   50000000u
#define GIVE_BACK (1u << 20) /* bytes of a recording that are read before their space is freed */
/* while more bytes than this are recorded but not yet judged, the programs wait */
#define BACKLOG (256u << 20)
/* If more bytes of frames than this wait in the merge, all of them are passed on. Frames wait for a
 * process that does not run: its latest mark (pcapng_merge.h) is older than these frames, so it may
 * still record earlier frames. */
#define WAIT_MAX    (BACKLOG / 2)
#define READ_BYTES  (256u * 1024)
#define COMMENT_LEN 512u
#define SECTION_LEN (COMMENT_LEN + 128)
#define HELD_MAX    65536u /* limit of the blocks before the first RoCE packet */

/* A recording (of one interface of one process), which is read while it grows. */
struct tail {
    struct tail *next;
    char name[64];
    long pid;
    int fd;
    int stream; /* number of the recording in the merge (pcapng_merge_add()); -1: the recording
                 * cannot be read */
    uint64_t read, given_back;
};

struct watch {
    struct run_folder *folder;
    unsigned unreadable; /* number of recordings that could not be read */
    uint64_t read;       /* bytes read from all recordings */
    char rocedrill[PATH_MAX];
    const char *name; /* name of the packets in the report */
    struct pcapng_merge *merge;
    struct tail *tails;
    uint8_t *buf;
    FILE *copy;
    bool copy_failed;
    uint8_t held[HELD_MAX]; /* blocks before the first RoCE packet, not yet passed on */
    size_t held_len;
    bool opened;               /* a program opened a device, and therefore began a recording */
    char comment[COMMENT_LEN]; /* comment of the copy, padded with spaces; "": none */
    bool begun;                /* the section header of the copy was written */
    int to;                    /* pipe to the validator; -1: the validator is not running */
    pid_t validator;
    pthread_t thread;
    atomic_bool over;
};

/* Returns the present time in the clock from which the recordings have their time stamps, ns. */
static uint64_t record_time(const struct watch *watch)
{
    return rnic_clock_ns(CLOCK_MONOTONIC) + watch->folder->tally.tally->utc_offset;
}

/* ---- running the validator ------------------------------------------------------------------- */

static void start_validator(struct watch *watch)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) < 0)
        return;
    watch->validator = fork();
    if (watch->validator == 0) {
        sigset_t none;
        sigemptyset(&none);
        pthread_sigmask(SIG_SETMASK, &none, NULL);
        signal(SIGINT, SIG_IGN); /* Ctrl-C must end only the program: the validator still has to
                                  * report its verdict */
        signal(SIGTERM, SIG_DFL);
        signal(SIGHUP, SIG_DFL);
        dup2(ends[0], STDIN_FILENO);
        execlp(watch->rocedrill, watch->rocedrill, "check", "--immediate", "--name", watch->name,
               "-", (char *)NULL);
        _exit(errno == ENOENT ? 127 : 126);
    }
    close(ends[0]);
    if (watch->validator < 0)
        close(ends[1]);
    else
        watch->to = ends[1];
}

/* Stores the number of recorded bytes that were passed to the validator in the tally. A program
 * that waits because of the backlog reads this number and continues. */
static void note_progress(struct watch *watch)
{
    atomic_store(&watch->folder->tally.tally->consumed,
                 watch->read - pcapng_merge_waiting(watch->merge));
}

/* Writes the section header of the copy, with its comment. */
static void write_header(struct watch *watch)
{
    uint8_t section[SECTION_LEN];
    size_t len = pcapng_section_with(section, sizeof section, PCAPNG_RNIC, watch->comment);
    if (fwrite(section, 1, len, watch->copy) != len)
        watch->copy_failed = true;
}

/* Adds a block to the copy of the merged recording. If the copy has a comment, the first block,
 * which is a section header, is replaced: write_header() writes one of fixed length, so that
 * end_copy() can overwrite it with another one that has the final comment. */
static void copy_block(struct watch *watch, const uint8_t *block, size_t len)
{
    if (!watch->begun && *watch->comment)
        write_header(watch);
    else if (fwrite(block, 1, len, watch->copy) != len)
        watch->copy_failed = true;
    watch->begun = true;
}

static void set_comment(struct watch *watch, const char *comment)
{
    snprintf(watch->comment, sizeof watch->comment, "%-*s", (int)sizeof watch->comment - 1,
             comment);
}

/* Overwrites the comment of the copy by the final comment. This is impossible if the copy is a
 * pipe. */
static void end_copy(struct watch *watch, const char *comment)
{
    if (comment && *watch->comment && watch->begun && fseek(watch->copy, 0, SEEK_SET) == 0) {
        set_comment(watch, comment);
        write_header(watch);
    }
    watch->copy_failed |= fflush(watch->copy) != 0;
}

/* Writes bytes to the pipe to the validator. */
static void write_to_validator(struct watch *watch, const uint8_t *block, size_t len)
{
    while (watch->to >= 0 && len > 0) {
        ssize_t done = write(watch->to, block, len);
        if (done < 0 && errno == EINTR)
            continue;
        if (done <= 0) { /* the validator has ended; watch_end() reads its exit status */
            close(watch->to);
            watch->to = -1;
            break;
        }
        block += done;
        len -= (size_t)done;
    }
}

/* Passes a section header with the comment about --impair to the validator. */
static void give_comment(struct watch *watch, const char *comment)
{
    uint8_t section[SECTION_LEN];
    write_to_validator(watch, section,
                       pcapng_section_with(section, sizeof section, PCAPNG_RNIC, comment));
}

static bool has_roce_packet(const uint8_t *block, size_t len)
{
    static const size_t head = 28, tail = 4; /* bytes of an enhanced packet block */
    struct roce_pkt pkt;
    if (len < head + tail || roce_le32_get(block) != PCAPNG_PACKET)
        return false;
    size_t cap_len = roce_le32_get(block + 20), wire_len = roce_le32_get(block + 24);
    return cap_len <= len - head - tail && cap_len <= wire_len &&
           roce_pkt_parse(&pkt, ROCE_LINK_ETHERNET, block + head, cap_len, wire_len) !=
               ROCE_ERR_NOT_ROCE;
}

/* Keeps a block for the validator. Returns false if there is no room. */
static bool hold(struct watch *watch, const uint8_t *block, size_t len)
{
    if (len > HELD_MAX - watch->held_len)
        return false;
    memcpy(watch->held + watch->held_len, block, len);
    watch->held_len += len;
    return true;
}

/* Passes one block of the merged recording to the copy and to the validator. The validator starts
 * with the first RoCE packet, because it cannot judge a capture without one; blocks before it are
 * kept. The validator gets the comment of watch_start() first, so that its messages during the run
 * are right, too. */
static void give(void *user, const uint8_t *block, size_t len)
{
    struct watch *watch = user;
    if (watch->copy)
        copy_block(watch, block, len);
    if (!watch->validator && !has_roce_packet(block, len) && hold(watch, block, len))
        return;
    if (!watch->validator) {
        start_validator(watch);
        if (*watch->comment)
            give_comment(watch, watch->comment);
        write_to_validator(watch, watch->held, watch->held_len);
    }
    note_progress(watch);
    write_to_validator(watch, block, len);
}

/* ---- reading the recordings ------------------------------------------------------------------ */

static void find_tails(struct watch *watch)
{
    DIR *folder = opendir(watch->folder->path);
    struct dirent *entry;
    while (folder && (entry = readdir(folder)) != NULL) {
        struct tail *tail = watch->tails;
        if (!strstr(entry->d_name, ".pcapng") || strlen(entry->d_name) >= sizeof tail->name)
            continue;
        while (tail && strcmp(tail->name, entry->d_name) != 0)
            tail = tail->next;
        if (tail || !(tail = calloc(1, sizeof *tail)))
            continue;
        strcpy(tail->name, entry->d_name);
        tail->pid = strtol(tail->name, NULL, 10);
        tail->fd = openat(dirfd(folder), tail->name, O_RDWR | O_CLOEXEC);
        tail->stream = tail->fd < 0 ? -1 : pcapng_merge_add(watch->merge);
        watch->unreadable += tail->stream < 0;
        tail->next = watch->tails;
        watch->tails = tail;
        watch->opened = true;
    }
    if (folder)
        closedir(folder);
}

/* Frees the disk space of the bytes already read, if the file system can do that. */
static void give_back(struct tail *tail)
{
    uint64_t until = tail->read & ~UINT64_C(4095);
    if (until - tail->given_back < GIVE_BACK)
        return;
    (void)fallocate(tail->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)tail->given_back,
                    (off_t)(until - tail->given_back));
    tail->given_back = until;
}

static void read_tail(struct watch *watch, struct tail *tail)
{
    ssize_t got = 0;
    while (tail->stream >= 0 && (got = read(tail->fd, watch->buf, READ_BYTES)) > 0) {
        tail->read += (uint64_t)got;
        watch->read += (uint64_t)got;
        if (pcapng_merge_feed(watch->merge, tail->stream, watch->buf, (size_t)got) < 0) {
            tail->stream = -1;
            watch->unreadable++;
        }
        give_back(tail);
    }
    if (tail->stream >= 0 && got < 0) {
        pcapng_merge_end(watch->merge, tail->stream);
        tail->stream = -1;
        watch->unreadable++;
    }
}

static void drop_tail(struct watch *watch, struct tail **at)
{
    struct tail *tail = *at;
    char path[PATH_MAX + sizeof tail->name + 1];
    if (tail->stream >= 0)
        pcapng_merge_end(watch->merge, tail->stream);
    snprintf(path, sizeof path, "%s/%s", watch->folder->path, tail->name);
    unlink(path);
    if (tail->fd >= 0)
        close(tail->fd);
    *at = tail->next;
    free(tail);
}

/* Reads the new data of all recordings. The recording of a process that has ended is then
 * closed. */
static void read_all(struct watch *watch)
{
    find_tails(watch);
    for (struct tail **at = &watch->tails; *at;) {
        bool gone = kill((pid_t)(*at)->pid, 0) < 0 && errno == ESRCH;
        read_tail(watch, *at);
        if (gone)
            drop_tail(watch, at);
        else
            at = &(*at)->next;
    }
    note_progress(watch);
}

static void *run(void *user)
{
    struct watch *watch = user;
    const struct timespec period = {.tv_nsec = PERIOD_NS};
    for (bool over = false; !over;) {
        over = atomic_load(&watch->over);
        if (!over)
            nanosleep(&period, NULL);
        uint64_t now = record_time(watch);
        read_all(watch);
        if (over || pcapng_merge_waiting(watch->merge) > WAIT_MAX)
            now = UINT64_MAX;
        pcapng_merge_take(watch->merge, now == UINT64_MAX ? now : now - LATE_NS, give, watch);
    }
    return NULL;
}

/* ---- starting and ending the check ----------------------------------------------------------- */

static void free_watch(struct watch *watch)
{
    while (watch->tails)
        drop_tail(watch, &watch->tails);
    pcapng_merge_del(watch->merge);
    if (watch->copy)
        fclose(watch->copy);
    free(watch->buf);
    free(watch);
}

struct watch *watch_start(struct run_folder *folder, const char *rocedrill, const char *copy,
                          const char *comment)
{
    struct watch *watch = calloc(1, sizeof *watch);
    if (!watch)
        return NULL;
    watch->to = -1;
    snprintf(watch->rocedrill, sizeof watch->rocedrill, "%s", rocedrill);
    watch->name = copy ? copy : "packets of rnic-run";
    watch->folder = folder;
    atomic_store(&folder->tally.tally->limit, BACKLOG);
    watch->merge = pcapng_merge_new();
    watch->buf = malloc(READ_BYTES);
    watch->copy = copy ? fopen(copy, "we") : NULL;
    if (comment)
        set_comment(watch, comment);
    int error = watch->merge && watch->buf ? errno : ENOMEM;
    if (watch->merge && watch->buf && (watch->copy || !copy)) {
        sigset_t all, before; /* Block all signals in the new thread, because the main thread
                               * handles them. A write to a pipe that nothing reads then fails with
                               * EPIPE instead of ending the process. */
        sigfillset(&all);
        pthread_sigmask(SIG_SETMASK, &all, &before);
        error = pthread_create(&watch->thread, NULL, run, watch);
        pthread_sigmask(SIG_SETMASK, &before, NULL);
        if (error == 0)
            return watch;
    }
    free_watch(watch);
    errno = error;
    return NULL;
}

void watch_end(struct watch *watch, const char *comment, struct watch_result *result)
{
    int status = 0;
    atomic_store(&watch->over, true);
    pthread_join(watch->thread, NULL);
    *result = (struct watch_result){
        .nothing = watch->validator == 0, .opened = watch->opened, .unreadable = watch->unreadable};
    if (comment)
        give_comment(watch, comment);
    if (watch->to >= 0)
        close(watch->to);
    if (watch->validator > 0)
        while (waitpid(watch->validator, &status, 0) < 0 && errno == EINTR)
            ;
    if (watch->copy)
        end_copy(watch, comment);
    result->copied = !watch->copy_failed;
    bool started = watch->validator > 0;
    free_watch(watch);
    if (!started)
        result->verdict = result->nothing ? 2 : 126;
    else
        result->verdict = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
