#include "output/lease_idea.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
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
    json_t *params;               /* those of the idea */
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

static bool same_params(const json_t *a, const json_t *b)
{
    const char *name;
    json_t *value;
    if (json_object_size(a) == 0 || json_object_size(a) != json_object_size(b))
        return false;
    json_object_foreach((json_t *)(uintptr_t)a, name, value)
        if (!same_value(value, json_object_get(b, name)))
            return false;
    return true;
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

/* Says the text at once if the parameters are the same; parameters decide alone where both have them. */
static void compare(struct asking *a, const json_t *params, const char *hypothesis, const char *text)
{
    const bool both = json_object_size(params) > 0 && json_object_size(a->params) > 0;
    if (both && same_params(a->params, params))
        json_array_append_new(a->reasons, cli_json_text(text));
    else if (!both && *hypothesis && a->idea->hypothesis && *a->idea->hypothesis)
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
    struct asking a = {.reasons = reasons, .idea = idea, .store = lineage_store_dir(store)};
    struct running_trials trials = {.n = 0};
    a.params = cli_json_params(idea->params, idea->n_params);
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
    return a.status == LINEAGE_OK ? CLI_GO_ON : cli_fail(&a.err);
}

struct ending {
    const struct lease_idea *idea;
    const json_t *params;
    const char *store;
};

/* An agent's earlier lease of these words or these parameters becomes the new one. */
static void end_own(void *context, const struct lease *lease)
{
    const struct ending *e = context;
    const char *hypothesis = cli_json_member(lease->object, "hypothesis");
    const json_t *params = json_object_get(lease->object, "params");
    if (strcmp(lease->agent, e->idea->agent) == 0 && !lease->runs &&
        (same_params(params, e->params) || (*hypothesis && e->idea->hypothesis && strcmp(hypothesis, e->idea->hypothesis) == 0)))
        lease_remove(e->store, lease->id);
}

int lease_take(char id[LEASE_ID_BYTES], struct lineage_store *store, const struct lease_idea *idea, double seconds, int *hold)
{
    const char *dir = lineage_store_dir(store);
    char made[LINEAGE_TIME_MAX];
    if (!secret_params_absent(idea->params, idea->n_params, lineage_store_harmless_names(store)))
        return CLI_USAGE;
    json_t *params = cli_json_params(idea->params, idea->n_params);
    const struct ending ending = {idea, params, dir};
    if (*idea->agent)
        leases_each(dir, end_own, (void *)(uintptr_t)&ending);
    json_t *object =
        json_pack("{s:s, s:o, s:o, s:s, s:f, s:b}", "agent", idea->agent, "hypothesis",
                  cli_json_text(idea->hypothesis ? idea->hypothesis : ""), "params", params, "made",
                  lineage_time_format(made, (int64_t)time(NULL)), "until", (double)time(NULL) + seconds, "runs", hold != NULL);
    bool good = object && lease_write(id, dir, object, hold);
    json_decref(object);
    return good ? CLI_GO_ON : CLI_SYSTEM;
}
