/* examples.c: see run_parts.h. Nothing in such a file is trusted: a trial has written it. */
#include "run/run_parts.h"

#include <sys/stat.h>
#include <unistd.h>

#include <xxhash.h>

#include <lineage/render.h>
#include <lineage/text.h>

#include "cli.h"
#include "histories/history.h"
#include "metrics/event_lines.h"
#include "metrics/step_file.h"
#include "propose/propose_math.h"

enum { ROUNDS = 2000, ROUNDS_LEAST = 200, ID_MAX = 200, PAIRS_LEAST = 2 };
static const double most_draws = 2e8;
static const size_t most_bytes = (size_t)256 << 20;

static bool __attribute__((format(printf, 2, 3))) refuse(char *why, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(why, EXAMPLES_WHY_MAX, format, arguments);
    va_end(arguments);
    return false;
}

/* Takes over the id. */
static bool add(struct examples *examples, char *id, double value)
{
    if (!id || !CLI_ROOM(examples->at, examples->n, examples->capacity)) {
        free(id);
        return false;
    }
    examples->at[examples->n++] = (struct example){id, value};
    return true;
}

void examples_release(struct examples *examples)
{
    for (size_t i = 0; i < examples->n; i++)
        free(examples->at[i].id);
    free(examples->at);
    free(examples->text);
    *examples = (struct examples){0};
}

static int by_id(const void *a, const void *b)
{
    return strcmp(((const struct example *)a)->id, ((const struct example *)b)->id);
}

static char *id_of(const json_t *id)
{
    char text[ID_MAX + 1];
    if (json_is_string(id))
        return strlen(json_string_value(id)) <= ID_MAX ? strdup(json_string_value(id)) : NULL;
    snprintf(text, sizeof text, "%lld", (long long)json_integer_value(id));
    return json_is_integer(id) ? strdup(text) : NULL;
}

/* ---- JSON lines ---- */

/* The first member that is there, of the names that programs use. */
static const json_t *member_of(const json_t *line, const char *const *names)
{
    const json_t *value = NULL;
    for (; *names && !value; names++)
        value = json_object_get(line, *names);
    return value;
}

/* "position" is an id that the array of another program had no name for; only this program writes it. */
static bool read_line(struct examples *examples, const json_t *line, const char *key, size_t number, char *why)
{
    static const char *const ids[] = {"id", "example", "index", "doc_id", NULL}, *const positions[] = {"position", NULL};
    const char *const values[] = {key ? key : "score", key ? NULL : "value", "correct", "acc", NULL};
    const json_t *id = member_of(line, ids), *position = member_of(line, positions), *value = member_of(line, values);
    const bool named = json_is_string(id) || json_is_integer(id), found = named || json_is_integer(position);
    if (!json_is_object(line))
        return refuse(why, "line %zu is not a JSON object", number);
    if (!found)
        return refuse(why,
                      "line %zu has no id (a text or a whole number called id, example, index or doc_id), without which nothing "
                      "says which examples are the same",
                      number);
    if (event_says_not_finite(value) || (json_is_real(value) && !isfinite(json_real_value(value))))
        return refuse(why, "line %zu: its value is not finite; leave the example out of both trials, or give it the worst value",
                      number);
    if (!json_is_number(value) && !json_is_boolean(value))
        return refuse(why, "line %zu has no number called %.80s; name it: FILE#NAME", number,
                      key ? key : "score, value, correct or acc");
    if (examples->n && examples->by_position == named)
        return refuse(why, "line %zu has an id, and others have none", number);
    examples->by_position = !named;
    return add(examples, id_of(named ? id : position), json_is_number(value) ? json_number_value(value) : json_is_true(value)) ||
           refuse(why, "line %zu: an id has at most %d bytes, or no memory is left", number, ID_MAX);
}

static bool read_lines(struct examples *examples, const char *bytes, size_t length, const char *key, char *why)
{
    bool good = true;
    for (size_t number = 1, used; good && length; number++, bytes += used, length -= used) {
        const char *end = memchr(bytes, '\n', length);
        used = end ? (size_t)(end - bytes) + 1 : length;
        size_t blank = 0, quoted = used;
        while (blank < used && strchr(" \t\r\n", bytes[blank]) && bytes[blank])
            blank++;
        if (blank == used)
            continue;
        char *text = cli_json_quoted(bytes, &quoted, CLI_QUOTE_WORDS);
        json_t *line = text ? json_loadb(text, quoted, 0, NULL) : NULL;
        good = examples->n < EXAMPLES_MAX ? read_line(examples, line, key, number, why)
                                          : refuse(why, "it has more than %d examples", EXAMPLES_MAX);
        json_decref(line);
        free(text);
    }
    return good;
}

