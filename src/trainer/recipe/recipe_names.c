/*
 * recipe_names.c: one name for each setting. Rows are queried by these names, so they do not change when objects of
 * the recipe are rearranged. If a key was renamed, the older key is still read, and the newer key is written.
 */
#include "recipe/recipe_names.h"

#include <limits.h>

#include "recipe/recipe_conditions.h"
#include "recipe/recipe_foreign.h"
#include "recipe/recipe_nearest.h"
#include "support/error.h"

#define PATH_SIZE 128

/* path: a path of the root table, or "env." and the path of an environment's setting; algorithm.* has no prefix. */
static const struct {
    const char *path, *name;
    enum recipe_shown shown;
/*
 * "Always" is for settings that nearly every sweep varies, because a row that lacks such a setting cannot be compared
 * with a row that has it. "Changed" keeps the other hundred settings out of rows that did not change them.
 */
} names[] = {
    {"seed", "seed", RECIPE_SHOWN_ALWAYS},
    {"threads", "threads", RECIPE_SHOWN_NEVER}, /* changes no number */
    {"name", "name", RECIPE_SHOWN_NEVER},       /* these four have their own columns */
    {"domain", "domain", RECIPE_SHOWN_NEVER},
    {"hypothesis", "hypothesis", RECIPE_SHOWN_NEVER},
    {"expected_delta", "expected_delta", RECIPE_SHOWN_NEVER},
    /* not shown: it is a path, and the row's parent_exp names the initial policy */
    {"start.checkpoint", "start.checkpoint", RECIPE_SHOWN_NEVER},
    {"algorithm.name", "algorithm", RECIPE_SHOWN_ALWAYS},
    {"training.lr", "lr", RECIPE_SHOWN_ALWAYS},
    {"training.iterations", "iterations", RECIPE_SHOWN_ALWAYS},
    {"training.group_size", "group_size", RECIPE_SHOWN_ALWAYS},
    {"training.epochs", "epochs", RECIPE_SHOWN_CHANGED},
    {"training.minibatch", "minibatch", RECIPE_SHOWN_CHANGED},
    {"env.questions", "questions", RECIPE_SHOWN_ALWAYS},
    {"env.k_min", "k_min", RECIPE_SHOWN_ALWAYS},
    {"env.k_max", "k_max", RECIPE_SHOWN_ALWAYS},
    {"env.max_turns", "max_turns", RECIPE_SHOWN_CHANGED},
    {"env.p_fail", "p_fail", RECIPE_SHOWN_CHANGED},
    {"env.facts", "facts", RECIPE_SHOWN_CHANGED},
    {"loss.clip_low", "clip_low", RECIPE_SHOWN_ALWAYS},
    {"loss.clip_high", "clip_high", RECIPE_SHOWN_ALWAYS},
    {"loss.kl_coef", "kl_coef", RECIPE_SHOWN_CHANGED},
    {"ipo.threshold", "ipo.threshold", RECIPE_SHOWN_READ}, /* its default has changed */
    {"algorithm.alpha", "alpha", RECIPE_SHOWN_READ},
    {"algorithm.beta", "beta", RECIPE_SHOWN_READ},
    {"algorithm.gamma", "gamma", RECIPE_SHOWN_READ},
    {"algorithm.gae.lam", "lam", RECIPE_SHOWN_READ},
    {"algorithm.decay", "decay", RECIPE_SHOWN_READ},
    {"algorithm.echo_weight", "echo_weight", RECIPE_SHOWN_READ},
    {"algorithm.prm_steps", "prm_steps", RECIPE_SHOWN_READ},
    {"algorithm.norm_by_std", "norm_by_std", RECIPE_SHOWN_CHANGED},
    {"algorithm.epsilon", "epsilon", RECIPE_SHOWN_CHANGED},
    {"algorithm.advantage_scale", "advantage_scale", RECIPE_SHOWN_CHANGED},
    {"algorithm.length_penalty", "length_penalty", RECIPE_SHOWN_CHANGED},
    {"algorithm.length_coef", "length_coef", RECIPE_SHOWN_CHANGED},
    {"algorithm.gain", "gain", RECIPE_SHOWN_CHANGED},
    {"algorithm.teacher", "teacher", RECIPE_SHOWN_CHANGED},
    {"algorithm.endpoint.key_env", "algorithm.endpoint.key_env", RECIPE_SHOWN_NEVER}, /* these settings do not affect log-probs */
    {"algorithm.endpoint.concurrency", "algorithm.endpoint.concurrency", RECIPE_SHOWN_NEVER},
    {"algorithm.endpoint.deadline", "algorithm.endpoint.deadline", RECIPE_SHOWN_NEVER},
    {"algorithm.endpoint.backoff", "algorithm.endpoint.backoff", RECIPE_SHOWN_NEVER},
    {"judge.key_env", "judge.key_env", RECIPE_SHOWN_NEVER}, /* these settings do not affect flags */
    {"judge.cache", "judge.cache", RECIPE_SHOWN_NEVER},
    {"judge.concurrency", "judge.concurrency", RECIPE_SHOWN_NEVER},
    {"judge.deadline", "judge.deadline", RECIPE_SHOWN_NEVER},
    {"judge.timeout", "judge.timeout", RECIPE_SHOWN_NEVER},
    {"judge.backoff", "judge.backoff", RECIPE_SHOWN_NEVER},
    {"judge.max_failed_share", "judge.max_failed_share", RECIPE_SHOWN_NEVER},
    {"model.width", "width", RECIPE_SHOWN_CHANGED},
    {"model.layers", "layers", RECIPE_SHOWN_CHANGED},
};
enum { N_NAMES = sizeof names / sizeof *names };

