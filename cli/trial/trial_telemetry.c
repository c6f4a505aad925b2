/* trial_telemetry.c: see trial_telemetry.h. */
#include "trial/trial_telemetry.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"

/* Prints one step per line, so that tail, grep and diff work well on telemetry. */
static void print_steps(FILE *out, const char *name, const json_t *steps)
{
    fprintf(out, "\"%s\": [", name);
    for (size_t i = 0; i < json_array_size(steps); i++) {
        fputs(i ? ",\n" : "\n", out);
        char *line = json_dumps(json_array_get(steps, i), JSON_REAL_PRECISION(12));
        fputs(line ? line : "null", out);
        free(line);
    }
    fputs("]", out);
}

/*
 * The member for training steps is called "steps"; for any other phase it has the name of the phase. The name comes
 * from the child, so characters that would break JSON or a path in a query are replaced by _.
 */
static void print_phase(FILE *out, const char *phase, const json_t *steps)
{
    char name[TRIAL_PHASE_MAX + 32];
    snprintf(name, sizeof name, "%s", strcmp(phase, TRIAL_PHASE_TRAIN) == 0 ? "steps" : phase);
    for (char *c = name; *c; c++)
        if (*c == ' ' || *c == '"' || *c == '\\' || (unsigned char)*c < 0x20)
            *c = '_';
    /* A phase named like another member would otherwise lead to two members with the same name. */
    if (strcmp(name, "final") == 0 || strcmp(name, "info_gain") == 0 || strcmp(name, "kernels") == 0 ||
        strcmp(name, "begun_anew") == 0 || (strcmp(name, "steps") == 0 && strcmp(phase, TRIAL_PHASE_TRAIN) != 0))
        snprintf(name, sizeof name, "phase_%s", phase);
    print_steps(out, name, steps);
}

static void print_final(FILE *out, struct trial_results *results)
{
    if (!results->final)
        return;
    if (results->train_s >= 0)
        json_object_set_new(results->final, "train_s", cli_json_number(results->train_s));
    if (results->eval_s >= 0)
        json_object_set_new(results->final, "eval_s", cli_json_number(results->eval_s));
    fputs("\"final\": ", out);
    cli_json_print(out, results->final, false);
    fputc(',', out);
}

/* Prints which kernels were used, because the same recipe may give different bits on another processor. */
static void print_kernels(FILE *out, const struct trial_results *results)
{
    if (!results->kernels[0])
        return;
    json_t *text = cli_json_text(results->kernels);
    fputs("\"kernels\": ", out);
    cli_json_print(out, text, false);
    fputc(',', out);
    json_decref(text);
}

/*
 * "final" comes first, so that head shows how the trial ended. The training steps are the longest member and come last.
 */
static void print_telemetry(FILE *out, struct trial_results *results)
{
    const char *phase;
    json_t *steps;
    fputc('{', out);
    print_final(out, results);
    print_kernels(out, results);
    if (results->begun_anew)
        fputs("\"begun_anew\": true,", out);
    json_object_foreach(results->phases, phase, steps)
        if (strcmp(phase, TRIAL_PHASE_TRAIN) != 0) {
            print_phase(out, phase, steps);
            fputs(",\n", out);
        }
    print_phase(out, TRIAL_PHASE_TRAIN, json_object_get(results->phases, TRIAL_PHASE_TRAIN));
    fputs("}\n", out);
}

char *trial_telemetry_text(struct trial_results *results, size_t *length)
{
    char *text = NULL;
    FILE *out = open_memstream(&text, length);
    if (!out)
        return NULL;
    print_telemetry(out, results);
    int failed = ferror(out);
    failed |= fclose(out);
    if (!failed)
        return text;
    free(text);
    return NULL;
}
