/*
 * token_scores.c: log-probs of given tokens by a policy, for a server that plays a teacher (teacher.py).
 *
 *     token_scores CHECKPOINT
 *
 * Each line of standard input is a sequence of token ids. Prints a line with the log-prob of each token but the first, with
 * nine digits, from which a float is read back exactly.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <trainer/policy.h>

enum { TOKENS_MAX = 4096, LINE_MAX_BYTES = 1 << 16 };

static int fail(const char *what, const struct trainer_error *err)
{
    fprintf(stderr, "token_scores: %s: %s\n", what, err->text);
    return 1;
}

static size_t read_tokens(char *line, int32_t *tokens)
{
    size_t n = 0;
    for (char *word = strtok(line, " \n"); word && n < TOKENS_MAX; word = strtok(NULL, " \n"))
        tokens[n++] = (int32_t)strtol(word, NULL, 10);
    return n;
}

int main(int argc, char **argv)
{
    static char line[LINE_MAX_BYTES];
    static int32_t tokens[TOKENS_MAX];
    static uint8_t wanted[TOKENS_MAX];
    static float log_prob[TOKENS_MAX];
    struct trainer_checkpoint checkpoint;
    struct trainer_passf *pass = NULL;
    struct trainer_error err = {TRAINER_OK, "usage: token_scores CHECKPOINT"};
    if (argc != 2 || trainer_checkpoint_load(argv[1], &checkpoint, NULL, 0, &err) != TRAINER_OK)
        return fail("the checkpoint", &err);
    size_t n_params = trainer_model_parameters(&checkpoint.model);
    float *params = malloc(n_params * sizeof *params);
    if (!params || trainer_checkpoint_load(argv[1], &checkpoint, params, n_params, &err) != TRAINER_OK)
        return fail("the checkpoint", &err);
    memset(wanted + 1, 1, sizeof wanted - 1);
    size_t most = (size_t)checkpoint.model.max_tokens;
    if (trainer_pass_createf(&pass, &checkpoint.model, most, most, &err) != TRAINER_OK)
        return fail("a pass", &err);
    while (fgets(line, sizeof line, stdin)) {
        size_t start[2] = {0, read_tokens(line, tokens)};
        const struct trainer_sequences sequences = {1, start, tokens, wanted};
        if (trainer_policy_forwardf(pass, params, &sequences, log_prob, NULL, &err) != TRAINER_OK)
            return fail("a line", &err);
        for (size_t i = 0; i + 1 < start[1]; i++)
            printf("%s%.9g", i ? " " : "", (double)log_prob[i]);
        putchar('\n');
        fflush(stdout);
    }
    trainer_pass_freef(pass);
    free(params);
    return 0;
}
