/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* What reaches a terminal: no more than it shows, and nothing that steers it. */
#define _XOPEN_SOURCE 700 /* posix_openpt */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include "check/fit_terminal.h"
#include "replay/checkrun.h"
#include "support/suite.h"
#include "util/strbuf.h"

/* Exit status that ctest knows as skipped. */
#define SKIPPED 77

/* ---- names -------------------------------------------------------------------------------------
 */

static void what_others_chose_is_escaped(void)
{
    static const struct {
        const char *text, *shown;
    } cases[] = {
        {"plain name.pcap", "plain name.pcap"},
        {"", ""},
        {"a\nb\rc\td", "a\\nb\\rc\\td"},
        {"\x1b[2J\x7f", "\\x1b[2J\\x7f"},
        {"\303\251 \342\206\222 \360\237\230\200", "\303\251 \342\206\222 \360\237\230\200"},
        {"\302\233m", "\\xc2\\x9bm"},                 /* CSI of C1 */
        {"\377\233", "\\xff\\x9b"},                   /* no UTF-8 */
        {"\303", "\\xc3"},                            /* cut */
        {"\342\206", "\\xe2\\x86"},                   /* cut later */
        {"\300\233", "\\xc0\\x9b"},                   /* ESC in a form that is too long */
        {"\355\240\200", "\\xed\\xa0\\x80"},          /* half of a surrogate pair */
        {"\364\220\200\200", "\\xf4\\x90\\x80\\x80"}, /* past the last */
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char *shown = NULL;
        size_t len;
        FILE *out = open_memstream(&shown, &len);

        put_escaped(out, cases[i].text);
        fclose(out);
        CU_ASSERT_STRING_EQUAL(shown, cases[i].shown);
        free(shown);
    }
}

/* ---- rows --------------------------------------------------------------------------------------
 */

