/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Runs a fuzz target without libFuzzer: first with every file of the given folders, then with a
 * number of mutations of these files. The driver prints the seed; the same seed reproduces the run.
 * If a check fails, it prints the input in hex.
 *
 *   fuzz_x [-runs=N] [-seed=N] [FOLDER|FILE]...
 */
#include <dirent.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include "fuzz.h"
#include "support/rng.h"

#define INPUT_MAX  8192 /* maximum length of an input, bytes; longer files are cut */
#define CORPUS_MAX 20000

struct input {
    uint8_t *p;
    size_t len;
};

static struct input corpus[CORPUS_MAX];
static size_t corpus_cnt;
static struct input current; /* input of the current call of the target, printed if a check fails */

static void report(int sig)
{
    fprintf(stderr, "input of %zu bytes: ", current.len);
    for (size_t i = 0; i < current.len; i++)
        fprintf(stderr, "%02x", current.p[i]);
    fprintf(stderr, "\n");
    signal(sig, SIG_DFL);
    raise(sig);
}

/* Runs the target on a copy of exactly `len` bytes, so that AddressSanitizer detects a read past
 * the end. */
static void run(const uint8_t *p, size_t len)
{
    current.p = malloc(len ? len : 1);
    current.len = len;
    if (!current.p)
        abort();
    memcpy(current.p, p, len);
    LLVMFuzzerTestOneInput(current.p, len);
    free(current.p);
}

static void add(const uint8_t *p, size_t len)
{
    struct input *in = &corpus[corpus_cnt];

    if (corpus_cnt == CORPUS_MAX)
        return;
    in->p = malloc(len ? len : 1);
    if (!in->p)
        abort();
    memcpy(in->p, p, len);
    in->len = len;
    corpus_cnt++;
}

static void load(const char *path)
{
    static uint8_t buf[INPUT_MAX];
    struct dirent *entry;
    struct stat st;
    DIR *dir;

    if (stat(path, &st) != 0)
        return; /* a missing folder is not an error: the corpus is then smaller */
    if (!S_ISDIR(st.st_mode)) {
        FILE *file = fopen(path, "rb");

        if (file) {
            add(buf, fread(buf, 1, sizeof(buf), file));
            fclose(file);
        }
        return;
    }
    dir = opendir(path);
    while (dir && (entry = readdir(dir))) {
        char name[4096];

        if (entry->d_name[0] == '.')
            continue;
        snprintf(name, sizeof(name), "%s/%s", path, entry->d_name);
        load(name);
    }
    if (dir)
        closedir(dir);
}

/* Makes one random change to the input of `len` bytes at `p`. Returns the new length. */
static size_t mutate(struct rng *rng, uint8_t *p, size_t len)
{
    static const uint16_t edges[] = {0, 1, 4, 0x7F, 0x80, 0xFF, 0x100, 0x7FFF, 0x8000, 0xFFFF};
    size_t at = len ? rng_below(rng, (uint32_t)len) : 0;

    switch (rng_below(rng, 7)) {
    case 0: /* cut the end off */ return at;
    case 1: /* append random bytes */
        while (len < INPUT_MAX && rng_below(rng, 8))
            p[len++] = (uint8_t)rng_u64(rng);
        return len;
    case 2: /* replace a byte by a random one */
        if (len)
            p[at] = (uint8_t)rng_u64(rng);
        return len;
    case 3: /* store an edge value as a 16-bit number */
        if (len - at >= 2 && len >= 2) {
            uint16_t v = edges[rng_below(rng, sizeof(edges) / sizeof(*edges))];

            p[at] = (uint8_t)(v >> 8);
            p[at + 1] = (uint8_t)v;
        }
        return len;
    case 4: /* add -4 to 4 to a byte */
        if (len)
            p[at] = (uint8_t)(p[at] + rng_below(rng, 9) - 4);
        return len;
    case 5: { /* replace all bytes after a random position by bytes of another input */
        const struct input *other = &corpus[rng_below(rng, (uint32_t)corpus_cnt)];

        if (other->len <= at)
            return len;
        memcpy(p + at, other->p + at, other->len - at);
        return other->len;
    }
    default: /* flip a bit */
        if (len)
            p[at] ^= (uint8_t)(1u << rng_below(rng, 8));
        return len;
    }
}

int main(int argc, char **argv)
{
    static const uint8_t zeros[64];
    static uint8_t buf[INPUT_MAX];
    unsigned long runs = 20000;
    const char *seed = NULL;
    struct rng rng;

    for (int i = 1; i < argc; i++) {
        if (strncmp(argv[i], "-runs=", 6) == 0)
            runs = strtoul(argv[i] + 6, NULL, 0);
        else if (strncmp(argv[i], "-seed=", 6) == 0)
            seed = argv[i] + 6;
        else
            load(argv[i]);
    }
    signal(SIGABRT, report);
    rng = seed ? rng_of(strtoull(seed, NULL, 0)) : rng_seed();
    printf("%zu inputs, %lu mutations\n", corpus_cnt, runs);
    fflush(stdout);
    for (size_t i = 0; i < corpus_cnt; i++)
        run(corpus[i].p, corpus[i].len);
    add(zeros, 0);
    add(zeros, sizeof(zeros));
    for (unsigned long i = 0; i < runs; i++) {
        const struct input *in = &corpus[rng_below(&rng, (uint32_t)corpus_cnt)];
        size_t len = in->len;

        memcpy(buf, in->p, len);
        do
            len = mutate(&rng, buf, len);
        while (rng_below(&rng, 3));
        run(buf, len);
    }
    for (size_t i = 0; i < corpus_cnt; i++)
        free(corpus[i].p);
    return 0;
}
