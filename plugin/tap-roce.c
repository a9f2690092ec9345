/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tap-roce.h"

#include <epan/plugin_if.h>
#include <stdio.h>
#include <string.h>

#include "wire/keyed_hash.h"

#define STAT_TABLES_MAX 16 /* maximum number of statistics tables */
/* Group of our tables, for which Wireshark creates no menu entry. The plugin adds a submenu with
 * the entries. */
#define STAT_GROUP_NONE REGISTER_STAT_GROUP_GENERIC

struct table_row {
    GBytes *key;
    unsigned index; /* index of the row in Wireshark's table */
    stat_tap_table_item_type *items;
    char *cells;
    void *counts;
};

/* All registered tables. find_stat_table() searches this array, because Wireshark's callbacks
 * receive only a stat_tap_table. */
static struct roce_stat_table *all[STAT_TABLES_MAX];
static unsigned all_cnt;

static struct roce_stat_table *find_stat_table(const stat_tap_table *table)
{
    for (unsigned i = 0; i < all_cnt; i++)
        if (all[i]->table == table)
            return all[i];
    return NULL;
}

/* ---- rows of a table ---------------------------------------------------------------------------
 */

/* Returns the keyed hash of a row's key, computed in parts of five words. Many keys contain fields
 * of the capture. With g_bytes_hash(), an attacker could choose keys with equal hashes. */
static guint hash_key(gconstpointer key)
{
    static struct roce_hash_secret secret;
    GBytes *bytes;
    gsize len;

    memcpy(&bytes, &key, sizeof(bytes)); /* g_bytes_get_data() accepts no pointer to const */
    const guint8 *p = (const guint8 *)g_bytes_get_data(bytes, &len);
    uint64_t word[ROCE_HASH_WORDS] = {len};

    if (secret.word[0] == 0)
        roce_hash_secret_init(&secret, (uint64_t)g_random_int() << 32 | g_random_int());
    for (gsize part; len > 0; len -= part, p += part) {
        part = MIN(len, sizeof(word) - sizeof(word[0]));
        memset(word + 1, 0, sizeof(word) - sizeof(word[0]));
        memcpy(word + 1, p, part);
        word[0] += roce_keyed_hash(&secret, word, ROCE_HASH_WORDS);
    }
    return (guint)word[0];
}

static void free_row(void *p)
{
    struct table_row *row = (struct table_row *)p;

    g_bytes_unref(row->key);
    g_free(row->cells);
    g_free(row->counts);
    g_free(row);
}

static void free_retired_row(void *p)
{
    struct table_row *row = (struct table_row *)p;

    g_free(row->items);
    free_row(row);
}

/* Removes all rows of a table. Moves them to the list stat->retired instead of freeing them,
 * because open windows may still refer to items of the rows. */
static void retire_rows(struct roce_stat_table *stat)
{
    GHashTableIter iter;
    void *key, *row;

    if (stat->reset)
        stat->reset();
    if (!stat->rows)
        return;
    g_hash_table_iter_init(&iter, stat->rows);
    while (g_hash_table_iter_next(&iter, &key, &row)) {
        stat->retired = g_slist_prepend(stat->retired, row);
        g_hash_table_iter_steal(&iter);
    }
    if (stat->table) {
        g_free(stat->table->elements);
        stat->table->elements = NULL;
        stat->table->num_elements = 0;
    }
}

static size_t cell_len(const struct roce_stat_column *column)
{
    return column->right ? ROCE_STAT_NUM_LEN : ROCE_STAT_CELL_LEN;
}

static struct table_row *new_row(struct roce_stat_table *stat, GBytes *key)
{
    stat_tap_table_item_type *items = g_new0(stat_tap_table_item_type, stat->column_cnt);
    struct table_row *row = g_new0(struct table_row, 1);
    size_t len = 0;

    for (unsigned i = 0; i < stat->column_cnt; i++)
        len += cell_len(&stat->column[i]);
    row->key = key;
    row->index = stat->table->num_elements;
    row->counts = g_malloc0(stat->row_size);
    row->cells = (char *)g_malloc0(len);
    len = 0;
    for (unsigned i = 0; i < stat->column_cnt; i++) {
        items[i].type = TABLE_ITEM_STRING;
        items[i].value.string_value = row->cells + len;
        len += cell_len(&stat->column[i]);
    }
    stat_tap_init_table_row(stat->table, row->index, stat->column_cnt, items);
    g_free(items);
    row->items = stat->table->elements[row->index];
    g_hash_table_insert(stat->rows, row->key, row);
    return row;
}

