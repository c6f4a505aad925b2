/* check_tried.c: see check_tried.h. */
#include "output/check_tried.h"

#include <stdlib.h>
#include <string.h>

#include "output/ideas_out.h"

enum { SHOWN = 5 };

/* A trial with harness_abort says nothing about its setting, so it does not count as tried. */
static int check_params(struct lineage_store *store, const struct lineage_param *params, size_t n)
{
    struct lineage_cursor *cursor;
    struct lineage_trial trial;
    struct lineage_error err;
    size_t found = 0;
    enum lineage_status status = lineage_tried(&cursor, store, params, n, 1e-9, &err);
    while (status == LINEAGE_OK && (status = lineage_cursor_next(cursor, &trial, &err)) == LINEAGE_OK) {
        if (trial.status == LINEAGE_HARNESS_ABORT || found++ >= SHOWN)
            continue;
        char *reason = cli_text_line(trial.notes, 120);
        cli_error(CLI_NO, "tried already: %s %s with the same parameters%s%s", trial.exp_id, lineage_label_name(trial.status),
                  reason && *reason ? ": " : "", reason ? reason : "");
        free(reason);
    }
    lineage_cursor_close(cursor);
    if (status != LINEAGE_ENOTFOUND && status != LINEAGE_OK)
        return cli_fail(&err);
    return found ? CLI_NO : CLI_GO_ON;
}

static int check_similar(struct lineage_ideas *ideas, const char *hypothesis)
{
    struct lineage_similar_list list;
    struct lineage_error err;
    int status = CLI_GO_ON;
    if (lineage_ideas_similar_text(&list, ideas, hypothesis, SHOWN, &err) != LINEAGE_OK)
        return cli_fail(&err);
    for (size_t i = 0; i < list.n; i++) {
        const struct lineage_idea *idea = lineage_ideas_get(ideas, list.items[i].trial);
        char outcome[80];
        if (!list.items[i].same)
            continue;
        cli_idea_outcome(outcome, sizeof outcome, idea);
        char *text = cli_text_line(idea->hypothesis, 120);
        status = cli_error(CLI_NO, "tried already: %s %s (%s): %s", idea->exp_id, outcome, list.items[i].why, text ? text : "");
        free(text);
    }
    lineage_similar_release(&list);
    return status;
}

static int check_claims(struct lineage_ideas *ideas, const char *hypothesis)
{
    struct lineage_novelty_list list;
    struct lineage_error err;
    int status = CLI_GO_ON;
    if (lineage_ideas_claims_text(&list, ideas, hypothesis, &err) != LINEAGE_OK)
        return cli_fail(&err);
    for (size_t i = 0; i < list.n; i++) {
        char ids[160] = "";
        size_t n = 0;
        for (size_t k = 0; k < list.items[i].n_counter && k < SHOWN; k++) {
            const char *id = lineage_ideas_get(ideas, list.items[i].counter[k])->exp_id;
            if (n + strlen(id) + 3 < sizeof ids)
                n += (size_t)snprintf(ids + n, sizeof ids - n, "%s%s", k ? ", " : "", id);
        }
        char *claim = cli_text_line(list.items[i].claim, 160);
        if (n)
            status = cli_error(CLI_NO, "the log contradicts '%s': see %s", claim ? claim : "", ids);
        free(claim);
    }
    lineage_novelty_release(&list);
    return status;
}

int cli_check_tried(struct lineage_store *store, const char *hypothesis, const struct lineage_param *params, size_t n_params)
{
    struct lineage_ideas *ideas;
    int repeated = n_params ? check_params(store, params, n_params) : CLI_GO_ON;
    if ((repeated != CLI_GO_ON && repeated != CLI_NO) || !hypothesis || !*hypothesis)
        return repeated;
    int status = cli_ideas_load(&ideas, store);
    if (status != CLI_OK)
        return status;
    status = n_params ? CLI_GO_ON : check_similar(ideas, hypothesis);
    if (status == CLI_GO_ON || status == CLI_NO) {
        int claims = check_claims(ideas, hypothesis);
        status = claims == CLI_GO_ON ? status : claims;
    }
    lineage_ideas_release(ideas);
    return status == CLI_GO_ON ? repeated : status;
}

/* Replaces semicolons in the reason: a semicolon would end this part of the notes, and a `=` after it could set a
 * parameter. */
char *cli_notes_again(const char *notes, const char *reason)
{
    char *text = NULL;
    size_t length = 0;
    FILE *out = open_memstream(&text, &length);
    if (!out)
        return NULL;
    if (notes && *notes)
        fprintf(out, "%s; ", notes);
    fputs("again: ", out);
    for (const char *c = reason; *c; c++)
        fputc(*c == ';' || (unsigned char)*c < ' ' ? ',' : *c, out);
    if (fclose(out) == 0)
        return text;
    free(text);
    return NULL;
}
