#include "output/lease_idea.h"

#include <time.h>

#include <lineage/ideas.h>
#include <lineage/text.h>
#include <lineage/time.h>

#include "support/running_trials.h"
#include "support/secrets.h"

enum { TEXT_SHOWN = 120, ALIKE = 20 };

struct asking {
    json_t *reasons;
    const struct lease_idea *idea;
    const char *store;
    bool beside_trials;
    json_t *params;               /* those of the idea */
    json_t *base;                 /* those of the best trial */
    struct lineage_ideas *others; /* the hypotheses to compare with the idea's words; their ids are places in `texts` */
    json_t *texts;                /* the reasons that they would be */
    enum lineage_status status;
    struct lineage_error err;
};

static bool same_value(const json_t *a, const json_t *b)
{
    const double x = json_number_value(a), y = json_number_value(b);
    if (json_is_number(a) && json_is_number(b))
        return fabs(x - y) <= LINEAGE_TOLERANCE * fmax(fabs(x), fabs(y));
    return json_is_string(a) && json_is_string(b) && lineage_quantity_equal(json_string_value(a), json_string_value(b));
}

/* Whether b, or the best trial where b does not name it, has each value of a. */
static bool has_values(const json_t *a, const json_t *b, const json_t *base)
{
    const char *name;
    json_t *value;
    json_object_foreach((json_t *)(uintptr_t)a, name, value) {
        const json_t *other = json_object_get(b, name);
        if (!same_value(value, other ? other : json_object_get(base, name)))
            return false;
    }
    return json_object_size(a) > 0;
}

static bool same_params(const json_t *a, const json_t *b, const json_t *base)
{
    return has_values(a, b, base) && has_values(b, a, base);
}

static json_t *params_of_best(struct lineage_store *store)
{
    struct lineage_trial best = {0};
    struct lineage_error err;
    json_t *params =
        lineage_best_kept(store, &best, &err) == LINEAGE_OK ? cli_json_params(best.params, best.n_params) : json_object();
    lineage_trial_release(&best);
    return params;
}

/* Whether the words state each of the parameters. */
static bool words_state(struct asking *a, const char *words, const json_t *params)
{
    const struct lineage_trial trial = {.exp_id = "", .specialist = "", .parent_exp = "", .hypothesis = words};
    struct lineage_ideas *ideas = NULL;
    const char *name;
    json_t *value;
    bool states = json_object_size(params) > 0 && *words;
    if (!states || (a->status = lineage_ideas_new(&ideas, &a->err)) != LINEAGE_OK)
        return false;
    if ((a->status = lineage_ideas_add(ideas, &trial, true, &a->err)) == LINEAGE_OK)
        a->status = lineage_ideas_settle(ideas, &a->err);
    json_object_foreach((json_t *)(uintptr_t)params, name, value) {
        struct lineage_similar_list list;
        char text[400], number[LINEAGE_NUMBER_MAX];
        states = states && (json_is_number(value) || json_is_string(value)); /* the file may be anybody's */
        if (!states)
            break;
        if (json_is_number(value))
            lineage_number_format(number, json_number_value(value));
        snprintf(text, sizeof text, "%s=%.200s", name, json_is_number(value) ? number : json_string_value(value));
        if (a->status != LINEAGE_OK || (a->status = lineage_ideas_similar_text(&list, ideas, text, 1, &a->err)) != LINEAGE_OK)
            break;
        states = list.n && list.items[0].same;
        lineage_similar_release(&list);
    }
    lineage_ideas_release(ideas);
    return states && a->status == LINEAGE_OK;
}

static void add_words(struct asking *a, const char *hypothesis, const char *text)
{
    char place[24];
    const struct lineage_trial trial = {.exp_id = place, .specialist = "", .parent_exp = "", .hypothesis = hypothesis};
    snprintf(place, sizeof place, "%zu", json_array_size(a->texts));
    if (a->status == LINEAGE_OK && !a->others)
        a->status = lineage_ideas_new(&a->others, &a->err);
    if (a->status == LINEAGE_OK)
        a->status = lineage_ideas_add(a->others, &trial, true, &a->err);
    json_array_append_new(a->texts, cli_json_text(text));
}

/* Says the text at once if the parameters are the same, or the words of one are the parameters of the other; parameters decide alone
 * where both have them. */
static void compare(struct asking *a, const json_t *params, const char *hypothesis, const char *text)
{
    const bool both = json_object_size(params) > 0 && json_object_size(a->params) > 0;
    const char *own = a->idea->hypothesis ? a->idea->hypothesis : "";
    if (a->status != LINEAGE_OK)
        return;
    if (both ? same_params(a->params, params, a->base) : words_state(a, hypothesis, a->params) || words_state(a, own, params))
        json_array_append_new(a->reasons, cli_json_text(text));
    else if (!both && *hypothesis && *own)
        add_words(a, hypothesis, text);
}

static void describe(char *out, size_t size, const char *who, const char *hypothesis, const json_t *params)
{
    size_t length;
    char *line = cli_text_line(hypothesis, TEXT_SHOWN),
         *settings = json_object_size(params) ? cli_json_compact(params, &length) : NULL;
    snprintf(out, size, "%s: %s%s%.300s", who, line ? line : "", line && *line && settings ? " " : "", settings ? settings : "");
    free(line);
    free(settings);
}

