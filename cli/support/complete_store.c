/*
 * complete_store.c: ids, parameters and specialists of a store, as completions.
 *
 * Whoever presses a key has not asked for anything to be said or to take long: no notice, no error, and a store
 * that is locked or damaged has no words to offer.
 */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "support/complete.h"

enum { LONGEST_WORD = 200, MOST = 1000, BUSY_MS = 100 };

struct answer {
    const struct completion *c;
    const char *suffix;
};

/* Words with characters that a shell takes for its own would have to be quoted, each in its shell's way. */
static bool is_plain(const char *word)
{
    return *word && !strpbrk(word, " \t\r\n\\\"'`$&|;<>()[]{}*?!#~") && *word != '-' && *word != ':';
}

/* A word and, if there is one more column, what is known of it. */
static bool take(void *context, size_t n, const char *const *names, const char *const *texts)
{
    const struct answer *answer = context;
    (void)names;
    if (texts[0] && is_plain(texts[0])) {
        char *about = cli_text_line(n > 1 && texts[1] ? texts[1] : "", 60);
        complete_offer(answer->c, texts[0], answer->suffix, about);
        free(about);
    }
    return true;
}

/* Shells hand over the words as they were typed, `~` included. NULL if there is no such path. */
static const char *store_dir(char path[PATH_MAX], const char *dir)
{
    const char *home = getenv("HOME");
    if (!dir || strncmp(dir, "~/", 2) != 0 || !home)
        return dir ? dir : ".";
    return snprintf(path, PATH_MAX, "%s%s", home, dir + 1) < PATH_MAX ? path : NULL;
}

static void ask(const struct completion *c, const char *suffix, const char *statement)
{
    struct lineage_open_options open = {.busy_ms = BUSY_MS, .sql = {.seconds = 2}};
    struct answer answer = {c, suffix};
    struct lineage_store *store;
    struct lineage_error err;
    char path[PATH_MAX];
    const char *dir = store_dir(path, c->dir);
    if (!dir || !cli_is_store(dir) || lineage_store_open(&store, dir, &open, &err) != LINEAGE_OK)
        return;
    /* Where that goes wrong, what was found until then is offered. */
    enum lineage_status status = lineage_sql(store, statement, take, &answer, &err);
    (void)status;
    lineage_store_close(store);
}

/* A quote in the word would end the text in the statement; no plain word has one. */
static bool fits(const char *word)
{
    return strlen(word) < LONGEST_WORD && !strchr(word, '\'');
}

/* Newest first, and by the index on exp_id where the word has begun. */
void complete_ids(const struct completion *c)
{
    char sql[1024];
    if (!fits(c->word))
        return;
    if (*c->word)
        snprintf(sql, sizeof sql, "SELECT exp_id, status || ' ' || hypothesis FROM trials WHERE exp_id >= '%s' AND "
                 "exp_id < '%s' || char(1114111) ORDER BY exp_id DESC LIMIT %d", c->word, c->word, MOST);
    else
        snprintf(sql, sizeof sql, "SELECT exp_id, status || ' ' || hypothesis FROM trials ORDER BY seq DESC LIMIT %d", MOST);
    ask(c, "", sql);
}

/* From name to name: a DISTINCT would read every value of every parameter. */
void complete_params(const struct completion *c, const char *suffix)
{
    ask(c, suffix, "WITH RECURSIVE k(x) AS (SELECT min(key) FROM param_values UNION ALL SELECT (SELECT min(key) FROM"
                   " param_values WHERE key > x) FROM k WHERE x IS NOT NULL) SELECT x FROM k WHERE x IS NOT NULL");
}

void complete_param_values(const struct completion *c, const char *param, size_t length)
{
    char sql[512], name[LONGEST_WORD];
    if (length >= sizeof name)
        return;
    snprintf(name, sizeof name, "%.*s", (int)length, param);
    if (!fits(name))
        return;
    snprintf(sql, sizeof sql, "SELECT DISTINCT value FROM param_values WHERE key = '%s' LIMIT %d", name, MOST);
    ask(c, "", sql);
}

void complete_specialists(const struct completion *c)
{
    ask(c, "", "SELECT DISTINCT specialist FROM label_counts ORDER BY specialist");
}