static void rows_are_counted_as_shown(void)
{
    static const struct {
        const char *text;
        unsigned columns, rows;
    } cases[] = {
        {"", 10, 0},
        {"\n", 10, 1},
        {"\n\n", 10, 2},
        {"one", 10, 1},
        {"one\n", 10, 1},
        {"one\ntwo", 10, 2},
        {"one\n\ntwo\n", 10, 3},
        {"0123456789\n", 10, 1}, /* full, and the next line begins on the next row */
        {"0123456789a\n", 10, 2},
        {"01234567890123456789\n", 10, 2},
        {"01234567890123456789a\nb\n", 10, 4},
        {"\342\206\222 34567890\n", 10, 1}, /* an arrow is three bytes and one column */
        {"\302\265\302\265\302\265\302\265\n", 4, 1},
        {"\302\265\302\265\302\265\302\265\302\265\n", 4, 2},
        {"\344\275\240\345\245\275\n", 4, 1}, /* two characters of two columns */
        {"\344\275\240\345\245\275\n", 3, 2}, /* the second does not fit in one */
        {"\377\377\377\n", 2, 2},             /* no UTF-8: as many signs as bytes */
        {"abc\n", 1, 3},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        if (screen_rows(cases[i].text, cases[i].columns) != cases[i].rows)
            suite_fail(__FILE__, __LINE__, "case %zu: expected %u rows, actual %u", i,
                       cases[i].rows, screen_rows(cases[i].text, cases[i].columns));
}

/* ---- the report on a terminal ------------------------------------------------------------------
 */

static void no_terminal_has_no_screen(void)
{
    struct screen screen;
    FILE *file = fopen("/dev/null", "w");

    CU_ASSERT_FALSE(screen_of(file, &screen));
    fclose(file);
}

static bool no_terminal; /* one could not be had */

/* Runs a shell command with a terminal for its output; what it wrote, for free(), or NULL where
 * there are no terminals. */
static char *on_terminal(unsigned rows, unsigned columns, const char *command)
{
    const struct winsize size = {.ws_row = (unsigned short)rows, .ws_col = (unsigned short)columns};
    int master = posix_openpt(O_RDWR | O_NOCTTY), slave;
    size_t len = 0, cap = 1 << 20;
    char *text = malloc(cap), *to = text;
    char line[4096];
    ssize_t got;
    pid_t pid;

    checkrun_path(""); /* sets $R, $C and $T */
    if (!text || master < 0 || grantpt(master) != 0 || unlockpt(master) != 0) {
        no_terminal = true; /* a bare chroot has no /dev/pts */
        if (master >= 0)
            close(master);
        free(text);
        return NULL;
    }
    slave = open(ptsname(master), O_RDWR | O_NOCTTY);
    CU_ASSERT_TRUE_FATAL(slave >= 0 && ioctl(slave, TIOCSWINSZ, &size) == 0);
    snprintf(line, sizeof(line), CHECKRUN_SHELL "%s", command);
    fflush(stdout);
    pid = fork();
    if (pid == 0) {
        dup2(slave, STDOUT_FILENO);
        dup2(slave, STDERR_FILENO);
        close(slave);
        close(master);
        execl("/bin/sh", "sh", "-c", line, (char *)NULL);
        _exit(127);
    }
    close(slave);
    while (len < cap - 1 && (got = read(master, text + len, cap - 1 - len)) > 0)
        len += (size_t)got;
    text[len] = '\0';
    close(master);
    waitpid(pid, NULL, 0);
    for (const char *from = text; *from; from++) /* the terminal's own line ends */
        if (*from != '\r')
            *to++ = *from;
    *to = '\0';
    return text;
}

static const char *last_line(const char *text)
{
    size_t len = strlen(text);

    while (len > 1 && text[len - 2] != '\n')
        len--;
    return text + (len ? len - 1 : 0);
}

/* Fails unless the text fits and ends with that. */
static void expect_fit(const char *text, unsigned rows, unsigned columns, const char *end,
                       const char *what)
{
    if (screen_rows(text, columns) > rows - 1)
        suite_fail(__FILE__, __LINE__, "%s takes %u rows of %u columns, not %u: %s", what,
                   screen_rows(text, columns), columns, rows - 1, text);
    if (strncmp(last_line(text), end, strlen(end)) != 0)
        suite_fail(__FILE__, __LINE__, "%s on %ux%u: the last line does not begin with \"%s\": %s",
                   what, columns, rows, end, text);
}

/* What a capture of the corpus must show on any screen, with room for it. */
static const struct {
    const char *capture, *shown;
} captures[] = {
    {"rc-loss-both", "what slowed it:\n"},        {"rc-reordering", "connections:\n"},
    {"rc-rnr-exhausted", "why it failed:\n"},     {"rc-flush-bad-rkey", "why it failed:\n"},
    {"cm-lost-peer", "why it failed:\n"},         {"multi-qp", "connections:\n"},
    {"rc-loss-atomic-write", " ERROR RC-REQ-"},   {"ibv-srq-pingpong", "connections:\n"},
    {"rc-reordered-responses", "connections:\n"},
};

static void a_report_fits_the_screen(void)
{
    static const struct {
        unsigned rows, columns;
    } screens[] = {{24, 80}, {20, 60}, {50, 200}, {31, 80}, {40, 100}};

    for (size_t i = 0; i < sizeof(captures) / sizeof(captures[0]); i++)
        for (size_t k = 0; k < sizeof(screens) / sizeof(screens[0]); k++) {
            const char *name = captures[i].capture;
            char command[256], *text;

            snprintf(command, sizeof(command), "cd $C; $R check %s.pcap", name);
            text = on_terminal(screens[k].rows, screens[k].columns, command);
            if (!text)
                return;
            expect_fit(text, screens[k].rows, screens[k].columns, "verdict: ", name);
            if (screens[k].columns >= 80 && !strstr(text, captures[i].shown))
                suite_fail(__FILE__, __LINE__, "%s on %ux%u: no \"%s\" in: %s", name,
                           screens[k].columns, screens[k].rows, captures[i].shown, text);
            free(text);
        }
}

/* However small it is: what the capture is, why it failed, what is left out, the verdict. */
static void a_tiny_screen_shows_why(void)
{
    char *text = on_terminal(5, 20, "cd $C; $R check rc-rnr-exhausted.pcap");

    if (!text)
        return;
    CU_ASSERT_EQUAL(strncmp(text, "rc-rnr-exhausted.pcap: ", 23), 0);
    CU_ASSERT_PTR_NOT_NULL(strstr(text, "\nwhy it failed:\n"));
    CU_ASSERT_PTR_NOT_NULL(strstr(text, "IBV_WC_RNR_RETRY_EXC_ERR"));
    CU_ASSERT_PTR_NOT_NULL(strstr(text, "\n... left out: 8 events, 1 connection, 5 kinds of "
                                        "findings (-v shows more)\nverdict: "));
    CU_ASSERT_PTR_NULL(strstr(text, "connections:"));
    CU_ASSERT_PTR_NULL(strstr(text, "findings:"));
    CU_ASSERT_EQUAL(strncmp(last_line(text), "verdict: ", 9), 0);
    free(text);
}

static unsigned count(const char *text, const char *word)
{
    unsigned cnt = 0;

    for (; (text = strstr(text, word)) != NULL; text++)
        cnt++;
    return cnt;
}

/* From a screen that holds everything to smaller ones: notes go, then warnings, then details. */
static void what_matters_least_goes_first(void)
{
    unsigned warnings = 3, details = 4;

    for (unsigned rows = 60; rows >= 20; rows--) {
        char *text = on_terminal(rows, 80, "$R check $C/rc-loss-both.pcap");
        const char *conns = text ? strstr(text, "connections:\n") : NULL;
        unsigned n, w, d;

        if (!text)
            return;
        expect_fit(text, rows, 80, "verdict: ", "rc-loss-both");
        n = count(text, " NOTE ");
        w = count(text, " WARN ");
        d = conns ? count(conns, "\n     \342\206") : 0; /* arrows */
        EXPECT_EQ(count(text, "left out: "), n + w + d < 12);
        CU_ASSERT_TRUE(rows < 60 || n + w + d == 12);
        CU_ASSERT_TRUE(w <= warnings && d <= details);
        CU_ASSERT_TRUE(n <= 1 || w == 3); /* a short note may fill where no warning fits */
        CU_ASSERT_TRUE(w == 0 || d == 4);
        warnings = w;
        details = d;
        free(text);
    }
    CU_ASSERT_TRUE(details < 4);
}

static void a_large_screen_shows_more(void)
{
    static const char command[] = "$GEN -n 20000 -c 500 | $R check -";
    char *large = on_terminal(50, 200, command),
         *small = large ? on_terminal(24, 80, command) : NULL;

    if (!large || !small)
        return;
    expect_fit(large, 50, 200, "verdict: ", "500 connections");
    expect_fit(small, 24, 80, "verdict: ", "500 connections");
    CU_ASSERT_TRUE(count(large, "\n  #") > 10);
    CU_ASSERT_TRUE(count(small, "\n  #") < count(large, "\n  #"));
    CU_ASSERT_TRUE(screen_rows(large, 200) > 40);
    free(large);
    free(small);
}

/* A terminal that does not know its size has 24 rows of 80 columns; -v and a pipe know no screen.
 */
static void without_a_size_or_with_another_wish(void)
{
    static const char both[] = "$R check $C/rc-loss-both.pcap";
    char *none = on_terminal(0, 0, both), *usual, *all;
    struct checkrun pipe = checkrun("check $C/rc-loss-both.pcap");

    if (none) {
        usual = on_terminal(24, 80, both);
        all = on_terminal(24, 80, "$R check -v $C/rc-loss-both.pcap");
        CU_ASSERT_STRING_EQUAL(none, usual);
        CU_ASSERT_TRUE(screen_rows(all, 80) > 40);
        free(usual);
        free(all);
    }
    CU_ASSERT_TRUE(screen_rows(pipe.out, 80) > 40);
    checkrun_free(&pipe);
    free(none);
}

/* The last of several, with the line that sums up; and one that breaks off, with its error. */
static void what_follows_the_report_fits_too(void)
{
    static const char *const commands[][2] = {
        {"$R check $C/rc-reordering.pcap $C/rc-loss-both.pcap", "2 captures: "},
        {"head -c 40000 $C/rc-loss-both.pcap >$T/broken; $R check $T/broken", "rocedrill: "},
    };

    for (unsigned i = 0; i < 2; i++) {
        char *text = on_terminal(24, 80, commands[i][0]), *second;

        if (!text)
            return;
        second = i == 0 ? strstr(text, "\n\n") : NULL;
        CU_ASSERT_TRUE(i > 0 || second);
        expect_fit(second ? second + 2 : text, 24, 80, commands[i][1], commands[i][0]);
        free(text);
    }
}

int main(int argc, char **argv)
{
    static const struct suite_test tests[] = {
        TEST(what_others_chose_is_escaped),     TEST(rows_are_counted_as_shown),
        TEST(no_terminal_has_no_screen),        TEST(a_report_fits_the_screen),
        TEST(a_tiny_screen_shows_why),          TEST(what_matters_least_goes_first),
        TEST(a_large_screen_shows_more),        TEST(without_a_size_or_with_another_wish),
        TEST(what_follows_the_report_fits_too),
    };
    int rc = suite_main("replay.check_screen", tests, sizeof(tests) / sizeof(tests[0]), argc, argv);

    if (!no_terminal)
        return rc;
    fprintf(stderr, "replay.check_screen: no pseudo-terminal here\n");
    return rc != 0 ? rc : SKIPPED;
}