static bool read_array(struct examples *examples, const char *bytes, size_t length, char *why)
{
    struct npy npy;
    if (!npy_read(&npy, bytes, length, why, EXAMPLES_WHY_MAX))
        return false;
    if (!npy.flat || npy.rows > EXAMPLES_MAX)
        return refuse(why, "its shape is not (N,) with N up to %d; use .ravel(), or JSON lines with ids", EXAMPLES_MAX);
    if (npy.length != npy.rows * npy.size)
        return refuse(why, "it has %zu bytes of values, and not those of %zu", npy.length, npy.rows);
    examples->by_position = true;
    for (size_t i = 0; i < npy.rows; i++) {
        char id[32];
        snprintf(id, sizeof id, "%zu", i);
        if (!add(examples, strdup(id), npy_value(&npy, i)))
            return refuse(why, "no memory");
    }
    return true;
}

/* ---- files ---- */

static bool check(struct examples *examples, char *why)
{
    if (examples->n < PAIRS_LEAST)
        return refuse(why, "it has %zu example%s, and at least %d are needed", examples->n, examples->n == 1 ? "" : "s",
                      PAIRS_LEAST);
    qsort(examples->at, examples->n, sizeof *examples->at, by_id);
    for (size_t i = 0; i < examples->n; i++) {
        if (!isfinite(examples->at[i].value))
            return refuse(why,
                          "the value of example '%.80s' is not finite; leave it out of both trials, or give it the worst value",
                          examples->at[i].id);
        if (i && strcmp(examples->at[i].id, examples->at[i - 1].id) == 0)
            return refuse(why, "example '%.80s' is there twice; write one value for each id", examples->at[i].id);
        examples->mean += examples->at[i].value / (double)examples->n;
    }
    return isfinite(examples->mean) || refuse(why, "its values are too large for a mean");
}

/* Writes the text that is kept, and its digest. */
static bool write_text(struct examples *examples, char *why)
{
    FILE *out = open_memstream(&examples->text, &examples->length);
    bool good = out != NULL;
    size_t length;
    for (size_t i = 0; good && i < examples->n; i++) {
        const struct example *e = &examples->at[i];
        json_t *line = examples->by_position ? json_pack("{s:I, s:f}", "position", (json_int_t)atoll(e->id), "value", e->value)
                                             : json_pack("{s:s, s:f}", "id", e->id, "value", e->value);
        char *text = line ? cli_json_compact(line, &length) : NULL;
        good = text && fprintf(out, "%s\n", text) > 0;
        free(text);
        json_decref(line);
    }
    good = out && fclose(out) == 0 && good;
    if (good)
        snprintf(examples->digest, sizeof examples->digest, "%016llx",
                 (unsigned long long)XXH3_64bits(examples->text, examples->length));
    return good || refuse(why, "no memory");
}

bool examples_parse(struct examples *examples, const char *bytes, size_t length, bool npy, const char *key,
                    char why[EXAMPLES_WHY_MAX])
{
    *examples = (struct examples){0};
    why[0] = '\0';
    const bool good = (npy ? read_array(examples, bytes, length, why) : read_lines(examples, bytes, length, key, why)) &&
                      check(examples, why) && write_text(examples, why);
    if (!good)
        examples_release(examples);
    return good;
}

bool examples_read(struct examples *examples, const char *path, const char *key, char why[EXAMPLES_WHY_MAX])
{
    char reason[HISTORY_WHY_MAX];
    size_t n;
    char *bytes = history_file_text(path, most_bytes, &n, reason);
    const size_t length = strlen(path);
    *examples = (struct examples){0};
    const bool good = bytes ? examples_parse(examples, bytes, n, length > 4 && strcmp(path + length - 4, ".npy") == 0, key, why)
                            : refuse(why, "%.300s", reason);
    free(bytes);
    return good;
}

static bool path_of(char path[PATH_MAX], const struct lineage_store *store, const char *exp_id, bool make)
{
    struct lineage_error err;
    char *dir;
    if (strchr(exp_id, '/') || lineage_store_path(&dir, store, LINEAGE_PLACE_EXAMPLES, &err) != LINEAGE_OK)
        return false;
    if (make)
        mkdir(dir, 0777);
    const int n = snprintf(path, PATH_MAX, "%s/%.64s.jsonl", dir, exp_id);
    lineage_free(dir);
    return n > 0 && n < PATH_MAX;
}

bool examples_keep(const struct examples *examples, const struct lineage_store *store, const char *exp_id,
                   char why[EXAMPLES_WHY_MAX])
{
    char path[PATH_MAX], made[PATH_MAX];
    bool good = path_of(path, store, exp_id, true) && snprintf(made, sizeof made, "%s.new", path) < PATH_MAX;
    if (good)
        unlink(made); /* of a program that was killed */
    FILE *file = good ? fopen(made, "wxe") : NULL;
    good = file && fwrite(examples->text, 1, examples->length, file) == examples->length && fflush(file) == 0 &&
           fsync(fileno(file)) == 0;
    if (file)
        good = fclose(file) == 0 && good;
    return (good && rename(made, path) == 0) || refuse(why, "the examples of %.80s are not kept: %s", exp_id, strerror(errno));
}

