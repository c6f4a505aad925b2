/*
 * failures.c: how trials failed, which specialists they belonged to, and the reasons in their notes.
 *
 * Reasons come from the newest failures only: an old crash that was fixed tells the next agent nothing, and the cost
 * must not grow with the number of failures.
 */

#include <lineage/notes.h>

#include "report_parts.h"

#define LOOKED_AT 24 /* newest failures of a label that are read */

/* Names break ties, so that classes with equal counts keep their order between two renderings. */
static int by_failures(const void *a, const void *b)
{
    const struct lineage_report_failure *x = a, *y = b;
    if (x->n != y->n)
        return x->n < y->n ? 1 : -1;
    return strcmp(lineage_label_name(x->label), lineage_label_name(y->label));
}

/* The specialist with most failures first; names break ties, for the same bytes each time. */
static int by_count(const void *a, const void *b)
{
    const struct lineage_report_count *x = a, *y = b;
    if (x->n != y->n)
        return x->n < y->n ? 1 : -1;
    return strcmp(x->specialist, y->specialist);
}

/* Uses the sums that were read already, and allocates room for every specialist. */
static enum lineage_status count_specialists(struct report_load *load, struct lineage_report_failure *failure,
                                             struct lineage_error *err)
{
    struct lineage_report_count *specialists;
    enum lineage_status status = arena_items(&load->arena, load->n_counts, sizeof *specialists, &specialists, err);
    for (size_t i = 0; status == LINEAGE_OK && i < load->n_counts; i++)
        if (load->counts[i].label == failure->label)
            specialists[failure->n_specialists++] = (struct lineage_report_count){load->counts[i].specialist, load->counts[i].n};
    if (status == LINEAGE_OK)
        qsort(specialists, failure->n_specialists, sizeof *specialists, by_count);
    failure->specialists = specialists;
    return status;
}

/*
 * Removes the parts that differ between trials that failed alike: the step, the forecast, and the seed.
 */
static void drop_details(char *reason)
{
    static const char step[] = " after step ";
    char *at = strstr(reason, ": at this pace "), *end;
    if (at)
        *at = '\0';
    if ((at = strstr(reason, ", with seed ")))
        *at = '\0';
    if ((at = strstr(reason, step))) {
        end = at + sizeof step - 1 + strspn(at + sizeof step - 1, "0123456789");
        if (strncmp(end, " of ", 4) == 0)
            end += 4 + strspn(end + 4, "0123456789");
        memmove(at, end, strlen(end) + 1);
    }
}

enum { REMARK_MAX = 160 };

/* A long text without a bar and an error behind it is the planner's own description of its idea, which does not explain
 * the failure. */
static const char *remark_or_nothing(const char *remark)
{
    return remark && strlen(remark) > REMARK_MAX ? "" : remark;
}

/*
 * The reason that a trial of this project states, or what another harness of this format wrote: the error after the
 * planner's own words and a bar.
 */
static const char *reason_of(struct arena *arena, const struct lineage_trial *trial)
{
    static const char bar[] = " | ";
    const char *own = lineage_notes_reason(trial->notes);
    if (*own) {
        const char *copy = arena_text(arena, own, strcspn(own, ";"));
        if (copy)
            drop_details((char *)(uintptr_t)copy);
        return copy;
    }
    const char *remark = notes_remark(trial->notes, arena), *last = NULL;
    for (const char *at = remark; at && (at = strstr(at, bar)); at += sizeof bar - 1)
        last = at + sizeof bar - 1;
    return last && *last ? last : remark_or_nothing(remark);
}

const char *lineage_failure_reason(char out[LINEAGE_REASON_MAX], const struct lineage_trial *trial)
{
    SCOPED_ARENA arena = {0};
    const char *reason = reason_of(&arena, trial);
    snprintf(out, LINEAGE_REASON_MAX, "%s", reason ? reason : "");
    return out;
}

/*
 * For a harness that records what it measured: by how much the trials of this label exceeded a limit that kept trials met.
 * *text is NULL if the log does not have it.
 */
