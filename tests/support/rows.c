/* rows.c: see rows.h. */
#include "rows.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "files.h"

static const char header[] = "exp_id\ttimestamp\tspecialist\tparent_exp\tbaseline_exp\tdomain\thypothesis\texpected_delta\t"
                             "status\tcore_metric\tval_bpb\tdelta_vs_best\ttrain_s\ttotal_s\tjob_name\tsnapshot_"
                             "path\tnotes\n";

static void die(const char *what)
{
    fprintf(stderr, "test support: %s\n", what);
    exit(2);
}

const char *in_dir(const char *dir, const char *name)
{
    static char path[4096];
    snprintf(path, sizeof path, "%s/%s", dir, name);
    return path;
}

void add_bytes(const char *dir, const char *bytes)
{
    FILE *out = fopen(in_dir(dir, "results.tsv"), "ab");
    if (!out || fwrite(bytes, 1, strlen(bytes), out) != strlen(bytes) || fclose(out) != 0)
        die("cannot write results.tsv");
}

static const char *cell(const char *text)
{
    return text ? text : "";
}

void add_rows(const char *dir, const struct row *rows)
{
    FILE *out = fopen(in_dir(dir, "results.tsv"), "ab");
    if (!out)
        die("cannot write results.tsv");
    if (fseek(out, 0, SEEK_END) == 0 && ftell(out) == 0)
        fputs(header, out);
    for (; rows->id; rows++)
        fprintf(out, "%s\t%s\t%s\t%s\t\t\th %s\t%s\t%s\t%s\t\t%s\t\t\t\t\t%s\n", rows->id, cell(rows->timestamp),
                cell(rows->specialist), cell(rows->parent), rows->id, cell(rows->expected), cell(rows->status),
                cell(rows->metric), cell(rows->delta), cell(rows->notes));
    if (fclose(out) != 0)
        die("cannot write results.tsv");
}

void edit_bytes(const char *dir, const char *from, const char *to)
{
    size_t length;
    char *data = read_file(in_dir(dir, "results.tsv"), &length), *at = strstr(data, from);
    FILE *out = fopen(in_dir(dir, "results.tsv"), "r+b");
    if (!at || strlen(from) != strlen(to) || !out || fseek(out, at - data, SEEK_SET) != 0 ||
        fwrite(to, 1, strlen(to), out) != strlen(to) || fclose(out) != 0)
        die("cannot edit results.tsv");
    free(data);
}

static void hear(void *context, const struct lineage_notice *notice)
{
    struct heard *heard = context;
    heard->n++;
    heard->line = notice->line;
    snprintf(heard->text, sizeof heard->text, "%s", notice->text);
}

void hear_finding(void *context, const struct lineage_finding *finding)
{
    struct heard *heard = context;
    size_t used = strlen(heard->kinds);
    heard->n++;
    heard->line = finding->line;
    snprintf(heard->text, sizeof heard->text, "%s", finding->text);
    snprintf(heard->kinds + used, sizeof heard->kinds - used, "%s:%llu ", finding->kind, (unsigned long long)finding->line);
}

struct lineage_store *open_store(const char *dir, enum lineage_direction direction, struct heard *heard)
{
    struct lineage_open_options options = {.direction = direction, .notice = heard ? hear : NULL, .context = heard};
    struct lineage_store *store;
    struct lineage_error err;
    if (lineage_store_open(&store, dir, &options, &err) != LINEAGE_OK)
        die(err.text);
    return store;
}

const char *ids_of_cursor(struct lineage_cursor *cursor)
{
    static char ids[4096];
    struct lineage_trial trial;
    struct lineage_error err = {0};
    enum lineage_status status;
    ids[0] = '\0';
    while ((status = lineage_cursor_next(cursor, &trial, &err)) == LINEAGE_OK) {
        size_t used = strlen(ids);
        snprintf(ids + used, sizeof ids - used, "%s ", trial.exp_id);
    }
    if (status != LINEAGE_ENOTFOUND)
        die(err.text);
    lineage_cursor_close(cursor);
    return ids;
}

const char *ids_of(struct lineage_store *store, const struct lineage_query *query)
{
    struct lineage_cursor *cursor;
    struct lineage_error err;
    if (lineage_query_open(&cursor, store, query, &err) != LINEAGE_OK)
        die(err.text);
    return ids_of_cursor(cursor);
}

const char *all_ids(struct lineage_store *store)
{
    return ids_of(store, &(struct lineage_query){0});
}

const char *best_of(struct lineage_store *store)
{
    static char id[64];
    struct lineage_trial best;
    struct lineage_error err;
    snprintf(id, sizeof id, "%s", lineage_best(store, &best, &err) == LINEAGE_OK ? best.exp_id : "none");
    lineage_trial_release(&best);
    return id;
}

static bool take_first(void *context, size_t n, const char *const *names, const char *const *texts)
{
    (void)names;
    snprintf(context, 512, "%s", n && texts[0] ? texts[0] : "NULL");
    return false;
}

const char *sql_value(struct lineage_store *store, const char *sql)
{
    static char value[512];
    struct lineage_error err;
    value[0] = '\0';
    if (lineage_sql(store, sql, take_first, value, &err) != LINEAGE_OK)
        die(err.text);
    return value;
}
