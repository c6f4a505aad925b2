/* command_settings.c: see command_trial.h. The keys of run.json are in the order of this table. */
#include "run/command_trial.h"

#include <unistd.h>

#include <lineage/require.h>

#include "metrics/metric_lines.h"
#include "run/run_parts.h"
#include "trial/pruning.h"

#define AT(member) offsetof(struct command_trial, member)

enum { OTHER_TRIAL = true, SAME_TRIAL = false };

/* key, option, letter, key in run.json, kind, member, whether another value makes another trial, variable, argument,
 * help */
static const struct command_setting settings[] = {
    {"name", "specialist", 0, NULL, SETTING_TEXT, AT(identity.specialist), SAME_TRIAL, NULL, "NAME",
     "person, agent or variant that tries it"},
    {"domain", "domain", 0, NULL, SETTING_TEXT, AT(identity.domain), SAME_TRIAL, NULL, "TEXT",
     "area of the change, or the task that is trained"},
    {"hypothesis", "hypothesis", 0, NULL, SETTING_TEXT, AT(identity.hypothesis), SAME_TRIAL, NULL, "TEXT",
     "what is tried, and why"},
    {"expected_delta", "expected-delta", 0, NULL, SETTING_TEXT, AT(identity.expected_delta), SAME_TRIAL, NULL, "TEXT",
     "expected improvement"},
    {"parent", "parent", 0, NULL, SETTING_TEXT, AT(identity.parent), SAME_TRIAL, NULL, "ID|best",
     "the trial that this one continues"},
    {"command", NULL, 0, "command", SETTING_WORDS, AT(argv), OTHER_TRIAL, NULL, NULL, NULL},
    {"eval", "eval", 0, "eval", SETTING_TEXT, AT(eval), OTHER_TRIAL, NULL, "COMMAND",
     "shell command that evaluates after the training"},
    {"sealed_eval", "sealed-eval", 0, "sealed_eval", SETTING_TEXT, AT(sealed_eval), OTHER_TRIAL, NULL, "COMMAND",
     "like --eval, in a new directory with copies of the protected files alone; only its score counts"},
    {"preflight", "preflight", 0, "preflight", SETTING_TEXT, AT(preflight), SAME_TRIAL, NULL, "COMMAND",
     "shell command that must succeed before the training"},
    {"score", "score", 0, "score", SETTING_TEXT, AT(settings.score), OTHER_TRIAL, NULL, "NAME", "the metric that is the score"},
    {"metrics", "metric", 'm', "metrics", SETTING_TEXTS, AT(settings.metrics.names), OTHER_TRIAL, NULL, "NAME",
     "read NAME and the number behind it anywhere in a line; the first NAME is the score"},
    {"metric_regex", "metric-regex", 0, "metric_regex", SETTING_TEXTS, AT(metric_regex), OTHER_TRIAL, NULL, "NAME=REGEX",
     "read metric NAME by a Perl regular expression, whose first group is the number; may be repeated"},
    {"metric_take", "metric-take", 0, "metric_take", SETTING_TEXTS, AT(metric_take), OTHER_TRIAL, NULL, "NAME=HOW",
     "which value of a metric counts: min, max, mean:N (of the last N) or last (default); may be repeated"},
    {"metric_file", "metric-file", 0, "metric_file", SETTING_TEXTS, AT(metric_file), OTHER_TRIAL, NULL, "NAME=PATH[#KEY]",
     "read metric NAME, called KEY there, from the file that the trial leaves at PATH, a pattern; may be repeated"},
    {"examples", "examples", 0, "examples", SETTING_TEXT, AT(examples), OTHER_TRIAL, NULL, "FILE[#NAME]",
     "file of scores of single examples that it leaves (.jsonl with id and NAME, or .npy): compares it with the best trial by "
     "them"},
    {"decide_by", "decide-by", 0, "decide_by", SETTING_TEXT, AT(decide_by), SAME_TRIAL, NULL, "examples",
     "keep it if its difference on the examples exceeds their bar, instead of the bar between seeds"},
    {"comparable", "comparable", 0, "comparable", SETTING_TEXT, AT(comparable), SAME_TRIAL, NULL, "NAME,...",
     "run nothing if the best trial differs in gpu, processor, budget, data or packages; they become parameters of the row"},
    {"data", "data", 0, "data", SETTING_TEXTS, AT(data), SAME_TRIAL, NULL, "PATH",
     "a file or directory whose contents are a condition of the trial; may be repeated"},
    {"held_out", "held-out", 0, "held_out", SETTING_TEXT, AT(settings.held_out), OTHER_TRIAL, NULL, "NAME",
     "a metric that no planner sees: kept out of the row and every answer but `report --held-out`"},
    {"protect", "protect", 0, "protect", SETTING_FILES, AT(protect), SAME_TRIAL, NULL, "FILE",
     "disqualify the trial if this file changes; may be repeated"},
    {"require", "require", 0, "require", SETTING_TEXTS, AT(settings.require), SAME_TRIAL, NULL, "NAME<=NUMBER",
     "disqualify the trial unless this metric is at most (<=, <) or at least (>=, >) NUMBER; may be repeated"},
    {"prune", "prune", 0, "prune", SETTING_TEXT, AT(settings.prune), SAME_TRIAL, NULL, "RULE",
     "end a trial with a hopeless curve: median or halving, then warmup=STEPS, curves=N (default: 4), patience=N (3) or factor=X "
     "(3) after commas"},
    {"train_seconds", "train-seconds", 0, "train_seconds", SETTING_AMOUNT, AT(settings.train_seconds), SAME_TRIAL, NULL, "N",
     "time limit of the training in seconds, also 10m, 2h"},
    {"eval_seconds", "eval-seconds", 0, "eval_seconds", SETTING_AMOUNT, AT(settings.eval_seconds), SAME_TRIAL, NULL, "N",
     "time limit of the evaluation"},
    {"train_cpu_seconds", "train-cpu-seconds", 0, "train_cpu_seconds", SETTING_AMOUNT, AT(settings.train_cpu_seconds), SAME_TRIAL,
     NULL, "N", "limit of the training in processor seconds of all its processes"},
    {"eval_cpu_seconds", "eval-cpu-seconds", 0, "eval_cpu_seconds", SETTING_AMOUNT, AT(settings.eval_cpu_seconds), SAME_TRIAL,
     NULL, "N", "limit of the evaluation in processor seconds"},
    {"silence_seconds", "silence", 0, "silence_seconds", SETTING_AMOUNT, AT(settings.silence_seconds), SAME_TRIAL, NULL,
     "SECONDS", "end a command that prints nothing for SECONDS"},
    {"score_minutes", "score-minutes", 0, "score_minutes", SETTING_AMOUNT, AT(settings.score_minutes), SAME_TRIAL, NULL,
     "MINUTES", "warn if no value of the score was read after MINUTES (default: 10; 0: never)"},
    {"memory_bytes", "memory", 0, "memory_bytes_limit", SETTING_AMOUNT, AT(settings.memory_bytes), SAME_TRIAL, NULL, "BYTES",
     "memory limit of all its processes together, also 500M, 2G"},
    {"grace_seconds", "grace", 0, "grace_seconds", SETTING_AMOUNT, AT(settings.grace_seconds), SAME_TRIAL, NULL, "SECONDS",
     "seconds between TERM and KILL (default: 10)"},
    {"seeds", "seeds", 0, "seeds", SETTING_COUNT, AT(seeds), OTHER_TRIAL, NULL, "N",
     "run it with N seeds; the score is their mean"},
    {"seed", "seed", 0, "first_seed", SETTING_SEED, AT(first_seed), OTHER_TRIAL, "LINEAGE_SEED", "N",
     "seed of the trial, or of the first of several runs (default: 1)"},
    {"stop_on_nan", "stop-on-nan", 0, "stop_on_nan", SETTING_FLAG, AT(settings.stop_on_nan), SAME_TRIAL, NULL, NULL,
     "end the trial if it reports a metric that is not finite"},
    {"sandbox", "sandbox", 0, "sandbox", SETTING_TEXT, AT(sandbox), SAME_TRIAL, NULL, "require|try",
     "run it without network and let it write only its own directory; require: run nothing if the kernel lacks a part"},
    {"sandbox_write", "sandbox-write", 0, "sandbox_write", SETTING_TEXTS, AT(sandbox_write), SAME_TRIAL, NULL, "PATH",
     "a directory or file that a trial in a sandbox may write, too; may be repeated"},
    {"sandbox_read", "sandbox-read", 0, "sandbox_read", SETTING_TEXTS, AT(sandbox_read), SAME_TRIAL, NULL, "PATH",
     "a file or directory of keys, which a sandbox hides otherwise; may be repeated"},
    {"no_refs", "no-refs", 0, "no_refs", SETTING_FLAG, AT(no_refs), SAME_TRIAL, NULL, NULL,
     "do not keep the trial's code by a ref in the git repository"},
    {"params", "param", 'p', "params", SETTING_PARAMS, AT(params), OTHER_TRIAL, "LINEAGE_PARAMS", "NAME=VALUE",
     "a parameter; may be repeated"},
    {"artifacts", "artifact", 0, "artifacts", SETTING_ARTIFACTS, AT(artifacts), SAME_TRIAL, NULL, "GLOB:MAXBYTES",
     "files that it must leave, of at most MAXBYTES each; may be repeated"},
    {"environment", "env", 0, "env", SETTING_ENVIRONMENT, AT(environment), OTHER_TRIAL, NULL, "NAME=VALUE",
     "an environment variable for the command; may be repeated"},
    {NULL, "keep-env", 0, "kept_environment", SETTING_RECORDED, AT(keep_environment), SAME_TRIAL, NULL, "NAME",
     "an environment variable to record; may be repeated"},
    {NULL, "version-of", 0, "versions", SETTING_RECORDED, AT(version_of), SAME_TRIAL, NULL, "COMMAND",
     "shell command whose output is recorded; may be repeated"},
};

