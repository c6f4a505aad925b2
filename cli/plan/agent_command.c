#include "plan/planning.h"

#include <stdio.h>
#include <stdlib.h>

/* In single quotes a shell changes nothing; a single quote itself is written outside of them. */
static void put_word(FILE *out, const char *word)
{
    fputs(" '", out);
    for (; *word; word++)
        *word == '\'' ? fputs("'\\''", out) : fputc(*word, out);
    fputc('\'', out);
}

char *agent_command_make(const struct agent_command *settings)
{
    const struct {
        const char *option, *value;
    } options[] = {{"-C", settings->store},          {"--endpoint", settings->endpoint}, {"--model", settings->model},
                   {"--key-env", settings->key_env}, {"--prompt", settings->prompt},     {"--seconds", settings->seconds}};
    char *text = NULL;
    size_t length;
    FILE *out = open_memstream(&text, &length);
    if (!out)
        return NULL;
    fputs("exec", out);
    put_word(out, settings->program);
    fputs(" agent", out);
    for (size_t i = 0; i < sizeof options / sizeof *options; i++)
        if (options[i].value) {
            put_word(out, options[i].option);
            put_word(out, options[i].value);
        }
    if (fclose(out) == 0)
        return text;
    free(text);
    return NULL;
}