static const struct {
    const char *path, *alias;
    /*
 * At most one older key for each path. The older key is an alias of the key inside its object, and of the short name.
 */
} aliases[] = {
    {"training.lr", "learning_rate"},
    {"start.warm_start.lr", "learning_rate"},
};
enum { N_ALIASES = sizeof aliases / sizeof *aliases };

static const char *alias_of(const char *path)
{
    for (size_t i = 0; i < N_ALIASES; i++)
        if (strcmp(aliases[i].path, path) == 0)
            return aliases[i].alias;
    return NULL;
}

/*
 * Whether text is the name in row i of the table, or the older key of that row's path. Both tables have a few dozen
 * rows and are searched a few times per recipe, so a loop is fast enough.
 */
static bool is_called(size_t i, const char *text)
{
    const char *alias = alias_of(names[i].path);
    return strcmp(names[i].name, text) == 0 || (alias && strcmp(alias, text) == 0);
}

/* ---- names of fields ---------------------------------------------------------------------- */

/* algorithm.* has no "env." prefix because people write it without; no setting of the root begins with "algorithm.". */
static void full_path(char path[PATH_SIZE], const struct recipe_table *table, const struct recipe_field *field)
{
    bool env = table == &recipe_task && strncmp(field->path, "algorithm.", 10) != 0;
    snprintf(path, PATH_SIZE, "%s%s", env ? "env." : "", field->path);
}

static size_t place_of(const struct recipe_table *table, const struct recipe_field *field)
{
    char path[PATH_SIZE];
    size_t i = 0;
    full_path(path, table, field);
    while (i < N_NAMES && strcmp(names[i].path, path) != 0)
        i++;
    return i;
}

const char *recipe_short_name(const struct recipe_table *table, const struct recipe_field *field)
{
    size_t i = place_of(table, field);
    return i < N_NAMES ? names[i].name : NULL;
}

/*
 * Also writes the path, because messages name both, and because the returned name may be the path in the caller's
 * buffer.
 */
const char *recipe_name(const struct recipe_table *table, const struct recipe_field *field, char path[PATH_SIZE])
{
    const char *name = recipe_short_name(table, field);
    full_path(path, table, field);
    return name ? name : path;
}

/* A setting that was added to recipe_fields.c but not here still appears in rows that change it. */
enum recipe_shown recipe_shown_when(const struct recipe_table *table, const struct recipe_field *field)
{
    size_t i = place_of(table, field);
    return i < N_NAMES ? names[i].shown : RECIPE_SHOWN_CHANGED;
}

const char *recipe_alias(const struct recipe_field *field)
{
    return alias_of(field->path);
}

/* ---- places in a recipe, as people write them ------------------------------------------------ */

/* A parsed reference to a setting of a recipe. */
struct target {
    const struct recipe_table *table;
    int environment; /* for the recipe_task table: index of the environment, or -1 for all */
    char path[PATH_SIZE];
};