enum { N_SETTINGS = sizeof settings / sizeof *settings };
_Static_assert((int)N_SETTINGS <= (int)COMMAND_SETTINGS_MAX, "callers have arrays of that size");

const struct command_setting *command_setting_at(size_t i)
{
    return i < N_SETTINGS ? &settings[i] : NULL;
}

const struct command_setting *command_setting_by_key(const char *key)
{
    for (size_t i = 0; i < N_SETTINGS; i++)
        if (settings[i].key && strcmp(settings[i].key, key) == 0)
            return &settings[i];
    return NULL;
}

bool command_setting_is_list(const struct command_setting *setting)
{
    switch (setting->kind) {
    case SETTING_TEXTS:
    case SETTING_FILES:
    case SETTING_PARAMS:
    case SETTING_ENVIRONMENT:
    case SETTING_ARTIFACTS:
    case SETTING_RECORDED: return true;
    default: return false;
    }
}

struct poptOption command_setting_option(const struct command_setting *setting, void *value)
{
    unsigned kind = command_setting_is_list(setting) ? POPT_ARG_ARGV
                    : setting->kind == SETTING_FLAG  ? POPT_ARG_NONE
                                                     : POPT_ARG_STRING;
    return (struct poptOption){setting->option, setting->letter, kind, value, 0, setting->help, setting->argument};
}

