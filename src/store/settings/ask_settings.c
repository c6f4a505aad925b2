#include "ask_settings.h"

#include <lineage/settings.h>

/* The settings that were found last. They are kept for the next question, because a client that counts and lists, or asks
 * for page after page, names the same settings each time. */
struct settings_state {
    struct lineage_settings found;
    struct log_state log; /* the log that they were read from */
    bool asked;           /* they belong to the last question */
};

void settings_close(struct lineage_store *store)
{
    if (store->settings)
        lineage_settings_release(&store->settings->found);
    free(store->settings);
    store->settings = NULL;
}

const struct lineage_settings *lineage_store_settings(const struct lineage_store *store)
{
    return store->settings && store->settings->asked ? &store->settings->found : NULL;
}

static bool is_current(const struct settings_state *state, const struct mirror_position *at, const char *const *names, size_t n)
{
    bool same = state->found.n == n && log_is_same(&state->log, &at->log) && state->log.size == at->log.size &&
                state->log.revision == at->log.revision && state->log.records == at->log.records;
    for (size_t i = 0; same && i < n; i++)
        same = strcmp(state->found.names[i].name, names[i]) == 0;
    return same;
}

static bool take_answer(void *context, size_t n, const char *const *names, const char *const *texts)
{
    (void)names;
    *(bool *)context = n && texts[0] && strcmp(texts[0], "1") == 0;
    return false;
}

/* Whether it is known that no text and no program of the log changes a setting, so that reading all trials as ideas, which
 * takes seconds for 100,000 trials, would find nothing. */
static bool has_no_changes(struct lineage_store *store)
{
    static const char statement[] = "SELECT (SELECT count(*) FROM readings) >= (SELECT count(*) FROM trials)"
                                    " AND NOT EXISTS (SELECT 1 FROM changes)";
    struct lineage_error ignored;
    bool none = false;
    return lineage_sql(store, statement, take_answer, &none, &ignored) == LINEAGE_OK && none;
}

static enum lineage_status find_settings(struct lineage_store *store, const char *const *names, size_t n,
                                         struct lineage_error *err)
{
    struct lineage_settings found;
    struct lineage_ideas *ideas = NULL;
    if (!store->settings && !(store->settings = calloc(1, sizeof *store->settings)))
        return store_no_memory(err);
    struct settings_state *state = store->settings;
    if (is_current(state, mirror_position(store->mirror), names, n))
        return LINEAGE_OK;
    bool none = has_no_changes(store);
    enum lineage_status status = none ? lineage_ideas_new(&ideas, err) : lineage_ideas_load(&ideas, store, err);
    if (status == LINEAGE_OK && none)
        status = lineage_ideas_settle(ideas, err);
    if (status == LINEAGE_OK)
        status = lineage_settings_find(&found, ideas, names, n, err);
    lineage_ideas_release(ideas);
    for (size_t i = 0; i < n && status == LINEAGE_OK; i++) {
        size_t declared;
        status = mirror_count_declared(store->mirror, names[i], &declared, err);
        if (status == LINEAGE_OK && declared)
            found.names[i].sources[LINEAGE_CHANGE_DECLARED] = declared;
        else if (status != LINEAGE_OK)
            lineage_settings_release(&found);
    }
    TRY(status);
    lineage_settings_release(&state->found);
    state->found = found;
    state->log = mirror_position(store->mirror)->log;
    return LINEAGE_OK;
}

/* Names to look up in words, each once: first those that the mirror does not know, then, if the log is in words, those
 * that few trials declare. */
struct open_names {
    const char **names; /* [n] */
    size_t n, unknown;
};

