/* setting_digest.c: implements setting_digest.h. */
#include "setting_digest.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>
#include <xxhash.h>

#include <lineage/notes.h>
#include <lineage/text.h>
#include <lineage/trial.h>

bool setting_names_seed(const char *name, const char *const *seeds)
{
    if (lineage_param_is_seed(name, seeds))
        return true;
    while (*name && (strncasecmp(name, "seed", 4) != 0 || islower((unsigned char)name[4])))
        name++;
    return *name;
}

uint64_t setting_digest_mix(uint64_t digest, const char *text)
{
    return XXH3_64bits_withSeed(text, strlen(text) + 1, digest);
}

/* The piece of the notes that begins with the word, which says what code has run. A commit without a change is that of the first row,
 * and later rows with the same code name none. */
static uint64_t mix_piece(uint64_t digest, const char *notes, const char *word)
{
    const char *piece = strstr(notes, word);
    if (piece && *word == 'c' && !memchr(piece, ',', strcspn(piece, ";")))
        return digest;
    return piece ? XXH3_64bits_withSeed(piece, strcspn(piece, ";"), digest) : digest;
}

static bool declares_seed(const struct lineage_trial *row, const char *const *names)
{
    size_t i = 0;
    while (i < row->n_params && !lineage_param_is_seed(row->params[i].name, names))
        i++;
    return i < row->n_params;
}

/* An imported run has the name that its tracker gave it as its hypothesis, and each seed has another one (cli/histories writes the job
 * as TOOL:RUN, and the tool as the specialist). */
static bool is_run_name(const struct lineage_trial *row)
{
    const char *job = row->job_name ? row->job_name : "";
    const size_t n = strlen(row->specialist);
    return n && strncmp(job, row->specialist, n) == 0 && job[n] == ':';
}

bool setting_digest(struct setting_digest *digest, const struct lineage_trial *row, const char *const *names)
{
    char number[LINEAGE_NUMBER_MAX];
    if (!declares_seed(row, names)) /* most rows: nothing else is computed for them */
        return false;
    const char *says = is_run_name(row) ? "" : row->hypothesis;
    uint64_t setting =
        mix_piece(mix_piece(setting_digest_mix(setting_digest_mix(0, row->specialist), says), row->notes, "program "), row->notes,
                  "commit ");
    uint64_t seeds = 0;
    /* A seed alone does not say of what. */
    bool named = says[0] || strstr(row->notes, "program ");
    for (size_t i = 0; i < row->n_params; i++) {
        const struct lineage_param *p = &row->params[i];
        const bool is_seed = lineage_param_is_seed(p->name, names);
        uint64_t *to = is_seed ? &seeds : &setting;
        if (strcmp(p->name, "proposer") != 0) /* a sum, because writers order parameters as they like */
            *to +=
                setting_digest_mix(setting_digest_mix(0, p->name), p->text ? p->text : lineage_number_format(number, p->value));
        named = named || !is_seed;
    }
    *digest = (struct setting_digest){setting, setting ^ (seeds | 1)};
    return named;
}
