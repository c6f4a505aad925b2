/* agent_command.h: the planner command of `lineage night --agent-endpoint`: `lineage agent` with the night's settings. */
#pragma once

/* Texts may be NULL, except for program, endpoint and model. */
struct agent_command {
    const char *program; /* path of `lineage` */
    const char *store, *endpoint, *model, *key_env, *prompt, *seconds;
};

/* Returns the command for a shell, free it; NULL when out of memory. */
char *agent_command_make(const struct agent_command *settings);
