/* ideas_out.c: a store's trials as a set of ideas, including the running trials, and parts of it as JSON. */
#include <fcntl.h>
#include <unistd.h>

#include <lineage/notes.h>
#include <lineage/search.h>
#include <lineage/text.h>

#include "output/ideas_out.h"
#include "support/running_files.h"

json_t *cli_settings_json(const struct lineage_settings *settings, uint64_t seq)
{
    const struct lineage_setting *setting;
    json_t *object = settings ? json_object() : NULL;
    for (size_t i = 0; settings && i < settings->n; i++) {
        json_t *values = json_array();
        for (size_t k = 0; (setting = lineage_settings_get(settings, seq, i, k)); k++)
            json_array_append_new(
                values, json_pack("{s:o, s:o, s:s, s:o}", "value",
                                  setting->value.present ? cli_json_setting(setting->value.value) : cli_json_text(setting->text),
                                  "text", cli_json_text(setting->text), "source", lineage_change_source_name(setting->source),
                                  "set_by", cli_json_text(setting->set_by)));
        if (json_array_size(values))
            json_object_set(object, settings->names[i].name, values);
        json_decref(values);
    }
    return object;
}

json_t *cli_settings_sources_json(const struct lineage_settings *settings)
{
    json_t *object = json_object();
    for (size_t i = 0; settings && i < settings->n; i++) {
        json_t *sources = json_object();
        for (int s = 0; s < LINEAGE_N_CHANGE_SOURCES; s++)
            if (settings->names[i].sources[s])
                json_object_set_new(sources, lineage_change_source_name((enum lineage_change_source)s),
                                    json_integer((json_int_t)settings->names[i].sources[s]));
        if (json_object_size(sources))
            json_object_set(object, settings->names[i].name, sources);
        json_decref(sources);
    }
    if (json_object_size(object))
        return object;
    json_decref(object);
    return NULL;
}

void cli_settings_add(FILE *out, const struct lineage_settings *settings, uint64_t seq, bool blank)
{
    const struct lineage_setting *setting;
    char quoted[LINEAGE_PARAM_QUOTED_MAX];
    for (size_t i = 0; settings && i < settings->n; i++)
        for (size_t k = 0; (setting = lineage_settings_get(settings, seq, i, k)); k++) {
            char *text = cli_text_line(setting->text, 60);
            bool plain = setting->value.present || !text || !lineage_param_text_ok(text);
            fprintf(out, "%s%s=%s (%s%s%s)", blank ? " " : "", settings->names[i].name,
                    plain ? (text ? text : "") : lineage_param_text_format(quoted, text),
                    lineage_change_source_name(setting->source),
                    setting->own       ? ""
                    : *setting->set_by ? " by "
                                       : " as the first value",
                    setting->own ? "" : setting->set_by);
            free(text);
            blank = true;
        }
}

void cli_settings_explain(FILE *out, const struct lineage_settings *settings, const char *before)
{
    static const char *const verbs[LINEAGE_N_CHANGE_SOURCES][2] = {
        {"trial declares it", "trials declare it"},
        {"trial changes it in its program", "trials change it in their programs"},
        {"trial states it", "trials state it"}};
    for (size_t i = 0; settings && i < settings->n; i++) {
        const struct lineage_setting_name *name = &settings->names[i];
        if (!name->trials && !name->nearest)
            continue;
        fprintf(out, "%s%s", before, name->name);
        const char *between = ": ";
        for (int s = 0; s < LINEAGE_N_CHANGE_SOURCES; s++)
            if (name->trials && name->sources[s]) {
                fprintf(out, "%s%zu %s", between, name->sources[s], verbs[s][name->sources[s] > 1]);
                between = ", ";
            }
        if (!name->trials)
            cli_print(out, ": no trial has it; did you mean '%.60s', a setting that trials changed?", name->nearest);
        fputc('\n', out);
    }
}

struct adding {
    struct lineage_ideas *ideas;
    enum lineage_status status;
    struct lineage_error err;
};

