#include "night/night.h"

#include <lineage/voids.h>

bool night_ending_is_measured(const struct night_ending *ending)
{
    return !ending->late &&
           (ending->label == LINEAGE_KEEP || ending->label == LINEAGE_DISCARD || ending->label == LINEAGE_BASELINE);
}

static void forget_ids(struct repeated_failures *failures)
{
    for (size_t i = 0; i < failures->n_ids; i++)
        free(failures->ids[i]);
    failures->n_ids = 0;
}

void repeated_failures_release(struct repeated_failures *failures)
{
    forget_ids(failures);
    json_decref(failures->shared);
}

/* A trial that reported something may have failed because of its settings. */
static bool blames_no_setting(const struct night_ending *ending)
{
    return ending->evidence[0] && !ending->begun;
}

/* Whether the trial has the setting. The settings of a recipe are in its name, `lr=0.1 heads=6`. */
static bool has_setting(const struct night_trial *trial, const char *name, const json_t *value)
{
    size_t n = strlen(name);
    if (trial->command)
        return json_equal(json_object_get(json_object_get(trial->command, "params"), name), value);
    for (const char *at = trial->name; (at = strstr(at, name)); at += n)
        if ((at == trial->name || strchr(" ,", at[-1])) && at[n] == '=' &&
            strcspn(at + n + 1, " ,") == json_string_length(value) &&
            strncmp(at + n + 1, json_string_value(value), json_string_length(value)) == 0)
            return true;
    return false;
}

static json_t *settings_of(const struct night_trial *trial)
{
    json_t *settings = json_object();
    if (trial->command) {
        json_object_update(settings, json_object_get(trial->command, "params"));
        return settings;
    }
    for (const char *at = trial->name; *at; at += strcspn(at, " ,"), at += strspn(at, " ,")) {
        size_t n = strcspn(at, "= ,"), length = at[n] == '=' ? strcspn(at + n + 1, " ,") : 0;
        char name[LINEAGE_NAME_MAX];
        if (n < sizeof name && length && snprintf(name, sizeof name, "%.*s", (int)n, at) > 0)
            json_object_set_new(settings, name, json_stringn(at + n + 1, length));
    }
    return settings;
}

/* Whether some trial of the sweep lacks the setting and has not failed: it was measured, or is still to be run. */
static bool others_lack(const struct trial_list *list, const char *name, const json_t *value)
{
    for (size_t i = 0; i < list->sweep.n; i++)
        if (!has_setting(&list->trials[i], name, value) &&
            (!list->trials[i].exp_id || lineage_label_is_measured(list->trials[i].label)))
            return true;
    return false;
}

/* Keeps the settings that this failed trial has as well, and looks whether one of them explains the failures. */
static void share_settings(struct repeated_failures *failures, const struct trial_list *list, size_t i, bool first)
{
    const char *name;
    json_t *value;
    void *next;
    if (first) {
        json_decref(failures->shared);
        failures->shared = settings_of(&list->trials[i]);
    }
    failures->suspect = false;
    json_object_foreach_safe(failures->shared, next, name, value)
        if (!has_setting(&list->trials[i], name, value))
            json_object_del(failures->shared, name);
        else
            failures->suspect = failures->suspect || others_lack(list, name, value);
}

static size_t limit_of(const struct repeated_failures *failures)
{
    return failures->last.lacks && failures->same && failures->stop_after > REPEATED_LACKS ? REPEATED_LACKS
                                                                                           : failures->stop_after;
}

bool repeated_failures_suspect(const struct repeated_failures *failures, const struct trial_list *list, size_t i)
{
    const char *name;
    json_t *value;
    if (!failures->suspect || !limit_of(failures) || failures->n < limit_of(failures))
        return false;
    json_object_foreach(failures->shared, name, value)
        if (has_setting(&list->trials[i], name, value) && others_lack(list, name, value))
            return true;
    return false;
}