/*
 * Replaces an older key at the end of path by the newer one. Older keys stay readable permanently, because a recipe is
 * stored with every kept checkpoint.
 */
static void renew(char path[PATH_SIZE])
{
    for (size_t i = 0; i < N_ALIASES; i++) {
        const char *dot = strrchr(aliases[i].path, '.');
        size_t stem = (size_t)(dot - aliases[i].path) + 1;
        if (strncmp(path, aliases[i].path, stem) == 0 && strcmp(path + stem, aliases[i].alias) == 0) {
            strcpy(path, aliases[i].path);
            return;
        }
    }
}

/*
 * Reads the beginning of a setting of one environment: "environments[1]." or, as rows name it, "env1.". Returns what
 * follows, or NULL for another beginning.
 */
static const char *after_index(const char *setting, int *index)
{
    bool long_form = strncmp(setting, "environments[", 13) == 0;
    const char *digit = setting + (long_form ? 13 : 3), *end = digit + 1;
    if ((!long_form && strncmp(setting, "env", 3) != 0) || *digit < '0' || *digit >= '0' + TRAINER_ENVS_MAX)
        return NULL;
    *index = *digit - '0';
    if (long_form)
        return strncmp(end, "].", 2) == 0 ? end + 2 : NULL;
    return *end == '.' ? end + 1 : NULL;
}

/*
 * environment is -1 for all environments: a grid over alpha changes the algorithm of every environment. A path with an
 * index changes one environment: environments[1].algorithm.alpha, or env1.alpha.
 */
static bool find_target(struct target *target, const char *setting)
{
    *target = (struct target){.table = &recipe_root, .environment = -1};
    const char *inside = after_index(setting, &target->environment), *rest = inside ? inside : setting;
    for (size_t i = 0; i < N_NAMES; i++)
        if (is_called(i, rest))
            rest = names[i].path;
    if (inside) {
        target->table = &recipe_task;
        rest += strncmp(rest, "env.", 4) == 0 ? 4 : 0;
    } else if (strncmp(rest, "env.", 4) == 0 || strncmp(rest, "algorithm.", 10) == 0) {
        target->table = &recipe_task;
        rest += rest[0] == 'e' ? 4 : 0;
    }
    if (strlen(rest) >= sizeof target->path)
        return false;
    strcpy(target->path, rest);
    renew(target->path);
    return recipe_find(target->table, target->path) != NULL;
}

/* How many parts at the end two names have in common. */
static unsigned common_end(const char *a, const char *b)
{
    const char *p = a + strlen(a), *q = b + strlen(b);
    unsigned parts = 0;
    while (p > a && q > b && p[-1] == q[-1]) {
        p--, q--;
        parts += *p == '.';
    }
    return parts + ((p == a && (q == b || q[-1] == '.')) || (q == b && p[-1] == '.'));
}

/*
 * Settings whose names end alike are equally near: bare "warmup" may be that of the training, of the warm start or of the length.
 * A nested name means the one whose spelling is nearest: loss.beta is dro.beta rather than the beta of an environment.
 */
size_t recipe_same_key(char called[PATH_SIZE], const char *sought)
{
    enum { MOST = 3 };
    const struct recipe_table *const tables[] = {&recipe_root, &recipe_task};
    char path[PATH_SIZE], names_of[MOST][PATH_SIZE];
    unsigned best = 1;
    size_t n = 0;
    for (size_t t = 0; t < 2; t++)
        for (size_t i = 0; i < tables[t]->n; i++) {
            const char *name = recipe_name(tables[t], &tables[t]->fields[i], path);
            unsigned parts = common_end(sought, path);
            n = parts > best ? 0 : n;
            if (parts < best)
                continue;
            best = parts;
            if (n < MOST)
                snprintf(names_of[n], PATH_SIZE, "%s", name);
            n++;
        }
    if (n > MOST)
        return 0;
    for (; n > 1 && strchr(sought, '.'); n--)
        if (rl_name_distance(sought, names_of[n - 1]) < rl_name_distance(sought, names_of[n - 2]))
            memcpy(names_of[n - 2], names_of[n - 1], PATH_SIZE);
    size_t used = 0;
    for (size_t i = 0; i < n && used < PATH_SIZE; i++)
        used += (size_t)snprintf(called + used, PATH_SIZE - used, "%s%s", i == 0 ? "" : i + 1 < n ? ", " : " or ", names_of[i]);
    return used < PATH_SIZE ? n : 0;
}

