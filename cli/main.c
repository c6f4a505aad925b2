/*
 * main.c: the program `lineage`. It contains all commands that work on a store, and hands the trainer's commands over
 * to lineage-train.
 *
 * The trainer and its kernels are a separate program because loading OpenBLAS, gfortran and OpenMP takes longer than
 * most commands on a store, and because OpenBLAS fails to start where address space is limited.
 */
#include "dispatch.h"
#include "support/program.h"

#define CLI_COMMAND(group, name, summary) extern const struct cli_command cmd_##name;
#define CLI_TRAIN_COMMAND(group, name, summary)
#define CLI_HIDDEN_COMMAND(group, name, summary)
#include "commands/commands.def"
#undef CLI_COMMAND
#undef CLI_TRAIN_COMMAND
#undef CLI_HIDDEN_COMMAND

static const struct cli_entry entries[] = {
#define CLI_COMMAND(group, name, summary) {CLI_GROUP_##group, #name, summary, &cmd_##name, false},
#define CLI_TRAIN_COMMAND(group, name, summary) {CLI_GROUP_##group, #name, summary, NULL, false},
#define CLI_HIDDEN_COMMAND(group, name, summary) {CLI_GROUP_##group, #name, summary, NULL, true},
#include "commands/commands.def"
    {0, NULL, NULL, NULL, false}};

int main(int argc, char **argv)
{
    return cli_dispatch(entries, program_become_trainer, argc, argv);
}