void *command_setting_member(struct command_trial *trial, const struct command_setting *setting)
{
    return (char *)trial + setting->offset;
}

const void *command_setting_value(const struct command_trial *trial, const struct command_setting *setting)
{
    return (const char *)trial + setting->offset;
}

bool command_setting_check(const struct command_setting *setting, const char *text, char *why, size_t size)
{
    const char *const list[] = {text, NULL};
    struct lineage_requirement requirement;
    struct lineage_error err;
    struct prune_rule rule;
    if (setting->offset == AT(sandbox) && strcmp(text, "require") != 0 && strcmp(text, "try") != 0)
        return snprintf(why, size, "sandbox: '%.40s' is neither require nor try", text), false;
    if (setting->offset == AT(decide_by) && strcmp(text, "examples") != 0)
        return snprintf(why, size, "decide_by: '%.40s' is not examples", text), false;
    if (setting->offset == AT(comparable))
        return conditions_check(text, why, size);
    if ((setting->offset == AT(sandbox_write) || setting->offset == AT(sandbox_read)) && access(text, F_OK) != 0)
        return snprintf(why, size, "%s: %.400s: %s", setting->key, text, strerror(errno)), false;
    if (setting->offset == AT(metric_file))
        return metric_files_check(text, why, size);
    if (setting->offset == AT(settings.prune))
        return prune_rule_parse(&rule, text, why, size);
    if (setting->offset == AT(settings.require) && lineage_requirement_parse(&requirement, text, &err) != LINEAGE_OK)
        return snprintf(why, size, "require: %s", err.text), false;
    return metric_rules_check(setting->offset == AT(metric_regex) ? list : NULL, setting->offset == AT(metric_take) ? list : NULL,
                              why, size);
}