bool examples_of(struct examples *examples, struct lineage_store *store, const char *exp_id, char why[EXAMPLES_WHY_MAX])
{
    char path[PATH_MAX];
    struct lineage_trial row = {0};
    struct lineage_error err;
    *examples = (struct examples){0};
    if (lineage_find(store, exp_id, &row, &err) != LINEAGE_OK)
        return refuse(why, "%.300s", err.text);
    bool good =
        path_of(path, store, row.exp_id, false) &&
        (access(path, F_OK) == 0 || refuse(why, "trial %.80s has no examples kept; run it with --examples FILE", row.exp_id)) &&
        examples_read(examples, path, NULL, why);
    if (good && !strstr(row.notes, examples->digest)) {
        refuse(why, "%.200s is not the file whose digest is in the notes of its row: it was changed; run the trial again", path);
        examples_release(examples);
        good = false;
    }
    if (good) {
        examples->score = row.score;
        snprintf(examples->exp_id, sizeof examples->exp_id, "%.*s", LINEAGE_NAME_MAX - 1, row.exp_id);
    }
    lineage_trial_release(&row);
    return good;
}

/* ---- comparison ---- */

/* Positions are the same examples only in the same order, and nothing but the values can tell. */
static bool is_reordered(const struct examples *a, const struct examples *b)
{
    double *values = malloc(2 * a->n * sizeof *values);
    bool same = true, moved = values != NULL;
    for (size_t i = 0; values && i < a->n; i++) {
        values[i] = a->at[i].value;
        values[a->n + i] = b->at[i].value;
        same = same && a->at[i].value == b->at[i].value;
    }
    if (values) {
        qsort(values, a->n, sizeof *values, cli_by_number);
        qsort(values + a->n, a->n, sizeof *values, cli_by_number);
        moved = !same && values[0] != values[a->n - 1] && memcmp(values, values + a->n, a->n * sizeof *values) == 0;
    }
    free(values);
    return moved;
}

/* A difference of two lists of zeros and ones has the same values in another order by chance; a measured value does not. */
static bool has_many_values(const struct examples *examples)
{
    size_t other = 0;
    for (size_t i = 1; i < examples->n; i++)
        other += examples->at[i].value != examples->at[0].value && examples->at[i].value != examples->at[i - 1].value;
    return 2 * other > examples->n && floor(examples->at[0].value) != examples->at[0].value;
}

static bool are_same(const struct examples *a, const struct examples *b, char *why)
{
    size_t i = 0, j = 0, common = 0;
    const char *alone = NULL;
    if (a->by_position != b->by_position)
        return refuse(why, "one has ids, and the other is an array without ids; write both in the same form");
    while (i < a->n || j < b->n) {
        const int order = i == a->n ? 1 : j == b->n ? -1 : strcmp(a->at[i].id, b->at[j].id);
        if (order)
            alone = alone ? alone : order < 0 ? a->at[i].id : b->at[j].id;
        else
            common++;
        i += order <= 0;
        j += order >= 0;
    }
    if (alone && a->by_position)
        return refuse(why, "they have %zu and %zu values without ids; evaluate the same examples in the same order, or give ids",
                      a->n, b->n);
    if (alone && !common)
        return refuse(why, "they have no example in common; evaluate both on the same examples");
    if (alone)
        return refuse(why,
                      "they have other examples: %zu and %zu, of which %zu are common, and only one has '%.80s'; evaluate both "
                      "on the same ones",
                      a->n, b->n, common, alone);
    return !a->by_position || !has_many_values(a) || !is_reordered(a, b) ||
           refuse(why, "they have the same values in another order; give ids");
}

/* Whether the score is the mean of the values, as far as it was printed. */
static bool is_mean(const struct examples *examples)
{
    char text[LINEAGE_NUMBER_MAX];
    if (!examples->score.present)
        return false;
    lineage_number_format(text, examples->score.value);
    const char *point = strchr(text, 'e') ? NULL : strchr(text, '.');
    const double printed = point ? 0.5 * pow(10, -(double)strlen(point + 1)) : 0;
    const double off = fabs(examples->score.value - examples->mean), size = fabs(examples->mean);
    return off <= fmax(fmin(printed, 0.01 * size) * (1 + 1e-9), 1e-4 * size);
}

static uint64_t seed_of(const struct examples *examples)
{
    uint64_t seed = 0;
    for (size_t i = 0; i < examples->n; i++)
        seed = XXH3_64bits_withSeed(examples->at[i].id, strlen(examples->at[i].id), seed);
    return seed;
}