/* Writes the nearest of all names and paths: "alhpa" was meant as a name, "training.iteratoins" as a path. */
static bool nearest_of_all(char nearest[PATH_SIZE], const char *sought)
{
    const struct recipe_table *const tables[] = {&recipe_root, &recipe_task};
    char path[PATH_SIZE];
    unsigned best = UINT_MAX;
    for (size_t t = 0; t < 2; t++)
        for (size_t i = 0; i < tables[t]->n; i++) {
            const char *name = recipe_name(tables[t], &tables[t]->fields[i], path);
            unsigned by_name = rl_name_distance(sought, name), by_path = rl_name_distance(sought, path);
            if (by_name < best || by_path < best) {
                best = by_name < by_path ? by_name : by_path;
                snprintf(nearest, PATH_SIZE, "%s", by_name < by_path ? name : path);
            }
        }
    return 3 * best <= strlen(sought);
}

/* The last part decides only where no whole name is near: "algo.advantage.gamma", below another program's objects. */
static enum trainer_status unknown(const char *setting, struct trainer_error *err)
{
    const char *inside = strncmp(setting, "environments[", 13) == 0 ? strstr(setting, "].") : NULL;
    const char *sought = inside ? inside + 2 : setting;
    char nearest[PATH_SIZE], said[RECIPE_FOREIGN_SIZE];
    if (recipe_foreign_say(said, sought))
        return trainer_fail(err, TRAINER_EINVAL, "unknown setting '%.80s'; %s", setting, said);
    bool nested = strchr(sought, '.') != NULL;
    bool like = (!nested && recipe_same_key(nearest, sought)) || nearest_of_all(nearest, sought) ||
                (nested ? recipe_same_key(nearest, sought) > 0 : recipe_is_like(nearest, sought));
    return trainer_fail(err, TRAINER_EINVAL, "unknown setting '%.80s': no such place in the recipe; %s%s", setting,
                        like ? "the nearest known one is " : RECIPE_UNLIKE, like ? nearest : "");
}

/* ---- setting values -------------------------------------------------------------------------- */

/*
 * Sets the value at a dotted path inside object, and creates missing objects. The parser checks the value later, with a
 * better message.
 */
static bool put_below(json_t *object, const char *keys, json_t *value)
{
    char key[PATH_SIZE];
    for (size_t n; n = strcspn(keys, "."), keys[n]; keys += n + 1) {
        snprintf(key, sizeof key, "%.*s", (int)n, keys);
        if (!json_object_get(object, key))
            json_object_set_new(object, key, json_object());
        object = json_object_get(object, key);
    }
    return json_is_object(object) && json_object_set(object, keys, value) == 0;
}

/* A recipe without environments gets one environment with all defaults. */
static json_t *environments(json_t *object)
{
    if (!json_object_get(object, "environments"))
        json_object_set_new(object, "environments", json_pack("[{}]"));
    return json_object_get(object, "environments");
}

enum trainer_status recipe_put(json_t *object, const char *setting, json_t *value, struct trainer_error *err)
{
    struct target target;
    if (!find_target(&target, setting))
        return unknown(setting, err);
    if (target.table == &recipe_root)
        return put_below(object, target.path, value)
                   ? TRAINER_OK
                   : trainer_fail(err, TRAINER_EINVAL, "%s: its parent is not an object", setting);
    json_t *list = environments(object);
    size_t n = json_array_size(list);
    bool all = target.environment < 0, good = all ? n > 0 : (size_t)target.environment < n;
    for (size_t i = 0; i < n && good; i++)
        if (all || i == (size_t)target.environment)
            good = put_below(json_array_get(list, i), target.path, value);
    return good ? TRAINER_OK : trainer_fail(err, TRAINER_EINVAL, "%s: no such place in the recipe", setting);
}