static enum lineage_status list_open(struct open_names *open, struct lineage_store *store, const struct named_question *named,
                                     struct lineage_error *err)
{
    bool in_words = false;
    TRY(mirror_is_in_words(store->mirror, &in_words, err));
    for (int params = 0; params <= in_words; params++) {
        for (size_t i = 0; i < named->n; i++) {
            enum mirror_name kind;
            bool listed = false;
            TRY(mirror_find_name(store->mirror, named->names[i], &kind, err));
            for (size_t k = 0; k < open->n && !listed; k++)
                listed = strcmp(open->names[k], named->names[i]) == 0;
            if (!listed && kind == (params ? MIRROR_NAME_PARAM : MIRROR_NAME_UNKNOWN))
                open->names[open->n++] = named->names[i];
        }
        open->unknown = params ? open->unknown : open->n;
    }
    return LINEAGE_OK;
}

struct beyond {
    struct lineage_store *store;
    struct named_question named;
    struct open_names open;
    bool may; /* a trial may have what its row does not show */
};

static enum lineage_status ask_beyond(void *question, struct lineage_error *err)
{
    struct beyond *b = question;
    b->open.n = 0;
    TRY(mirror_sync(b->store->mirror, err));
    TRY(list_open(&b->open, b->store, &b->named, err));
    return mirror_may_inherit(b->store->mirror, &b->may, err);
}

enum lineage_status settings_beyond_rows(struct lineage_settings *found, struct lineage_store *store, const char *const *names,
                                         size_t n, struct lineage_error *err)
{
    struct beyond b = {.store = store, .named = {.names = names, .n = n}, .open = {.names = calloc(n + 1, sizeof *b.open.names)}};
    struct lineage_ideas *ideas = NULL;
    *found = (struct lineage_settings){0};
    enum lineage_status status = b.open.names ? mirror_ask(store->mirror, ask_beyond, &b, err) : store_no_memory(err);
    if (status == LINEAGE_OK && (b.may || (b.open.n && !has_no_changes(store))))
        status = lineage_ideas_load(&ideas, store, err);
    if (status == LINEAGE_OK && ideas)
        status = lineage_settings_find(found, ideas, names, n, err);
    lineage_ideas_release(ideas);
    free(b.open.names);
    return status;
}

struct filled {
    struct lineage_store *store;
    const struct named_question *named;
    const char **params; /* [n_params] parameters that trials inherit; NULL: settings in words */
    size_t n_params;
};

static enum lineage_status ask_filled(void *question, struct lineage_error *err)
{
    const struct filled *f = question;
    struct lineage_store *store = f->store;
    enum lineage_status status = mirror_sync(store->mirror, err);
    if (status == LINEAGE_OK) /* another sync must not open the file again, which drops temporary tables */
        status = mirror_open_to_write(store->mirror, err);
    if (status == LINEAGE_OK)
        status = f->params ? mirror_inherited_fill(store->mirror, f->params, f->n_params, err)
                           : mirror_settings_fill(store->mirror, &store->settings->found, f->named->names, f->named->n, err);
    if (status == LINEAGE_OK) {
        store->settings_on = true;
        status = f->named->ask(f->named->question, err);
        store->settings_on = false;
    }
    mirror_settings_drop(store->mirror);
    return status;
}

/* Adds a setting of a similar name to the message about an unknown name: `..'lrr'; did you mean 'lr'? known are ..`. */
static void suggest(struct lineage_error *err, const struct lineage_settings *settings)
{
    char text[sizeof err->text];
    const char *list = strstr(err->text, "; known are");
    for (size_t i = 0; list && i < settings->n; i++) {
        char quoted[80];
        snprintf(quoted, sizeof quoted, "'%.60s'", settings->names[i].name);
        if (settings->names[i].trials || !settings->names[i].nearest || !strstr(err->text, quoted))
            continue;
        snprintf(text, sizeof text, "%.*s; did you mean '%.60s', a setting that trials changed? %s", (int)(list - err->text),
                 err->text, settings->names[i].nearest, list + 2);
        memcpy(err->text, text, sizeof text);
        return;
    }
}

