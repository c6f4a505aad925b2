#include "output/ideas_out.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <lineage/text.h>

/* The search ranks trials by their words; trials that `counts` rejects may come before others that count. */
enum { LOOKED_AT = 40, TEXT_SHOWN = 120, CLAIM_SHOWN = 160 };

static void __attribute__((format(printf, 2, 3))) add(json_t *reasons, const char *format, ...)
{
    char text[2048];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    json_array_append_new(reasons, cli_json_text(text));
}

/* The notes of a trial without a score say why it failed. */
void cli_tried_row(json_t *reasons, const struct lineage_trial *row, const char *how)
{
    char score[LINEAGE_NUMBER_MAX] = "", *notes = cli_text_line(row->score.present || !row->notes ? "" : row->notes, TEXT_SHOWN);
    if (row->score.present)
        lineage_number_format(score, row->score.value);
    add(reasons, "tried already: %.80s %s%s%s %s%s%s", row->exp_id, lineage_label_name(row->status), *score ? " " : "", score,
        how, notes && *notes ? ": " : "", notes ? notes : "");
    free(notes);
}

static int check_params(json_t *reasons, struct lineage_store *store, const struct lineage_param *params, size_t n)
{
    struct lineage_cursor *cursor;
    struct lineage_trial trial;
    struct lineage_error err;
    enum lineage_status status = lineage_tried(&cursor, store, params, n, LINEAGE_TOLERANCE, &err);
    while (status == LINEAGE_OK && (status = lineage_cursor_next(cursor, &trial, &err)) == LINEAGE_OK)
        if (json_array_size(reasons) < CLI_TRIED_SHOWN)
            cli_tried_row(reasons, &trial, "with the same parameters");
    lineage_cursor_close(cursor);
    return status == LINEAGE_ENOTFOUND || status == LINEAGE_OK ? CLI_GO_ON : cli_fail(&err);
}

int cli_tried_idea(json_t *reasons, struct lineage_ideas *ideas, const char *hypothesis, cli_tried_counts *counts, void *context)
{
    struct lineage_similar_list list;
    struct lineage_error err;
    size_t shown = 0;
    if (lineage_ideas_similar_text(&list, ideas, hypothesis, LOOKED_AT, &err) != LINEAGE_OK)
        return cli_fail(&err);
    for (size_t i = 0; i < list.n && list.items[i].same && shown < CLI_TRIED_SHOWN; i++) {
        const struct lineage_idea *idea = lineage_ideas_get(ideas, list.items[i].trial);
        char outcome[80];
        if ((!idea->running && idea->status == LINEAGE_HARNESS_ABORT) || (counts && !counts(context, idea)))
            continue;
        cli_idea_outcome(outcome, sizeof outcome, NULL, idea);
        char *line = cli_text_line(idea->hypothesis, TEXT_SHOWN);
        add(reasons, "tried already: %.80s %s (%s): %s", idea->exp_id, outcome, list.items[i].why, line ? line : "");
        free(line);
        shown++;
    }
    lineage_similar_release(&list);
    return CLI_GO_ON;
}

int cli_tried_claims(json_t *reasons, struct lineage_ideas *ideas, const char *hypothesis)
{
    struct lineage_novelty_list list;
    struct lineage_error err;
    if (lineage_ideas_claims_text(&list, ideas, hypothesis, &err) != LINEAGE_OK)
        return cli_fail(&err);
    for (size_t i = 0; i < list.n; i++) {
        char ids[160] = "";
        size_t n = 0;
        for (size_t k = 0; k < list.items[i].n_counter && k < CLI_TRIED_SHOWN; k++) {
            const char *id = lineage_ideas_get(ideas, list.items[i].counter[k])->exp_id;
            if (n + strlen(id) + 3 < sizeof ids)
                n += (size_t)snprintf(ids + n, sizeof ids - n, "%s%s", n ? ", " : "", id);
        }
        char *claim = cli_text_line(list.items[i].claim, CLAIM_SHOWN);
        if (n)
            add(reasons, "the log contradicts '%s': see %s", claim ? claim : "", ids);
        free(claim);
    }
    lineage_novelty_release(&list);
    return CLI_GO_ON;
}

static bool has_no_params(void *store, const struct lineage_idea *idea)
{
    struct lineage_trial row = {0};
    bool none = idea->running || (lineage_find(store, idea->exp_id, &row, NULL) == LINEAGE_OK && row.n_params == 0);
    lineage_trial_release(&row);
    return none;
}

int cli_tried_reasons(json_t *reasons, struct lineage_store *store, const char *hypothesis, const struct lineage_param *params,
                      size_t n_params)
{
    struct lineage_ideas *ideas = NULL;
    struct lineage_error err;
    int status = n_params ? check_params(reasons, store, params, n_params) : CLI_GO_ON;
    if (status != CLI_GO_ON || !hypothesis || !*hypothesis)
        return status;
    if (cli_ideas_alike(&ideas, store, hypothesis, &err) != LINEAGE_OK)
        return cli_fail(&err);
    status = cli_tried_idea(reasons, ideas, hypothesis, n_params ? has_no_params : NULL, store);
    if (status == CLI_GO_ON)
        status = cli_tried_claims(reasons, ideas, hypothesis);
    lineage_ideas_release(ideas);
    return status;
}

int cli_reasons_print(json_t *reasons, int status)
{
    json_t *reason;
    size_t i;
    json_array_foreach(reasons, i, reason)
        cli_error(CLI_NO, "%s", json_string_value(reason));
    if (status == CLI_GO_ON && json_array_size(reasons) > 0)
        status = CLI_NO;
    json_decref(reasons);
    return status;
}

int cli_check_tried(struct lineage_store *store, const char *hypothesis, const struct lineage_param *params, size_t n_params)
{
    json_t *reasons = json_array();
    return cli_reasons_print(reasons, cli_tried_reasons(reasons, store, hypothesis, params, n_params));
}

/* Replaces semicolons in the reason: a semicolon would end this part of the notes, and a `=` after it could set a
 * parameter. */
char *cli_notes_again(const char *notes, const char *reason)
{
    struct cli_writer writer = {0};
    FILE *out = cli_writer_open(&writer);
    if (!out)
        return NULL;
    if (notes && *notes)
        fprintf(out, "%s; ", notes);
    fputs("again: ", out);
    for (const char *c = reason; *c; c++)
        fputc(*c == ';' || (unsigned char)*c < ' ' ? ',' : *c, out);
    return cli_writer_close(&writer);
}