bool recipe_setting_is_read(const struct trainer_recipe *recipe, const char *setting, char needs[256])
{
    struct target target;
    if (!find_target(&target, setting))
        return true;
    const struct recipe_field *field = recipe_find(target.table, target.path);
    bool read = target.table == &recipe_root && recipe_is_read(recipe, NULL, field);
    for (int32_t i = 0; i < recipe->n_tasks && target.table == &recipe_task; i++)
        if (target.environment < 0 || target.environment == i)
            read = read || recipe_is_read(recipe, &recipe->tasks[i], field);
    recipe_condition_text(needs, field);
    return read;
}

void recipe_called(char called[PATH_SIZE], const char *setting)
{
    struct target target;
    snprintf(called, PATH_SIZE, "%s", setting);
    if (!find_target(&target, setting) || target.environment >= 0)
        return;
    char path[PATH_SIZE];
    snprintf(called, PATH_SIZE, "%s", recipe_name(target.table, recipe_find(target.table, target.path), path));
}

/* Follows only the first `length` bytes of path, because the tables hold complete paths whose last part is the key. */
static json_t *object_at(json_t *object, const char *path, size_t length)
{
    char key[PATH_SIZE];
    while (length > 0 && json_is_object(object)) {
        size_t n = strcspn(path, ".");
        snprintf(key, sizeof key, "%.*s", (int)n, path);
        object = json_object_get(object, key);
        path += n + 1;
        length -= n + 1 < length ? n + 1 : length;
    }
    return object;
}

bool recipe_same_setting(const char *a, const char *b)
{
    struct target x, y;
    return find_target(&x, a) && find_target(&y, b) && x.table == y.table && strcmp(x.path, y.path) == 0 &&
           (x.environment == y.environment || x.environment < 0 || y.environment < 0);
}

bool recipe_gives(json_t *object, const char *setting)
{
    struct target target;
    if (!find_target(&target, setting))
        return false;
    const char *dot = strrchr(target.path, '.'), *key = dot ? dot + 1 : target.path;
    size_t i = target.environment < 0 ? 0 : (size_t)target.environment;
    json_t *base = target.table == &recipe_task ? json_array_get(json_object_get(object, "environments"), i) : object;
    return json_object_get(object_at(base, target.path, (size_t)(key - target.path)), key) != NULL;
}

/* ---- older keys --------------------------------------------------------------------------- */

static enum trainer_status twice(const char *a, const char *b, struct trainer_error *err)
{
    return trainer_fail(err, TRAINER_EINVAL, "%s and %s are the same setting, given twice", a, b);
}

/*
 * Works on JSON before anything is merged or parsed: in a sweep a file may use learning_rate and a grid lr, which would
 * be two keys after merging.
 */
static enum trainer_status renew_keys(json_t *root, struct trainer_error *err)
{
    for (size_t i = 0; i < N_ALIASES; i++) {
        const char *key = strrchr(aliases[i].path, '.') + 1;
        json_t *object = object_at(root, aliases[i].path, (size_t)(key - aliases[i].path));
        json_t *value = json_object_get(object, aliases[i].alias);
        if (!value)
            continue;
        if (json_object_get(object, key))
            return twice(aliases[i].alias, aliases[i].path, err);
        json_object_set(object, key, value);
        json_object_del(object, aliases[i].alias);
    }
    return TRAINER_OK;
}

/*
 * Whether the setting that a name refers to already has a value; for an environment's setting, in the first
 * environment.
 */
static bool is_taken(json_t *root, const char *path)
{
    const char *rest = strncmp(path, "env.", 4) == 0 ? path + 4 : path;
    bool task = rest != path || strncmp(path, "algorithm.", 10) == 0;
    const char *dot = strrchr(rest, '.'), *key = dot ? dot + 1 : rest;
    json_t *base = task ? json_array_get(json_object_get(root, "environments"), 0) : root;
    return json_object_get(object_at(base, rest, (size_t)(key - rest)), key) != NULL;
}

static enum trainer_status place_name(json_t *root, const char *name, const char *path, struct trainer_error *err)
{
    json_t *value = json_incref(json_object_get(root, name));
    if (!value)
        return TRAINER_OK;
    json_object_del(root, name);
    enum trainer_status status = is_taken(root, path) ? twice(name, path, err) : recipe_put(root, path, value, err);
    json_decref(value);
    return status;
}

static enum trainer_status place_names(json_t *root, struct trainer_error *err)
{
    for (size_t i = 0; i < N_NAMES; i++) {
        const char *alias = alias_of(names[i].path);
        if (strcmp(names[i].path, names[i].name) != 0)
            TRY(place_name(root, names[i].name, names[i].path, err));
        if (alias)
            TRY(place_name(root, alias, names[i].path, err));
    }
    return TRAINER_OK;
}

