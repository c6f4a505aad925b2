/*
 * complete_store.c: ids, parameters and specialists of a store, as completions.
 *
 * A user who presses the Tab key expects neither messages nor delay. So notices and errors are dropped, and a store
 * that is locked or damaged offers no words.
 */
#include <stdlib.h>
#include <string.h>

#include "support/complete.h"

enum { LONGEST_WORD = 200, MOST = 1000, BUSY_MS = 100 };

struct answer {
    const struct completion *c;
    const char *suffix;
};

/* Leaves out words with characters that a shell interprets, because each shell quotes them differently. */
static bool is_plain(const char *word)
{
    return *word && !strpbrk(word, " \t\r\n\\\"'`$&|;<>()[]{}*?!#~") && *word != '-' && *word != ':';
}

/* Offers a word; the second column, if any, describes it. */
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

/* Expands `~`, because shells pass on the words that were typed. Returns NULL if the path is too long. */
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
    /* On an error, offers what was found until then. */
    enum lineage_status status = lineage_sql(store, statement, take, &answer, &err);
    (void)status;
    lineage_store_close(store);
}

/* Words with a quote would end the literal in the SQL statement; plain words contain no quote. */
static bool fits(const char *word)
{
    return strlen(word) < LONGEST_WORD && !strchr(word, '\'');
}

/* Offers the newest ids first. If the user has typed the beginning of an id, uses the index on exp_id. */
void complete_ids(const struct completion *c)
{
    char sql[1024];
    if (!fits(c->word))
        return;
    if (*c->word)
        snprintf(sql, sizeof sql,
                 "SELECT exp_id, status || ' ' || hypothesis FROM trials WHERE exp_id >= '%s' AND "
                 "exp_id < '%s' || char(1114111) ORDER BY exp_id DESC LIMIT %d",
                 c->word, c->word, MOST);
    else
        snprintf(sql, sizeof sql, "SELECT exp_id, status || ' ' || hypothesis FROM trials ORDER BY seq DESC LIMIT %d", MOST);
    ask(c, "", sql);
}

/* Steps through the index from one name to the next, because DISTINCT would read every value of every parameter. */
void complete_params(const struct completion *c, const char *suffix)
{
    ask(c, suffix,
        "WITH RECURSIVE k(x) AS (SELECT min(key) FROM param_values UNION ALL SELECT (SELECT min(key) FROM"
        " param_values WHERE key > x) FROM k WHERE x IS NOT NULL) SELECT x FROM k WHERE x IS NOT NULL"
        " UNION SELECT DISTINCT name FROM metric_rows");
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
