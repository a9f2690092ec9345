/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "verbs/config.h"

#include <ctype.h>
#include <errno.h>
#include <fnmatch.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ERROR_MAX (CONFIG_TEXT_MAX + 128)

static const char default_file[] = "/etc/rnic.conf";

static bool set_text_option(char *to, const char *value, const char *where, char *error)
{
    if (strlen(value) >= CONFIG_TEXT_MAX) {
        snprintf(error, ERROR_MAX, "%s: longer than %d characters", where, CONFIG_TEXT_MAX - 1);
        return false;
    }
    strcpy(to, value);
    return true;
}

static bool set_number_option(uint64_t *to, const char *value, const char *where, char *error)
{
    char *end;
    errno = 0;
    unsigned long long number = strtoull(value, &end, 0);
    if (errno || end == value || *end || strchr(value, '-')) {
        snprintf(error, ERROR_MAX, "%s: \"%.64s\" is not a number", where, value);
        return false;
    }
    *to = number;
    return true;
}

static bool set_mw_type(bool *mw_2a, const char *value, const char *where, char *error)
{
    *mw_2a = strcmp(value, "2A") == 0;
    if (*mw_2a || strcmp(value, "2B") == 0)
        return true;
    snprintf(error, ERROR_MAX, "%s: \"%.64s\" is neither 2A nor 2B", where, value);
    return false;
}

static bool set_wire(bool *shm, const char *value, const char *where, char *error)
{
    *shm = strcmp(value, "shm") == 0;
    if (*shm || strcmp(value, "pcap") == 0)
        return true;
    snprintf(error, ERROR_MAX, "%s: \"%.64s\" is neither pcap nor shm", where, value);
    return false;
}

/* Sets an option by its name in the configuration file. */
static bool set_option(struct verbs_config *config, const char *key, const char *value,
                       const char *where, char *error)
{
    if (strcmp(key, "ifaces") == 0)
        return set_text_option(config->ifaces, value, where, error);
    if (strcmp(key, "impair") == 0)
        return set_text_option(config->impair, value, where, error);
    if (strcmp(key, "record") == 0)
        return set_text_option(config->record, value, where, error);
    if (strcmp(key, "tap") == 0)
        return set_text_option(config->tap, value, where, error);
    if (strcmp(key, "timeline") == 0)
        return set_text_option(config->timeline, value, where, error);
    if (strcmp(key, "seed") == 0)
        return set_number_option(&config->seed, value, where, error);
    if (strcmp(key, "linger") == 0)
        return set_number_option(&config->linger, value, where, error);
    if (strcmp(key, "windows") == 0)
        return set_mw_type(&config->mw_2a, value, where, error);
    if (strcmp(key, "wire") == 0)
        return set_wire(&config->shm, value, where, error);
    snprintf(error, ERROR_MAX,
             "%s: unknown setting \"%.64s\"; known settings: ifaces, impair, record, seed, linger, "
             "tap, timeline, windows, wire",
             where, key);
    return false;
}

static char *trim_blanks(char *text)
{
    while (isspace((unsigned char)*text))
        text++;
    size_t len = strlen(text);
    while (len > 0 && isspace((unsigned char)text[len - 1]))
        text[--len] = 0;
    return text;
}

bool config_parse(struct verbs_config *config, const char *name, const char *text, char *error)
{
    for (unsigned number = 1; *text; number++) {
        char line[2 * CONFIG_TEXT_MAX], where[160];
        size_t len = strcspn(text, "\n");
        snprintf(where, sizeof where, "%.128s:%u", name, number);
        if (len >= sizeof line) {
            snprintf(error, ERROR_MAX, "%s: the line is too long", where);
            return false;
        }
        memcpy(line, text, len);
        line[len] = 0;
        text += len + (text[len] == '\n');
        line[strcspn(line, "#")] = 0;
        char *key = trim_blanks(line);
        if (!*key)
            continue;
        char *value = strchr(key, '=');
        if (!value) {
            snprintf(error, ERROR_MAX, "%s: expected NAME = VALUE", where);
            return false;
        }
        *value++ = 0;
        if (!set_option(config, trim_blanks(key), trim_blanks(value), where, error))
            return false;
    }
    return true;
}

static bool load_config_file(struct verbs_config *config, char *error)
{
    const char *name = getenv("RNIC_CONFIG");
    bool asked = name && *name;
    FILE *file = fopen(asked ? name : default_file, "re");
    if (!file) {
        if (!asked && errno == ENOENT)
            return true;
        snprintf(error, ERROR_MAX, "%s: %s", asked ? name : default_file, strerror(errno));
        return false;
    }
    char text[16384];
    size_t len = fread(text, 1, sizeof text - 1, file);
    bool whole = feof(file) && !ferror(file);
    fclose(file);
    text[len] = 0;
    if (!whole || strlen(text) != len) {
        snprintf(error, ERROR_MAX, "%s: not a text file smaller than %zu bytes",
                 asked ? name : default_file, sizeof text);
        return false;
    }
    return config_parse(config, asked ? name : default_file, text, error);
}

bool config_load(struct verbs_config *config, char *error)
{
    static const char *const names[][2] = {
        {"RNIC_IFACES", "ifaces"},   {"RNIC_IMPAIR", "impair"}, {"RNIC_RECORD", "record"},
        {"RNIC_SEED", "seed"},       {"RNIC_LINGER", "linger"}, {"RNIC_TIMELINE", "timeline"},
        {"RNIC_WINDOWS", "windows"}, {"RNIC_WIRE", "wire"},     {"RNIC_TAP", "tap"},
    };
    *config = (struct verbs_config){0};
    if (!load_config_file(config, error))
        return false;
    const char *tally = getenv("RNIC_IMPAIR_TALLY");
    if (tally && strlen(tally) < sizeof config->impair_tally)
        strcpy(config->impair_tally, tally);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char *value = getenv(names[i][0]);
        if (value && *value && !set_option(config, names[i][1], value, names[i][0], error))
            return false;
    }
    return true;
}

bool config_wants(const struct verbs_config *config, const char *iface, bool *named)
{
    static const char blanks[] = ", \t";
    const char *text = config->ifaces;
    text += strspn(text, blanks);
    *named = false;
    bool wanted = !*text || *text == '!';
    while (*text) {
        char pattern[CONFIG_TEXT_MAX];
        size_t len = strcspn(text, blanks);
        bool take = *text != '!';
        memcpy(pattern, text + !take, len - !take);
        pattern[len - !take] = 0;
        if (fnmatch(pattern, iface, 0) == 0) {
            wanted = take;
            *named = take && !strpbrk(pattern, "*?[");
        }
        text += len;
        text += strspn(text, blanks);
    }
    return wanted;
}
