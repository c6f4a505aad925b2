/*
 * complete.c: the words that an option table allows at a position of the command line.
 *
 * The help of an option says what values it takes: `table|tsv|csv|json` are the words themselves, `ID` and similar names
 * are kinds of values. So every option that has a line in --help is completed without further code.
 */
#include "support/complete.h"

#include <ctype.h>

/* ---- ids, parameters and specialists of a store, as completions.
 *
 * A user who presses the Tab key expects neither messages nor delay. So notices and errors are dropped, and a store
 * that is locked or damaged offers no words.
 */

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
static void complete_ids(const struct completion *c)
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
static void complete_params(const struct completion *c, const char *suffix)
{
    ask(c, suffix,
        "WITH RECURSIVE k(x) AS (SELECT min(key) FROM param_values UNION ALL SELECT (SELECT min(key) FROM"
        " param_values WHERE key > x) FROM k WHERE x IS NOT NULL) SELECT x FROM k WHERE x IS NOT NULL"
        " UNION SELECT DISTINCT name FROM metric_rows");
}

static void complete_param_values(const struct completion *c, const char *param, size_t length)
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

static void complete_specialists(const struct completion *c)
{
    ask(c, "", "SELECT DISTINCT specialist FROM label_counts ORDER BY specialist");
}

void complete_offer(const struct completion *c, const char *value, const char *suffix, const char *about)
{
    if (strncmp(value, c->word, strlen(c->word)) == 0)
        printf("%.*s%s%s\t%s\n", (int)c->kept_length, c->kept, value, suffix, about ? about : "");
}

/* ---- kinds of values ---- */

static void offer_list(const struct completion *c, const char *words, const char *separators, const char *suffix)
{
    char word[LINEAGE_NAME_MAX];
    for (size_t length; *words; words += length + strspn(words + length, separators)) {
        length = strcspn(words, separators);
        snprintf(word, sizeof word, "%.*s", (int)length, words);
        if (length)
            complete_offer(c, word, suffix, NULL);
    }
}

/* In a list separated by commas, only the last item is completed. */
static struct completion last_item(const struct completion *c)
{
    struct completion item = *c;
    const char *comma = strrchr(c->word, ',');
    if (!comma)
        return item;
    item.kept_length = (size_t)(comma + 1 - c->kept);
    item.word = comma + 1;
    return item;
}

static void offer_labels(const struct completion *c)
{
    struct completion item = last_item(c);
    for (int i = 0; i < LINEAGE_N_LABELS; i++)
        complete_offer(&item, lineage_label_name((enum lineage_label)i), "", NULL);
}

static void offer_label(const struct completion *c)
{
    offer_labels(c);
    complete_offer(c, "auto", "", "keep or discard according to the score");
}

#define COLUMNS "core_metric val_bpb delta_vs_best train_s total_s"

static void offer_params(const struct completion *c)
{
    struct completion item = last_item(c);
    complete_params(&item, "");
}

/* `-alpha` sorts in descending order. */
static void offer_sort_keys(const struct completion *c)
{
    struct completion key = *c;
    if (key.word[0] == '-') {
        key.word++;
        key.kept_length++;
    }
    offer_list(&key, "score exp_id timestamp specialist status " COLUMNS, " ", "");
    complete_params(&key, "");
}

static void offer_assignments(const struct completion *c)
{
    const char *equals = strchr(c->word, '=');
    if (!equals) {
        complete_params(c, "=");
        return;
    }
    struct completion value = *c;
    value.kept_length = (size_t)(equals + 1 - c->kept);
    value.word = equals + 1;
    value = last_item(&value);
    complete_param_values(&value, c->word, (size_t)(equals - c->word));
}

/* What the words of `kinds`, separated by blanks, stand for: the words of a function, these words, or a request to the shell. */
static const struct {
    const char *kinds;
    void (*offer)(const struct completion *c);
    const char *words, *request;
} values[] = {{"ID", complete_ids, NULL, NULL},
              {"FILE PATH COMMAND ARG RECIPE CHECKPOINT SWEEP", NULL, NULL, ":file"},
              {"DIR STORE", NULL, NULL, ":directory"},
              {"LABEL", offer_label, NULL, NULL},
              {"LABELS", offer_labels, NULL, NULL},
              {"COLUMN", NULL, COLUMNS, NULL},
              {"PARAMETER NAME[,NAME]", offer_params, NULL, NULL},
              {"[-]NAME", offer_sort_keys, NULL, NULL},
              {"NAME=RANGE NAME=NUMBER NAME=VALUE PATH=VALUE", offer_assignments, NULL, NULL},
              {"VARIANT", complete_specialists, NULL, NULL},
              {"DATE", NULL, "now today yesterday monday tuesday wednesday thursday friday saturday sunday", NULL}};

static bool is_word_of(const char *words, const char *word)
{
    for (size_t length; *words; words += length + (words[length] == ' ')) {
        length = strcspn(words, " ");
        if (strlen(word) == length && strncmp(words, word, length) == 0)
            return true;
    }
    return false;
}

/* The help text NAME can mean many kinds of values; for these options the kind is known. */
static const struct {
    const char *option;
    void (*offer)(const struct completion *c);
} named[] = {{"specialist", complete_specialists}, {"for", complete_specialists}, {"env", NULL}, {NULL, NULL}};

static bool is_literal(const char *kind)
{
    return islower((unsigned char)*kind) && !strpbrk(kind, "=,.");
}

