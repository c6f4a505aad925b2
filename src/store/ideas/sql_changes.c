/*
 * sql_changes.c: lineage_sql, which brings the tables of changes and citations up to date if the statement names one of
 * them.
 *
 * Appends and other questions do not update these tables, and a user's SELECT must not see stale ones.
 */
#include <lineage/query.h>

#include <ctype.h>
#include <string.h>

#include "../measured/measured_cache.h"
#include "../questions/questions.h"
#include "ideas_internal.h"
#include "ideas_rows.h"

/* Whether the text contains the word, which is in lower case; the text's case does not matter. */
static bool mentions(const char *text, const char *word)
{
    size_t length = strlen(word);
    for (; *text; text++) {
        size_t i = 0;
        while (i < length && tolower((unsigned char)text[i]) == word[i])
            i++;
        if (i == length)
            return true;
    }
    return false;
}

/* Reads the texts that no question has needed so far. */
static enum lineage_status read_all(struct lineage_store *store, struct lineage_error *err)
{
    const struct lineage_query one = {.limit = 1};
    struct lineage_ideas *first, *all = NULL;
    struct lineage_cursor *cursor;
    bool complete = false;
    enum lineage_status status = lineage_ideas_new(&first, err);
    if (status == LINEAGE_OK)
        status = ideas_rows_open(&cursor, store, &one, err);
    if (status == LINEAGE_OK)
        status = ideas_rows_add(first, store, cursor, err);
    if (status == LINEAGE_OK)
        status = reading_cache_is_complete(&complete, first, store, err);
    if (status == LINEAGE_OK && !complete)
        status = lineage_ideas_new(&all, err);
    if (status == LINEAGE_OK && !complete)
        status = lineage_ideas_add_store(all, store, err);
    lineage_ideas_release(first);
    lineage_ideas_release(all);
    return status;
}

enum lineage_status lineage_sql_typed(struct lineage_store *store, const char *statement, lineage_sql_typed_row *row,
                                      void *context, struct lineage_error *err)
{
    enum lineage_status status = LINEAGE_OK;
    if (mentions(statement, "change") || mentions(statement, "citation") || mentions(statement, "reading") ||
        mentions(statement, "measured"))
        status = read_all(store, err);
    if (status == LINEAGE_OK && (mentions(statement, "change") || mentions(statement, "measured")))
        status = measured_each(store, 1, INT64_MAX, NULL, NULL, err);
    return status == LINEAGE_OK ? mirror_ask_sql(store, statement, row, context, err) : status;
}

struct texts_of_row {
    lineage_sql_row *row;
    void *context;
};

static bool pass_texts(void *context, size_t n, const char *const *names, const char *const *texts, const bool *numbers)
{
    const struct texts_of_row *to = context;
    (void)numbers;
    return texts && to->row(to->context, n, names, texts);
}

enum lineage_status lineage_sql(struct lineage_store *store, const char *statement, lineage_sql_row *row, void *context,
                                struct lineage_error *err)
{
    return lineage_sql_typed(store, statement, pass_texts, &(struct texts_of_row){row, context}, err);
}