static void compare_lease(void *context, const struct lease *lease)
{
    struct asking *a = context;
    char who[400], text[1024], left[32];
    const json_t *params = json_object_get(lease->object, "params");
    const char *hypothesis = cli_json_member(lease->object, "hypothesis");
    if (*a->idea->agent && strcmp(lease->agent, a->idea->agent) == 0 && !lease->runs)
        return;
    if (!*a->idea->agent && !*lease->agent && !a->beside_trials) /* two runs of nobody claim nothing */
        return;
    cli_duration_format(left, lease->runs ? 0 : lease->left);
    snprintf(who, sizeof who, "%.90s %s this (lease %s%s%s)", *lease->agent ? lease->agent : "another run",
             lease->runs ? "trains" : "has leased", lease->id, lease->runs ? "" : ", left: ", lease->runs ? "" : left);
    describe(text, sizeof text, who, hypothesis, params);
    compare(a, params, hypothesis, text);
}

/* Trials without a lease; one with a lease is found by that. */
static void compare_running(struct asking *a, const struct running_trial *t)
{
    char who[400], text[1024];
    if (!t->held)
        return;
    snprintf(who, sizeof who, "a trial that runs does this (%.200s)", t->name[0] ? t->name : t->job);
    describe(text, sizeof text, who, t->hypothesis, t->params);
    compare(a, t->params, t->hypothesis, text);
}

static void settle_words(struct asking *a)
{
    struct lineage_similar_list list;
    if (a->status != LINEAGE_OK || !a->others || (a->status = lineage_ideas_settle(a->others, &a->err)) != LINEAGE_OK ||
        (a->status = lineage_ideas_similar_text(&list, a->others, a->idea->hypothesis, ALIKE, &a->err)) != LINEAGE_OK)
        return;
    for (size_t i = 0; i < list.n; i++)
        if (list.items[i].same)
            json_array_append(
                a->reasons,
                json_array_get(a->texts, strtoul(lineage_ideas_get(a->others, list.items[i].trial)->exp_id, NULL, 10)));
    lineage_similar_release(&list);
}

int lease_reasons(json_t *reasons, struct lineage_store *store, const struct lease_idea *idea, bool beside_trials)
{
    struct asking a = {.reasons = reasons, .idea = idea, .store = lineage_store_dir(store), .beside_trials = beside_trials};
    struct running_trials trials = {.n = 0};
    a.params = cli_json_params(idea->params, idea->n_params);
    a.base = params_of_best(store);
    a.texts = json_array();
    leases_each(a.store, compare_lease, &a);
    const size_t leased = json_array_size(reasons) + json_array_size(a.texts);
    if (beside_trials && !leased)
        a.status = running_trials_load(&trials, store, &a.err);
    for (size_t i = 0; a.status == LINEAGE_OK && i < trials.n; i++)
        compare_running(&a, &trials.list[i]);
    settle_words(&a);
    running_trials_release(&trials);
    lineage_ideas_release(a.others);
    json_decref(a.texts);
    json_decref(a.params);
    json_decref(a.base);
    return a.status == LINEAGE_OK ? CLI_GO_ON : cli_fail(&a.err);
}

struct ending {
    const struct lease_idea *idea;
    const json_t *params, *base;
    const char *store;
};

/* An agent's earlier lease of these words or these parameters becomes the new one. */
static void end_own(void *context, const struct lease *lease)
{
    const struct ending *e = context;
    const char *hypothesis = cli_json_member(lease->object, "hypothesis");
    const json_t *params = json_object_get(lease->object, "params");
    if (strcmp(lease->agent, e->idea->agent) == 0 && !lease->runs &&
        (same_params(params, e->params, e->base) ||
         (*hypothesis && e->idea->hypothesis && strcmp(hypothesis, e->idea->hypothesis) == 0)))
        lease_remove(e->store, lease->id);
}

int lease_take(char id[LEASE_ID_BYTES], struct lineage_store *store, const struct lease_idea *idea, double seconds, int *hold)
{
    const char *dir = lineage_store_dir(store);
    char made[LINEAGE_TIME_MAX];
    if (!secret_params_absent(idea->params, idea->n_params, lineage_store_harmless_names(store)))
        return CLI_USAGE;
    json_t *params = cli_json_params(idea->params, idea->n_params);
    json_t *base = params_of_best(store);
    const struct ending ending = {idea, params, base, dir};
    if (*idea->agent)
        leases_each(dir, end_own, (void *)(uintptr_t)&ending);
    json_t *object =
        json_pack("{s:s, s:o, s:o, s:s, s:f, s:b}", "agent", idea->agent, "hypothesis",
                  cli_json_text(idea->hypothesis ? idea->hypothesis : ""), "params", params, "made",
                  lineage_time_format(made, (int64_t)time(NULL)), "until", (double)time(NULL) + seconds, "runs", hold != NULL);
    bool good = object && lease_write(id, dir, object, hold);
    json_decref(object);
    json_decref(base);
    return good ? CLI_GO_ON : CLI_SYSTEM;
}
