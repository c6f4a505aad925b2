/* train_main.c: the program `lineage-train`: the trainer and the kernels. `lineage` executes this program to train. */
#include <rlcore/level.h>

#include "dispatch.h"
#include "support/blas_env.h"

#define CLI_COMMAND(group, name, summary)
#define CLI_TRAIN_COMMAND(group, name, summary) extern const struct cli_command cmd_##name;
#define CLI_HIDDEN_COMMAND(group, name, summary) extern const struct cli_command cmd_##name;
#include "commands/commands.def"
#undef CLI_COMMAND
#undef CLI_TRAIN_COMMAND
#undef CLI_HIDDEN_COMMAND

/* In both programs: `lineage night` becomes this program for a sweep of recipes. */
extern const struct cli_command cmd_night;

static const struct cli_entry entries[] = {{CLI_GROUP_plan, "night", "", &cmd_night, true},
#define CLI_COMMAND(group, name, summary) {CLI_GROUP_##group, #name, summary, NULL, false},
#define CLI_TRAIN_COMMAND(group, name, summary) {CLI_GROUP_##group, #name, summary, &cmd_##name, false},
#define CLI_HIDDEN_COMMAND(group, name, summary) {CLI_GROUP_##group, #name, summary, &cmd_##name, true},
#include "commands/commands.def"
                                           {0, NULL, NULL, NULL, false}};

/* Never hands over to `lineage`, because two programs that hand over to each other could loop forever. */
static int elsewhere(int argc, const char **argv)
{
    (void)argc;
    return cli_error(CLI_USAGE, "lineage-train only trains; `lineage %s` does this", argv[0]);
}

int main(int argc, char **argv)
{
    struct rl_error err;
    blas_env_give_back(); /* OpenBLAS has read these settings by now */
    if (rl_level_check(&err) != RL_OK)
        return cli_error(CLI_USAGE, "%s", err.text);
    return cli_dispatch(entries, elsewhere, argc, argv);
}