/*
 * If a question names several parameters, a trial that declares one of them has the others from its parents, as in a log in
 * words. *answer is asked anew only if a trial may inherit any.
 */
static enum lineage_status ask_inherited(enum lineage_status *answer, struct filled *filled, struct lineage_error *err)
{
    struct mirror *mirror = filled->store->mirror;
    const struct named_question *named = filled->named;
    enum lineage_status status = LINEAGE_OK;
    bool may = false;
    filled->params = calloc(named->n, sizeof *filled->params);
    if (!filled->params)
        return store_no_memory(err);
    for (size_t i = 0; i < named->n && status == LINEAGE_OK; i++) {
        enum mirror_name kind;
        bool listed = false;
        status = mirror_find_name(mirror, named->names[i], &kind, err);
        for (size_t k = 0; k < filled->n_params && !listed; k++)
            listed = strcmp(filled->params[k], named->names[i]) == 0;
        if (status == LINEAGE_OK && !listed && kind == MIRROR_NAME_PARAM)
            filled->params[filled->n_params++] = named->names[i];
    }
    if (status == LINEAGE_OK && filled->n_params > 1)
        status = mirror_may_inherit(mirror, &may, err);
    if (status == LINEAGE_OK && may)
        *answer = mirror_ask(mirror, ask_filled, filled, err);
    free(filled->params);
    return status;
}

/* If the mirror knows all names of a question, the question has its answer, unless the log is described in words:
 * trials that state a value then belong to the answer as well. */
enum lineage_status ask_settings(struct lineage_store *store, const struct named_question *named, struct lineage_error *err)
{
    struct filled filled = {.store = store, .named = named};
    struct open_names open = {0};
    struct lineage_error why;
    size_t found = 0, unknown_found = 0;
    if (store->settings)
        store->settings->asked = false;
    enum lineage_status answer = mirror_ask(store->mirror, named->ask, named->question, err);
    if ((answer != LINEAGE_OK && answer != LINEAGE_EINVAL) || !named->n)
        return answer;

    open.names = calloc(named->n, sizeof *open.names);
    enum lineage_status status = open.names ? list_open(&open, store, named, &why) : store_no_memory(&why);
    if (status == LINEAGE_OK && open.n && open.n <= LINEAGE_SETTINGS_NAMES) {
        status = find_settings(store, open.names, open.n, &why);
        if (status == LINEAGE_OK)
            store->settings->asked = true;
        for (size_t i = 0; i < open.n && status == LINEAGE_OK; i++) {
            found += store->settings->found.names[i].trials > 0;
            unknown_found += i < open.unknown && store->settings->found.names[i].trials > 0;
        }
    }
    free(open.names);
    if (status != LINEAGE_OK)
        return store_give(err, &why);
    if (found && (unknown_found == open.unknown || named->untold))
        return mirror_ask(store->mirror, ask_filled, &filled, err);
    if (answer == LINEAGE_OK && named->n > 1) {
        status = ask_inherited(&answer, &filled, &why);
        status = status == LINEAGE_OK ? answer : status;
    }
    if (status != LINEAGE_OK)
        return store_give(err, &why);
    if (answer == LINEAGE_EINVAL && err && store->settings)
        suggest(err, &store->settings->found);
    return answer;
}

enum lineage_status ask_settings_of_query(struct lineage_store *store, const struct lineage_query *query, mirror_question_fn *ask,
                                          void *question, struct lineage_error *err)
{
    struct named_question named = {.ask = ask, .question = question};
    const char **names = calloc(query->n_conditions + 1, sizeof *names);
    if (!names)
        return store_no_memory(err);
    for (size_t i = 0; i < query->n_conditions; i++)
        names[named.n++] = query->conditions[i].name;
    if (query->sort)
        names[named.n++] = query->sort + (query->sort[0] == '-');
    named.names = names;
    enum lineage_status status = ask_settings(store, &named, err);
    free(names);
    return status;
}