static void offer_kind(const struct completion *c, const char *kind)
{
    for (size_t i = 0; i < sizeof values / sizeof *values; i++)
        if (is_word_of(values[i].kinds, kind)) {
            if (values[i].offer)
                values[i].offer(c);
            else if (values[i].words)
                offer_list(c, values[i].words, " ", "");
            else
                puts(values[i].request);
        }
    if (is_literal(kind))
        complete_offer(c, kind, "", NULL);
}

/* Offers the words of a value such as `ID|best`. Words that only the command knows come from its `choices`. */
static void offer_value(const struct completion *c, const char *name, const char *kinds_text)
{
    char own[8192], kind[LINEAGE_NAME_MAX];
    if (c->command->choices && c->command->choices(name, own, sizeof own)) {
        struct completion item = last_item(c);
        offer_list(&item, own, " ,\n", "");
        return;
    }
    for (size_t i = 0; named[i].option; i++)
        if (strcmp(named[i].option, name) == 0) {
            if (named[i].offer)
                named[i].offer(c);
            return;
        }
    for (size_t length; *kinds_text; kinds_text += length + (kinds_text[length] == '|')) {
        length = strcspn(kinds_text, "|");
        snprintf(kind, sizeof kind, "%.*s", (int)length, kinds_text);
        offer_kind(c, kind);
    }
}

/* ---- positions on the line ---- */

static bool takes_value(const struct poptOption *option)
{
    return (option->argInfo & POPT_ARG_MASK) != POPT_ARG_NONE;
}

/* The option that a word names (`--name`, `--name=..`, `-n`), or NULL. */
static const struct poptOption *option_of(const struct poptOption *options, const char *word)
{
    if (word[0] != '-')
        return NULL;
    const char *name = word + 2;
    for (; options->longName; options++) {
        bool is_long = word[1] == '-' && strlen(options->longName) == strcspn(name, "=") &&
                       strncmp(options->longName, name, strcspn(name, "=")) == 0;
        if (is_long || (word[1] && word[1] == options->shortName && !word[2]))
            return options;
    }
    return NULL;
}

static void offer_options(const struct completion *c)
{
    char name[LINEAGE_NAME_MAX + 2];
    for (const struct poptOption *option = c->options; option->longName; option++) {
        if (option->argInfo & POPT_ARGFLAG_DOC_HIDDEN)
            continue;
        snprintf(name, sizeof name, "--%s", option->longName);
        complete_offer(c, name, "", option->descrip);
    }
    complete_offer(c, "--help", "", "print this command's help");
}

/* Writes the n-th word of "FAMILY [FILE|-]" without brackets. Beyond the end, writes the last word if dots follow it,
 * else "". */
static void positional_kind(char kind[LINEAGE_NAME_MAX], const char *arguments, size_t n)
{
    kind[0] = '\0';
    for (size_t i = 0; *arguments; i++, arguments += strcspn(arguments, " "), arguments += strspn(arguments, " ")) {
        bool again = strncmp(arguments + strcspn(arguments, ". "), "...", 3) == 0;
        if (i != n && !(again && i < n))
            continue;
        arguments += *arguments == '[';
        snprintf(kind, LINEAGE_NAME_MAX, "%.*s", (int)strcspn(arguments, " .]"), arguments);
        return;
    }
}

/* What precedes the word under the cursor: the store's directory, an option whose value is missing, the number of
 * arguments. */
struct before {
    const struct poptOption *waiting;
    size_t n_positional;
    bool only_positional; /* after `--` */
};

static void take_word(struct before *before, struct completion *c, const char *word)
{
    const struct poptOption *option = before->only_positional ? NULL : option_of(c->options, word);
    const char *equals = strchr(word, '=');
    if (before->waiting) {
        if (before->waiting->shortName == 'C')
            c->dir = word;
        before->waiting = NULL;
    } else if (option && takes_value(option) && !equals) {
        before->waiting = option;
    } else if (option && option->shortName == 'C') {
        c->dir = equals + 1;
    } else if (!before->only_positional && strcmp(word, "--") == 0) {
        before->only_positional = true;
    } else if (before->only_positional || word[0] != '-' || !word[1]) {
        before->n_positional++;
    }
}

/* The command line of another program, "-- COMMAND [ARG...]", begins after the dashes. */
static void offer_positional(const struct completion *c, const struct before *before)
{
    char kind[LINEAGE_NAME_MAX];
    const char *arguments = c->command->arguments;
    bool dashes = strncmp(arguments, "-- ", 3) == 0;
    positional_kind(kind, dashes ? arguments + 3 : arguments, before->n_positional);
    if (dashes && !before->only_positional)
        complete_offer(c, "--", "", "the command begins here");
    if (!kind[0] || (dashes && !before->only_positional))
        offer_options(c);
    else
        offer_value(c, kind, kind);
}

int complete_words(const struct cli_command *command, const struct poptOption *options, size_t n, const char **words)
{
    const char *last = n ? words[n - 1] : "";
    struct completion c = {.command = command, .options = options, .word = last, .kept = last};
    struct before before = {0};
    for (size_t i = 0; i + 1 < n; i++)
        take_word(&before, &c, words[i]);
    const struct poptOption *option = before.only_positional ? NULL : option_of(options, last);
    const char *equals = strchr(last, '=');
    if (!before.waiting && option && equals && takes_value(option)) {
        c.word = equals + 1;
        c.kept_length = (size_t)(equals + 1 - last);
        before.waiting = option;
    }
    if (before.waiting)
        offer_value(&c, before.waiting->longName, before.waiting->argDescrip ? before.waiting->argDescrip : "");
    else if (last[0] == '-' && !before.only_positional)
        offer_options(&c);
    else
        offer_positional(&c, &before);
    return CLI_OK;
}