/* Interval by the bootstrap, and p by flips of signs. The seed comes from the ids, so that everybody gets the same numbers. */
static void resample(struct examples_difference *difference, const double *d, double *means, uint64_t seed)
{
    const size_t n = difference->n, rounds = difference->rounds;
    size_t beyond = 0;
    for (size_t r = 0; r < rounds; r++) {
        double sum = 0, flipped = 0;
        for (size_t i = 0; i < n; i++) {
            const uint64_t drawn = propose_mix(seed++);
            sum += d[(drawn >> 32) * n >> 32];
            flipped += drawn & 1 ? d[i] : -d[i];
        }
        means[r] = sum / (double)n;
        beyond += fabs(flipped / (double)n) >= fabs(difference->mean) * (1 - 1e-12);
    }
    qsort(means, rounds, sizeof *means, cli_by_number);
    difference->low = means[(size_t)(0.025 * (double)(rounds - 1))];
    difference->high = means[(size_t)(0.975 * (double)(rounds - 1) + 0.5)];
    difference->p = (double)(beyond + 1) / (double)(rounds + 1);
}

/* One of the trials of a night is the luckiest on these examples, so the bar is that of a night, with the noise of the examples. */
static void set_bars(struct examples_difference *difference, const struct lineage_config *config)
{
    struct lineage_config paired = *config;
    paired.noise_std = difference->error / sqrt(2.0);
    paired.noise_seeds = 1;
    paired.noise_freedom = (unsigned)(difference->n - 1);
    const double half = difference->mean > 0 ? difference->mean - difference->low : difference->high - difference->mean;
    difference->bar = fmax(lineage_threshold(&paired, NULL), half);
    difference->seeds = sqrt(2.0 / (config->noise_seeds ? config->noise_seeds : 1)) * config->noise_std;
    difference->seeds_bar = config->noise_std > 0 ? lineage_threshold(config, NULL) : 0;
}

bool examples_compare(struct examples_difference *difference, const struct examples *a, const struct examples *b,
                      const struct lineage_config *config, char why[EXAMPLES_WHY_MAX])
{
    if (!are_same(a, b, why))
        return false;
    const double draws = most_draws / (double)a->n;
    const size_t n = a->n, rounds = draws >= ROUNDS ? ROUNDS : draws > ROUNDS_LEAST ? (size_t)draws : ROUNDS_LEAST;
    double *d = malloc((n + rounds) * sizeof *d), square = 0;
    if (!d)
        return refuse(why, "no memory");
    *difference = (struct examples_difference){.n = n,
                                               .rounds = rounds,
                                               .is_of_scores = is_mean(a) && is_mean(b),
                                               .higher_is_better = config->direction == LINEAGE_HIGHER};
    for (size_t i = 0; i < n; i++) {
        d[i] = a->at[i].value - b->at[i].value;
        difference->mean += d[i] / (double)n;
    }
    for (size_t i = 0; i < n; i++)
        square += (d[i] - difference->mean) * (d[i] - difference->mean);
    difference->error = sqrt(square / (double)(n - 1) / (double)n);
    resample(difference, d, d + n, seed_of(a));
    free(d);
    if (!isfinite(difference->error))
        return refuse(why, "their values are too large to be subtracted");
    set_bars(difference, config);
    const bool apart = difference->p < 0.05 && (difference->low > 0 || difference->high < 0);
    difference->verdict = !apart ? 0 : difference->mean > 0 ? 1 : -1;
    return true;
}

const char *examples_verdict(const struct examples_difference *difference)
{
    if (!difference->verdict)
        return "no difference";
    if (!difference->is_of_scores)
        return difference->verdict > 0 ? "higher" : "lower";
    return (difference->verdict > 0) == difference->higher_is_better ? "better" : "worse";
}

const char *examples_text(char out[EXAMPLES_TEXT_MAX], const struct examples_difference *difference, const char *against)
{
    char seeds[120] = "noise between seeds unknown";
    if (difference->seeds > 0)
        snprintf(seeds, sizeof seeds, "between seeds %.3g (bar %.3g)", difference->seeds, difference->seeds_bar);
    snprintf(out, EXAMPLES_TEXT_MAX,
             "%s on %zu examples that %.80s had: %+.4g, 95 %% interval %+.4g to %+.4g (bootstrap of %zu), p %.2g (flips of "
             "signs), standard error between examples %.3g (bar %.3g), %s%s",
             difference->verdict ? examples_verdict(difference) : "not known to differ", difference->n, against, difference->mean,
             difference->low, difference->high, difference->rounds, difference->p, difference->error, difference->bar, seeds,
             difference->is_of_scores ? "" : ", the score is not the mean of the examples");
    return out;
}