static enum lineage_status describe_wall(struct report_load *load, enum lineage_label label, const char **text,
                                         struct lineage_error *err)
{
    static const struct {
        enum lineage_label label;
        const char *name;
    } measures[] = {{LINEAGE_EVAL_BUDGET_OVERRUN, "eval_s"},
                    {LINEAGE_TRAIN_BUDGET_OVERRUN, "train_s"},
                    {LINEAGE_SIZE_BLOCKED, "artifact_bytes"}};
    struct mirror_wall wall = {.n = 0};
    char line[200];
    *text = NULL;
    for (size_t i = 0; i < sizeof measures / sizeof *measures; i++) {
        if (measures[i].label != label)
            continue;
        enum lineage_status status = mirror_wall_measure(load->store->mirror, label, measures[i].name, &wall, err);
        if (status != LINEAGE_OK || !wall.n || !wall.kept_n || wall.low <= wall.kept_high)
            return status;
        int n = snprintf(line, sizeof line, "%s %.9g", measures[i].name, wall.low);
        if (wall.high > wall.low)
            n += snprintf(line + n, sizeof line - (size_t)n, " to %.9g", wall.high);
        snprintf(line + n, sizeof line - (size_t)n, "; kept trials have at most %.9g", wall.kept_high);
        *text = arena_text(&load->arena, line, strlen(line));
        return *text ? LINEAGE_OK : store_no_memory(err);
    }
    return LINEAGE_OK;
}

/* More frequent first; among equals the newer one, which was found first, stays in front. */
static void put_in_order(struct lineage_report_reason *reasons, size_t at)
{
    for (; at && reasons[at].n > reasons[at - 1].n; at--) {
        struct lineage_report_reason before = reasons[at - 1];
        reasons[at - 1] = reasons[at];
        reasons[at] = before;
    }
}

/* The trials come newest first, so the first one with a reason is the newest. */
static enum lineage_status find_reasons(struct report_load *load, struct lineage_report_failure *failure,
                                        struct lineage_error *err)
{
    struct lineage_trial *trials;
    struct lineage_report_reason *reasons;
    const char *wall = NULL;
    size_t n;
    enum lineage_status status = describe_wall(load, failure->label, &wall, err);
    if (status == LINEAGE_OK)
        status = mirror_newest_failed(load->store->mirror, failure->label, LOOKED_AT, &trials, &n, &load->arena, err);
    if (status == LINEAGE_OK)
        status = arena_items(&load->arena, n, sizeof *reasons, &reasons, err);
    for (size_t i = 0; status == LINEAGE_OK && i < n; i++) {
        size_t at = 0;
        const char *text = wall && !*lineage_notes_reason(trials[i].notes) ? wall : reason_of(&load->arena, &trials[i]);
        if (!text)
            return store_no_memory(err);
        /* Reasons are compared exactly: two dozen texts do not need a hash, and a fuzzy match would merge different
         * causes. */
        while (at < failure->n_reasons && strcmp(reasons[at].text, text) != 0)
            at++;
        if (at == failure->n_reasons)
            reasons[failure->n_reasons++] =
                (struct lineage_report_reason){text, trials[i].exp_id, 0, lineage_notes_cause(trials[i].notes)};
        reasons[at].n++;
        put_in_order(reasons, at);
    }
    failure->looked_at = n;
    failure->reasons = reasons;
    return status;
}

/* Sorts labels by their number of failures, because an agent reads only the first one or two. */
enum lineage_status report_failures(struct report_load *load, struct lineage_error *err)
{
    struct lineage_report *report = &load->report;
    struct lineage_report_failure *failures;
    enum lineage_status status = arena_items(&load->arena, LINEAGE_N_LABELS, sizeof *failures, &failures, err);
    for (int i = 0; status == LINEAGE_OK && i < LINEAGE_N_LABELS; i++)
        if (report->labels[i] && lineage_label_is_failure((enum lineage_label)i)) {
            struct lineage_report_failure *failure = &failures[report->n_failures++];
            *failure = (struct lineage_report_failure){.label = (enum lineage_label)i, .n = report->labels[i]};
            status = count_specialists(load, failure, err);
            if (status == LINEAGE_OK)
                status = find_reasons(load, failure, err);
        }
    if (status == LINEAGE_OK)
        qsort(failures, report->n_failures, sizeof *failures, by_failures);
    report->failures = failures;
    return status;
}
