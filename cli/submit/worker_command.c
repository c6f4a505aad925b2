#include "submit/worker_command.h"

#include <ctype.h>
#include <inttypes.h>
#include <string.h>

#include "support/shell_word.h"

const char *worker_name(char out[WORKER_NAME_MAX], const struct night_sweep *sweep)
{
    enum { DIGEST = 9 }; /* a hyphen and eight digits */
    size_t n = (size_t)snprintf(out, WORKER_NAME_MAX, "lineage-");
    for (const char *c = sweep->name; *c && n < WORKER_NAME_MAX - DIGEST - 1; c++)
        if (isalnum((unsigned char)*c))
            out[n++] = (char)tolower((unsigned char)*c);
        else if (out[n - 1] != '-')
            out[n++] = '-';
    n -= out[n - 1] == '-';
    snprintf(out + n, WORKER_NAME_MAX - n, "-%08" PRIx32, (uint32_t)sweep->digest);
    return out;
}

void worker_command_write(FILE *out, const struct submission *submission, const char *hours)
{
    fputs("lineage night", out);
    shell_word_write(out, submission->sweep->file);
    fputs(" -C", out);
    shell_word_write(out, submission->place);
    for (const char *const *option = submission->options; option && *option; option++)
        shell_word_write(out, *option);
    if (hours)
        fprintf(out, " --hours %s", hours);
}

static bool add(json_t *words, const char *word)
{
    return json_array_append_new(words, json_string(word)) == 0;
}

json_t *worker_command_json(const struct submission *submission, const char *sweep_path, const char *hours)
{
    json_t *words = json_array();
    bool good = add(words, "lineage") && add(words, "night") && add(words, sweep_path) && add(words, "-C") &&
                add(words, submission->place);
    for (const char *const *option = submission->options; good && option && *option; option++)
        good = add(words, *option);
    if (good && hours)
        good = add(words, "--hours") && add(words, hours);
    if (good)
        return words;
    json_decref(words);
    return NULL;
}