bool failure_is_of_a_setting(const struct trial_list *list, size_t i)
{
    json_t *settings = settings_of(&list->trials[i]), *value;
    const char *name;
    bool blamed = false;
    json_object_foreach(settings, name, value) {
        bool measured = false, failed = false;
        for (size_t k = 0; k < list->sweep.n; k++) {
            const struct night_trial *other = &list->trials[k];
            if (k == i || !other->exp_id || !has_setting(other, name, value))
                continue;
            measured = measured || lineage_label_is_measured(other->label);
            failed = failed || !lineage_label_is_measured(other->label);
        }
        blamed = blamed || (failed && !measured);
    }
    json_decref(settings);
    return blamed;
}

/* Skips rows that are void already and rows that do not count anyway. */
static void void_rows(struct repeated_failures *failures, struct lineage_store *store)
{
    char reason[TRIAL_EVIDENCE_MAX + 64];
    size_t n = 0;
    snprintf(reason, sizeof reason, "%zu trials in a row failed alike: %s", failures->n, failures->last.evidence);
    for (size_t i = 0; i < failures->n_ids && failures->last.label != LINEAGE_HARNESS_ABORT; i++) {
        struct lineage_error err;
        enum lineage_status status = lineage_void_append(store, failures->ids[i], reason, NULL, &err);
        n += status == LINEAGE_OK;
        if (status != LINEAGE_OK && status != LINEAGE_EINVAL)
            cli_fail(&err);
    }
    forget_ids(failures);
    if (n)
        cli_say("their rows are void, so that a later night runs them again: `lineage void` lists them");
}

/*
 * A full disk or a missing driver makes every trial fail, which would leave hundreds of rows. Failures are compared by
 * label, exit status and signal. A trial that ran out of memory does not count: a smaller one may fit. Messages do not decide whether the night stops, because they may contain a time or an
 * address. Rows are voided only if error and place are equal, too.
 */
int repeated_failures_count(struct repeated_failures *failures, const struct night_ending *ending, const struct trial_list *list,
                            size_t i)
{
    size_t left = 0;
    const struct night_ending *last = &failures->last;
    bool lacks = ending->lacks && (ending->end == TRIAL_FAILED || ending->end == TRIAL_PREFLIGHT_FAILED);
    bool failed = !ending->late && !night_ending_is_measured(ending) && ending->cause != LINEAGE_CAUSE_MEMORY &&
                  (ending->label != LINEAGE_HARNESS_ABORT || lacks);
    bool alike = last->label == ending->label && last->end == ending->end && last->exit_status == ending->exit_status &&
                 last->signal == ending->signal;
    bool first = !failed || failures->n == 0 || !alike;
    failures->same =
        failed && blames_no_setting(ending) && (first || (failures->same && strcmp(last->evidence, ending->evidence) == 0));
    failures->n = !failed ? 0 : first ? 1 : failures->n + 1;
    if (first || !failures->same)
        forget_ids(failures);
    if (failures->same && failures->n_ids < REPEATED_IDS_MAX && (failures->ids[failures->n_ids] = strdup(list->trials[i].exp_id)))
        failures->n_ids++;
    failures->last = *ending;
    failures->last.lacks = lacks;
    if (failed)
        share_settings(failures, list, i, first);
    size_t limit = limit_of(failures);
    if (!limit || failures->n < limit || failures->suspect)
        return CLI_GO_ON;
    for (size_t k = 0; k < list->sweep.n; k++)
        left += !list->trials[k].exp_id;
    if (left)
        fprintf(stderr, "lineage: %zu trial%s left; the next night begins with %s; --stop-after 0 runs all of them\n", left,
                left > 1 ? "s are" : " is", left > 1 ? "those" : "it");
    if (!failures->same)
        return cli_error(CLI_SYSTEM, "the night stops: %zu trials in a row ended as %s with the same evidence (--stop-after)",
                         failures->n, lineage_label_name(ending->label));
    cli_error(CLI_SYSTEM, "the night stops: %zu trials in a row ended as %s with the same evidence: %s (--stop-after)",
              failures->n, lineage_label_name(ending->label), ending->evidence);
    void_rows(failures, list->store);
    return CLI_SYSTEM;
}
