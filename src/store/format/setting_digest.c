/* setting_digest.c: implements setting_digest.h. */
#include "setting_digest.h"

#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include <lineage/notes.h>
#include <lineage/text.h>
#include <lineage/trial.h>

#include "ascii.h"

bool setting_names_seed(const char *name, const char *const *seeds)
{
    if (lineage_param_is_seed(name, seeds))
        return true;
    while (*name && (!ascii_begins_same(name, "seed", 4) || (name[4] >= 'a' && name[4] <= 'z')))
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

enum { RAN_DIGITS = 16 };

/* The piece `ran DIGEST` of the notes, which says what code and program have run as a whole; NULL: the row has none. */
static const char *find_ran(const char *notes)
{
    const char *at = notes;
    while ((at = strstr(at, LINEAGE_RAN)) != NULL) {
        const char *digits = at + strlen(LINEAGE_RAN), *end = digits + strspn(digits, "0123456789abcdef");
        if ((at == notes || (at - notes >= 2 && memcmp(at - 2, "; ", 2) == 0)) && end - digits == RAN_DIGITS &&
            (!*end || *end == ';'))
            return at;
        at = digits;
    }
    return NULL;
}

/* What a row says of the code and the program. A row of an earlier version names the commit alone, and only where it was another one than
 * that of the best trial. */
static uint64_t mix_code(uint64_t digest, const char *notes)
{
    const char *ran = find_ran(notes);
    digest = mix_piece(digest, notes, "program ");
    return ran ? XXH3_64bits_withSeed(ran, strlen(LINEAGE_RAN) + RAN_DIGITS, digest) : mix_piece(digest, notes, "commit ");
}

static bool declares_seed(const struct lineage_trial *row, const char *const *names)
{
    size_t i = 0;
    while (i < row->n_params && !lineage_param_is_seed(row->params[i].name, names))
        i++;
    return i < row->n_params;
}

static bool has_seed(const struct lineage_trial *row, const char *const *names, const char *digits)
{
    for (size_t i = 0; i < row->n_params; i++) {
        const struct lineage_param *p = &row->params[i];
        if (lineage_param_is_seed(p->name, names) && (p->text ? strcmp(p->text, digits) == 0 : p->value == strtod(digits, NULL)))
            return true;
    }
    return false;
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static size_t word(const char *text, size_t length, bool (*is)(char))
{
    size_t n = 0;
    while (n < length && is(text[length - 1 - n]))
        n++;
    return n;
}

/* How much of the hypothesis says what ran: of an imported run (cli/histories writes the job as TOOL:RUN) its name without the row's
 * seed at its end, "ppo-s1" or "relu, seed 1". */
static size_t without_seed(const struct lineage_trial *row, const char *const *names)
{
    const char *says = row->hypothesis;
    const size_t length = strlen(says), digits = word(says, length, is_digit);
    size_t n = length - digits;
    if (!row->job_name || !strchr(row->job_name, ':') || !digits || !has_seed(row, names, says + n))
        return length;
    n -= n && strchr(" =:_-", says[n - 1]);
    const size_t letters = word(says, n, ascii_is_letter);
    if (!(letters == 1 && ascii_lower(says[n - 1]) == 's') && !(letters == 4 && ascii_begins_same(says + n - 4, "seed", 4)))
        return length;
    n -= letters;
    while (n && strchr(" ,:_-", says[n - 1]))
        n--;
    return n;
}

uint64_t setting_digest_of(bool *named, uint64_t *seeds, const struct lineage_trial *row, const char *const *names)
{
    char number[LINEAGE_NUMBER_MAX];
    const size_t says = without_seed(row, names);
    uint64_t setting = XXH3_64bits_withSeed(row->hypothesis, says, setting_digest_mix(0, row->specialist));
    setting = mix_code(setting, row->notes);
    *seeds = 0;
    *named = says || strstr(row->notes, "program ") || find_ran(row->notes);
    for (size_t i = 0; i < row->n_params; i++) {
        const struct lineage_param *p = &row->params[i];
        const bool is_seed = lineage_param_is_seed(p->name, names);
        uint64_t *to = is_seed ? seeds : &setting;
        if (!is_seed && !lineage_param_is_inherited(p->name, names)) /* who proposed it */
            continue;
        /* a sum, because writers order parameters as they like */
        *to += setting_digest_mix(setting_digest_mix(0, p->name), p->text ? p->text : lineage_number_format(number, p->value));
        *named = *named || !is_seed;
    }
    return setting;
}

uint64_t setting_digest_seeded(uint64_t setting, uint64_t seeds)
{
    return setting ^ (seeds | 1);
}

bool setting_digest(struct setting_digest *digest, const struct lineage_trial *row, const char *const *names)
{
    uint64_t seeds;
    bool named;
    if (!declares_seed(row, names)) /* most rows: nothing else is computed for them */
        return false;
    const uint64_t setting = setting_digest_of(&named, &seeds, row, names);
    *digest = (struct setting_digest){setting, setting_digest_seeded(setting, seeds)};
    return named; /* a seed alone does not say of what */
}