/* ---- teachers ------------------------------------------------------------------------------ */

/* "policy" names the live policy as the teacher, as in prime-rl. Returns whether the algorithm has such a teacher. */
static bool teach_by_policy(json_t *algorithm)
{
    const char *name = json_string_value(json_object_get(algorithm, "name"));
    json_t *distill = json_object_get(algorithm, "distill");
    const char *how = json_string_value(json_object_get(distill, "how"));
    bool by_itself = name && strcmp(name, "opsd") == 0;
    if (!by_itself && (!how || strcmp(how, "none") == 0))
        return false;
    if (!by_itself)
        json_object_set_new(distill, "teacher", json_string("policy"));
    json_object_del(algorithm, "teacher");
    return true;
}

/*
 * Besides a checkpoint, algorithm.teacher may be the word "policy" or an object with name and base_url, as in prime-rl.
 * Both are moved to where these settings are.
 */
static enum trainer_status place_teacher(json_t *algorithm, struct trainer_error *err)
{
    json_t *teacher = json_object_get(algorithm, "teacher");
    const char *word = json_string_value(teacher);
    if (word && strcmp(word, "policy") == 0) /* teacher is deleted in the algorithm if this succeeds */
        return teach_by_policy(algorithm)
                   ? TRAINER_OK
                   : trainer_fail(err, TRAINER_EINVAL,
                                  "algorithm.teacher policy needs algorithm.name opsd, or algorithm.distill.how advantage or "
                                  "loss: the live "
                                  "policy teaches nothing without a hint, because its distance to itself is 0");
    if (!json_is_object(teacher))
        return TRAINER_OK;
    if (!json_object_get(teacher, "base_url"))
        return trainer_fail(err, TRAINER_EINVAL, "algorithm.teacher is an object without base_url, the address of the teacher");
    if (json_object_get(algorithm, "endpoint"))
        return twice("algorithm.teacher", "algorithm.endpoint", err);
    json_object_set(algorithm, "endpoint", teacher);
    json_object_del(algorithm, "teacher");
    return TRAINER_OK;
}

static enum trainer_status place_teachers(json_t *root, struct trainer_error *err)
{
    json_t *list = json_object_get(root, "environments");
    for (size_t i = 0; i < json_array_size(list); i++)
        TRY(place_teacher(json_object_get(json_array_get(list, i), "algorithm"), err));
    return TRAINER_OK;
}

/*
 * The algorithm of the run is that of each environment without one, as in prime-rl. An environment that names its own keeps
 * only its own settings, because those of another algorithm may mean nothing there. A word stands for the name.
 */
static enum trainer_status inherit_algorithm(json_t *root, struct trainer_error *err)
{
    json_t *given = json_object_get(root, "algorithm"), *list = json_object_get(root, "environments");
    if (!given || (json_is_string(given) && !list) || !(json_is_string(given) || json_is_object(given)))
        return TRAINER_OK;
    json_t *of_run = json_is_string(given) ? json_pack("{s:O}", "name", given) : json_incref(given);
    bool used = false;
    list = environments(root);
    for (size_t i = 0; i < json_array_size(list); i++) {
        json_t *task = json_array_get(list, i), *own = json_object_get(task, "algorithm"), *copy = json_deep_copy(of_run);
        if (!own)
            used |= json_object_set(task, "algorithm", copy) == 0;
        else if (!json_object_get(own, "name"))
            used |= json_object_update_missing(own, copy) == 0;
        json_decref(copy);
    }
    json_decref(of_run);
    json_object_del(root, "algorithm");
    return used || !json_is_array(list)
               ? TRAINER_OK
               : trainer_fail(err, TRAINER_EINVAL, "algorithm has no effect: each environment names its own");
}

/*
 * Older keys are renamed first, so that a name and an older key of the same setting end up at the same path and are
 * found to be duplicates.
 */
enum trainer_status recipe_canonical(json_t *object, struct trainer_error *err)
{
    TRY(renew_keys(object, err));
    TRY(inherit_algorithm(object, err));
    TRY(place_names(object, err));
    return place_teachers(object, err);
}