void *roce_stat_row(struct roce_stat_table *stat, const void *key, size_t len)
{
    GBytes *bytes = g_bytes_new(key, len);
    struct table_row *row = (struct table_row *)g_hash_table_lookup(stat->rows, bytes);

    if (!row && stat->table->num_elements >= ROCE_STAT_ROWS_MAX) {
        g_bytes_unref(bytes);
        bytes = g_bytes_new_static("others", sizeof("others"));
        row = (struct table_row *)g_hash_table_lookup(stat->rows, bytes);
    }
    if (row)
        g_bytes_unref(bytes);
    else
        row = new_row(stat, bytes);
    g_ptr_array_add(stat->touched, row);
    return row->counts;
}

/* ---- cells of a row ----------------------------------------------------------------------------
 */

void roce_stat_text(struct roce_stat_table *stat, const char *text)
{
    const struct roce_stat_column *column = &stat->column[stat->at];

    if (stat->at >= stat->column_cnt)
        return;
    if (stat->others && stat->at == 0)
        text = "others";
    /* The row "others" counts many keys, so its text cells are empty. */
    else if (stat->others && !column->right)
        text = "";
    snprintf(stat->cell, cell_len(column), "%*s", column->right && *text ? column->width : 0, text);
    stat->cell += cell_len(column);
    stat->at++;
}

void roce_stat_num(struct roce_stat_table *stat, uint64_t value)
{
    char text[24];

    snprintf(text, sizeof(text), "%" PRIu64, value);
    roce_stat_text(stat, text);
}

void roce_stat_hex(struct roce_stat_table *stat, uint64_t value)
{
    char text[24];

    snprintf(text, sizeof(text), "0x%0*" PRIx64, value >> 32 ? 16 : 8, value);
    roce_stat_text(stat, text);
}

void roce_stat_ms(struct roce_stat_table *stat, uint64_t ns)
{
    char text[40] = "";

    if (ns != ROCE_NEVER_NS)
        snprintf(text, sizeof(text), "%" PRIu64 ".%06u", ns / 1000000, (unsigned)(ns % 1000000));
    roce_stat_text(stat, text);
}

/* Formats a duration in ms. A percentile of a histogram is only an estimate, so rounds it to three
 * digits. */
static void print_estimate(struct roce_stat_table *stat, uint64_t ns)
{
    double ms = (double)ns / 1e6;
    int decimals = 2;
    char text[40];

    for (double at = ms; at >= 10 && decimals > 0; at /= 10)
        decimals--;
    for (double at = ms; at < 1 && decimals < 6; at *= 10)
        decimals++;
    snprintf(text, sizeof(text), "%.*f", decimals, ms);
    roce_stat_text(stat, text);
}

void roce_stat_hist(struct roce_stat_table *stat, const struct roce_hist *hist)
{
    static const unsigned permille[] = {500, 900, 990};
    bool some = hist->total > 0;

    roce_stat_ms(stat, some ? hist->min : ROCE_NEVER_NS);
    roce_stat_ms(stat, some ? hist->sum / hist->total : ROCE_NEVER_NS);
    for (unsigned i = 0; i < array_length(permille); i++)
        if (some)
            print_estimate(stat, roce_hist_quantile(hist, permille[i]));
        else
            roce_stat_text(stat, "");
    roce_stat_ms(stat, some ? hist->max : ROCE_NEVER_NS);
}

/* ---- callbacks of Wireshark --------------------------------------------------------------------
 */

static tap_packet_status on_tap_packet(void *tapdata, packet_info *pinfo, epan_dissect_t *edt _U_,
                                       const void *data, tap_flags_t flags _U_)
{
    struct roce_stat_table *stat =
        find_stat_table(stat_tap_find_table(((stat_data_t *)tapdata)->stat_tap_data, "RoCE"));
    const struct roce_tap *tap = (const struct roce_tap *)data;

    if (!stat || !tap->frame)
        return TAP_PACKET_DONT_REDRAW;
    g_ptr_array_set_size(stat->touched, 0);
    stat->packet(stat, tap, pinfo);
    for (guint i = 0; i < stat->touched->len; i++) {
        struct table_row *row = (struct table_row *)g_ptr_array_index(stat->touched, i);

        stat->cell = row->cells;
        stat->at = 0;
        stat->others = row->index >= ROCE_STAT_ROWS_MAX;
        stat->print(row->counts, stat);
    }
    return stat->touched->len ? TAP_PACKET_REDRAW : TAP_PACKET_DONT_REDRAW;
}