/* O_NOFOLLOW and O_NONBLOCK: the directory belongs to the trial, which may have put anything there. */
static json_t *load_plan(int dir)
{
    int fd = openat(dir, RUNNING_TRIAL, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    json_t *object = fd >= 0 ? json_loadfd(fd, 0, NULL) : NULL;
    cli_close(fd);
    return object;
}

/* The plan of a trial that records itself in Python is the first line of its events. Such a trial has no name of its own. */
static json_t *load_first_event(int dir)
{
    char text[1 << 16];
    int fd = openat(dir, RUNNING_EVENTS, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    ssize_t length = fd >= 0 ? read(fd, text, sizeof text) : -1;
    cli_close(fd);
    const char *end = length > 0 ? memchr(text, '\n', (size_t)length) : NULL;
    json_t *object = end ? json_loadb(text, (size_t)(end - text), 0, NULL) : NULL;
    if (json_is_object(object))
        json_object_del(object, "name");
    return object;
}

static void add_running(void *context, const char *name, int dir, bool held)
{
    struct adding *a = context;
    if (!held || a->status != LINEAGE_OK)
        return;
    json_t *object = load_plan(dir);
    if (!object)
        object = load_first_event(dir);
    if (json_is_object(object) && *cli_json_member(object, "hypothesis")) {
        const char *given = cli_json_member(object, "name");
        struct lineage_trial trial = {.exp_id = *given ? given : name,
                                      .specialist = cli_json_member(object, "specialist"),
                                      .parent_exp = cli_json_member(object, "parent"),
                                      .hypothesis = cli_json_member(object, "hypothesis")};
        a->status = lineage_ideas_add(a->ideas, &trial, true, &a->err);
    }
    json_decref(object);
}

/* The trials of which a set consists; zeroed: all. */
struct chosen {
    const char *near, *alike; /* see lineage_ideas_add_near and lineage_search_ideas */
};

static enum lineage_status read_ideas(struct lineage_ideas **ideas, struct lineage_store *store, const struct chosen *chosen,
                                      cli_ideas_more *more, void *context, struct lineage_error *err)
{
    struct adding a = {0};
    *ideas = NULL;
    a.status = lineage_ideas_new(&a.ideas, &a.err);
    if (a.status == LINEAGE_OK)
        a.status = chosen->near    ? lineage_ideas_add_near(a.ideas, store, chosen->near, NULL, 0, &a.err)
                   : chosen->alike ? lineage_search_ideas(a.ideas, store, chosen->alike, &a.err)
                                   : lineage_ideas_add_store(a.ideas, store, &a.err);
    if (a.status == LINEAGE_OK)
        running_each_dir(lineage_store_dir(store), add_running, &a);
    if (a.status == LINEAGE_OK && more)
        a.status = more(context, a.ideas, &a.err);
    if (a.status == LINEAGE_OK)
        a.status = lineage_ideas_settle(a.ideas, &a.err);
    if (a.status == LINEAGE_OK)
        *ideas = a.ideas;
    else
        lineage_ideas_release(a.ideas);
    *err = a.err;
    return a.status;
}

enum lineage_status cli_ideas_read(struct lineage_ideas **ideas, struct lineage_store *store, cli_ideas_more *more, void *context,
                                   struct lineage_error *err)
{
    return read_ideas(ideas, store, &(struct chosen){0}, more, context, err);
}

int cli_ideas_near(struct lineage_ideas **ideas, struct lineage_store *store, const char *exp_id)
{
    struct lineage_error err;
    return read_ideas(ideas, store, &(struct chosen){.near = exp_id}, NULL, NULL, &err) == LINEAGE_OK ? CLI_OK : cli_fail(&err);
}

enum lineage_status cli_ideas_alike(struct lineage_ideas **ideas, struct lineage_store *store, const char *what,
                                    struct lineage_error *err)
{
    size_t found;
    enum lineage_status status = read_ideas(ideas, store, &(struct chosen){.alike = what}, NULL, NULL, err);
    if (status != LINEAGE_OK || !lineage_ideas_find(&found, *ideas, what) || !lineage_ideas_get(*ideas, found)->running)
        return status;
    /* The name of a running trial, whose words were not known before. */
    struct lineage_ideas *first = *ideas;
    status = read_ideas(ideas, store, &(struct chosen){.alike = lineage_ideas_get(first, found)->hypothesis}, NULL, NULL, err);
    lineage_ideas_release(first);
    return status;
}

int cli_ideas_load(struct lineage_ideas **ideas, struct lineage_store *store)
{
    struct lineage_error err;
    return cli_ideas_read(ideas, store, NULL, NULL, &err) == LINEAGE_OK ? CLI_OK : cli_fail(&err);
}

json_t *cli_changes_json(const struct lineage_ideas *ideas, size_t trial)
{
    json_t *list = json_array();
    struct lineage_change change;
    for (size_t i = 0; lineage_ideas_change_at(&change, ideas, trial, i); i++)
        json_array_append_new(list, json_pack("{s:o, s:o, s:o, s:s}", "name", cli_json_text(change.name), "from",
                                              change.from ? cli_json_text(change.from) : json_null(), "to",
                                              cli_json_text(change.to), "source", lineage_change_source_name(change.source)));
    return list;
}

json_t *cli_effective_json(const struct lineage_ideas *ideas, const struct lineage_effective *settings)
{
    json_t *list = json_array();
    for (size_t i = 0; i < settings->n; i++) {
        const struct lineage_effective_setting *s = &settings->items[i];
        json_array_append_new(list, json_pack("{s:o, s:o, s:s, s:o}", "name", cli_json_text(s->name), "value",
                                              cli_json_text(s->value), "source", lineage_change_source_name(s->source), "set_by",
                                              cli_json_text(lineage_ideas_get(ideas, s->set_by)->exp_id)));
    }
    return list;
}

json_t *cli_idea_ids_json(const struct lineage_ideas *ideas, const size_t *trials, size_t n)
{
    json_t *list = json_array();
    for (size_t i = 0; i < n; i++)
        json_array_append_new(list, cli_json_text(lineage_ideas_get(ideas, trials[i])->exp_id));
    return list;
}

void cli_idea_outcome(char *out, size_t size, const struct cli_screen *screen, const struct lineage_idea *idea)
{
    char score[LINEAGE_NUMBER_MAX];
    if (idea->running)
        snprintf(out, size, "running");
    else if (idea->score.present)
        snprintf(out, size, "%s %s", lineage_label_name(idea->status), cli_number_text(score, screen, idea->score.value));
    else
        snprintf(out, size, "%s", lineage_label_name(idea->status));
}

size_t cli_ideas_best(const struct lineage_ideas *ideas, struct lineage_store *store)
{
    struct lineage_trial best = {0};
    struct lineage_error err;
    size_t index = SIZE_MAX;
    if (lineage_best(store, &best, &err) == LINEAGE_OK && !lineage_ideas_find(&index, ideas, best.exp_id))
        index = SIZE_MAX;
    lineage_trial_release(&best);
    return index;
}
