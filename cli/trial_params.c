/* trial_params.c: which settings of a recipe a row names, and how it calls them. */
#include "trial_params.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SETTINGS_MAX 256
#define PATH_LENGTH 96

/* Algorithms as bit sets. */
#define BIT(name) (1u << TRAINER_##name)
#define A2TGPO (BIT(JOINT) | BIT(SEPARATE) | BIT(TURN_GROUP) | BIT(TURN_GROUP_V1D))
#define ALL ((1u << TRAINER_N_ALGORITHMS) - 1)

struct name {
    const char *path, *name; /* name NULL: never named */
    unsigned algorithms;     /* for which it is always named */
};

static const struct name names[] = {
    {"seed", "seed", ALL},
    {"threads", NULL, 0},
    {"training.learning_rate", "lr", ALL},
    {"training.iterations", "iterations", ALL},
    {"training.group_size", "group_size", ALL},
    {"training.epochs", "epochs", 0},
    {"training.minibatch", "minibatch", 0},
    {"env.questions", "questions", ALL},
    {"env.k_min", "k_min", ALL},
    {"env.k_max", "k_max", ALL},
    {"env.max_turns", "max_turns", 0},
    {"env.p_fail", "p_fail", 0},
    {"env.facts", "facts", 0},
    {"loss.clip_low", "clip_low", ALL},
    {"loss.clip_high", "clip_high", ALL},
    {"loss.kl_coef", "kl_coef", 0},
    {"algorithm.alpha", "alpha", BIT(TURN_GROUP_V1D) | BIT(ADCA)},
    {"algorithm.beta", "beta", BIT(TURN_GROUP_V1D)},
    {"algorithm.gamma", "gamma", A2TGPO | BIT(PROCESS)},
    {"algorithm.decay", "decay", BIT(RAE)},
    {"algorithm.echo_weight", "echo_weight", BIT(ECHO)},
    {"algorithm.prm_steps", "prm_steps", BIT(ADCA)},
    {"algorithm.advantage_scale", "advantage_scale", 0},
    {"algorithm.epsilon", "epsilon", 0},
    {"algorithm.length_coef", "length_coef", 0},
    {"model.width", "width", 0},
    {"model.layers", "layers", 0},
    {NULL, NULL, 0},
};

/* Settings that mean nothing to an algorithm that does not always name them. */
static bool is_own(const struct name *name)
{
    return name->algorithms && name->algorithms != ALL;
}

struct setting {
    char path[PATH_LENGTH];
    double value;
};

struct settings {
    struct setting at[SETTINGS_MAX];
    size_t n;
};

static void collect(void *context, const char *path, double value)
{
    struct settings *settings = context;
    if (settings->n == SETTINGS_MAX || strlen(path) >= PATH_LENGTH)
        return;
    strcpy(settings->at[settings->n].path, path);
    settings->at[settings->n++].value = value;
}

static bool is_default(const struct settings *defaults, const char *path, double value)
{
    for (size_t i = 0; i < defaults->n; i++)
        if (strcmp(defaults->at[i].path, path) == 0)
            return defaults->at[i].value == value;
    return false;
}

static const struct name *find_name(const char *path)
{
    const struct name *name = names;
    while (name->path && strcmp(name->path, path) != 0)
        name++;
    return name->path ? name : NULL;
}

static void add(struct trial_record *record, const char *name, double value)
{
    if (record->n_params == TRIAL_PARAMS_MAX || strlen(name) >= LINEAGE_NAME_MAX)
        return;
    char *own = strcpy(record->names[record->n_params], name);
    record->params[record->n_params++] = (struct lineage_param){own, value};
}

static void consider(struct trial_record *record, const struct setting *setting,
                     const struct settings *defaults)
{
    const struct name *name = find_name(setting->path);
    unsigned algorithm = 1u << record->recipe->tasks[0].algorithm.name;
    bool always = name && (name->algorithms & algorithm);
    if (name && (!name->name || (is_own(name) && !always)))
        return;
    if (always || !is_default(defaults, setting->path, setting->value))
        add(record, name ? name->name : setting->path, setting->value);
}

void trial_params_fill(struct trial_record *record, bool has_parent)
{
    struct settings defaults = {.n = 0}, settings = {.n = 0};
    struct trainer_recipe plain;
    trainer_recipe_init(&plain);
    trainer_recipe_settings(&plain, collect, &defaults);
    trainer_recipe_settings(record->recipe, collect, &settings);
    for (size_t i = 0; i < settings.n; i++)
        if (!has_parent || strncmp(settings.at[i].path, "start.", 6) != 0)
            consider(record, &settings.at[i], &defaults);
}

/* ---- words ---- */

static void print_words(FILE *out, const char *path, const json_t *value, const json_t *plain)
{
    const char *key;
    json_t *member;
    char below[PATH_LENGTH];
    if (json_is_string(value) && !json_equal(value, plain))
        fprintf(out, "%s%s %s", ftell(out) > 0 ? ", " : "", path, json_string_value(value));
    json_object_foreach((json_t *)(uintptr_t)value, key, member) {
        snprintf(below, sizeof below, "%s%s%s", path, *path ? "." : "", key);
        if (strcmp(key, "name") != 0 || strcmp(path, "algorithm") != 0)
            print_words(out, below, member, json_object_get(plain, key));
    }
}

/* Algorithms are named beside their environments; hypothesis and the like have columns of their own. */
static void print_recipe_words(FILE *out, json_t *root, json_t *plain)
{
    static const char *const parts[] = {"loss", "sampler", "correction"};
    const json_t *defaults = json_array_get(json_object_get(plain, "environments"), 0);
    const json_t *environments = json_object_get(root, "environments");
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        print_words(out, parts[i], json_object_get(root, parts[i]), json_object_get(plain, parts[i]));
    for (size_t i = 0; i < json_array_size(environments); i++)
        print_words(out, "algorithm", json_object_get(json_array_get(environments, i), "algorithm"),
                    json_object_get(defaults, "algorithm"));
}

static json_t *recipe_json(const struct trainer_recipe *recipe)
{
    char *text = trainer_recipe_text(recipe);
    json_t *root = text ? json_loads(text, 0, NULL) : NULL;
    free(text);
    return root;
}

char *trial_params_words(const struct trainer_recipe *recipe)
{
    struct trainer_recipe plain;
    char *words = NULL;
    size_t length;
    trainer_recipe_init(&plain);
    json_t *root = recipe_json(recipe), *defaults = recipe_json(&plain);
    FILE *out = open_memstream(&words, &length);
    if (out) {
        print_recipe_words(out, root, defaults);
        fclose(out);
    }
    json_decref(root);
    json_decref(defaults);
    return words;
}