/* Opens the window of the table `name`, as `wireshark -z NAME` does. Called when the user selects
 * the menu entry. */
static void on_menu(ext_menubar_gui_type gui _U_, gpointer window _U_, gpointer name)
{
    if (process_stat_cmd_arg((const char *)name))
        start_requested_stats();
}

/* Makes a table empty. Wireshark calls this function when a window of the table opens or the filter
 * of the window changes. */
static void on_window_init(stat_tap_table_ui *ui)
{
    struct roce_stat_table *stat = NULL;

    for (unsigned i = 0; i < all_cnt; i++)
        if (strcmp(all[i]->name, ui->cli_string) == 0)
            stat = all[i];
    if (!stat)
        return;
    stat->table = stat_tap_find_table(ui, "RoCE");
    retire_rows(stat);
    if (ui->refcount <= 1) { /* no other window shows this table */
        g_slist_free_full(stat->retired, free_retired_row);
        stat->retired = NULL;
    }
    if (!stat->rows)
        stat->rows = g_hash_table_new(hash_key, g_bytes_equal);
    if (!stat->touched)
        stat->touched = g_ptr_array_new();
    if (!stat->table) {
        stat->table = stat_tap_init_table("RoCE", (int)stat->column_cnt, 0, NULL);
        stat_tap_add_table(ui, stat->table);
    }
}

static void on_table_reset(stat_tap_table *table)
{
    struct roce_stat_table *stat = find_stat_table(table);

    if (stat)
        retire_rows(stat);
}

/* Wireshark calls this function for each item of a table that it frees, and frees the items itself.
 * At the last item, frees the rows of our table. */
static void on_item_free(stat_tap_table *table, guint row, guint column,
                         stat_tap_table_item_type *item _U_)
{
    struct roce_stat_table *stat = find_stat_table(table);
    GHashTableIter iter;
    void *key, *value;

    if (!stat || row != table->num_elements - 1 || column != table->num_fields - 1)
        return;
    g_hash_table_iter_init(&iter, stat->rows);
    while (g_hash_table_iter_next(&iter, &key, &value)) {
        free_row(value);
        g_hash_table_iter_steal(&iter);
    }
    stat->table = NULL;
}

void roce_stat_register(struct roce_stat_table *stat)
{
    static tap_param params[] = {{PARAM_FILTER, "filter", "Filter", NULL, TRUE}};
    stat_tap_table_item *fields = g_new0(stat_tap_table_item, stat->column_cnt);

    for (unsigned i = 0; i < stat->column_cnt; i++) {
        const struct roce_stat_column *column = &stat->column[i];

        fields[i].type = TABLE_ITEM_STRING;
        fields[i].align = column->right ? TAP_ALIGN_RIGHT : TAP_ALIGN_LEFT;
        fields[i].column_name =
            g_strdup_printf("%*s", column->right ? column->width : -column->width, column->name);
        fields[i].field_format =
            g_strdup_printf("%%%ds", column->right ? column->width : -column->width);
    }
    stat->ui = (stat_tap_table_ui){
        .group = STAT_GROUP_NONE,
        .title = stat->title,
        .tap_name = "roce",
        .cli_string = stat->name,
        .stat_tap_init_cb = on_window_init,
        .packet_func = on_tap_packet,
        .stat_tap_reset_table_cb = on_table_reset,
        .stat_tap_free_table_item_cb = on_item_free,
        .nfields = stat->column_cnt,
        .fields = fields,
        .nparams = array_length(params),
        .params = params,
    };
    g_assert(all_cnt < STAT_TABLES_MAX);
    all[all_cnt++] = stat;
    register_stat_tap_table_ui(&stat->ui);
}

/* Registers the submenu Statistics -> RoCE. Wireshark would put the tables directly into the menu
 * Statistics, among the tables of all protocols. Only entries that a plugin adds itself can be in a
 * submenu. */
void roce_stat_menu_register(int proto)
{
    ext_menu_t *menu = ext_menubar_register_menu(proto, "RoCE", TRUE);

    ext_menubar_set_parentmenu(menu, "Statistics");
    for (unsigned i = 0; i < all_cnt; i++)
        ext_menubar_add_entry(menu, strchr(all[i]->title, ' ') + 1, NULL, on_menu,
                              g_strdup(all[i]->name));
    ext_menubar_add_separator(menu);
    ext_menubar_add_entry(menu, "Service Response Time", NULL, on_menu, g_strdup("roce,srt"));
}
