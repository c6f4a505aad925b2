/*
 * Braces without the name of a parameter stay in a command, because shells, JSON and Python use braces too. So a typo is
 * only certain if the parameter that was meant is used nowhere.
 */
#include "sweep/night_sweep.h"

#include <ctype.h>
#include <sys/stat.h>

enum { NAMES_MAX = TRIAL_PARAMS_MAX + PROPOSE_RANGES_MAX + 3, FILE_BYTES = 1 << 20 };

struct words {
    const struct night_sweep *sweep;
    const char *names[NAMES_MAX]; /* [n] names that a placeholder may have, ended by NULL */
    bool used[NAMES_MAX];
    size_t n;
    bool other_way; /* the command may read its parameters without placeholders */
    char own_file[256]; /* a word that is one of the sweep's files outside of the work directory; "": none */
    bool sees_workdir; /* a program that the command names may find the work directory without a placeholder */
};

static void add_name(struct words *w, const char *name)
{
    for (size_t i = 0; i < w->n; i++)
        if (strcmp(w->names[i], name) == 0)
            return;
    if (w->n + 1 < NAMES_MAX)
        w->names[w->n++] = name;
}

static bool mentions_params(const char *text)
{
    return strstr(text, "LINEAGE_PARAM") || strstr(text, "params.json");
}

/* A program that a word names may read its parameters from the environment. */
static void look_into_file(struct words *w, const char *word)
{
    char path[PATH_MAX];
    struct stat st;
    const char *dir = *word == '/' ? "" : w->sweep->directory;
    char *text = NULL;
    if (!*word || snprintf(path, sizeof path, "%s%s%s", dir, *dir ? "/" : "", word) >= PATH_MAX ||
        ((stat(path, &st) != 0 || !S_ISREG(st.st_mode)) &&
         (snprintf(path, sizeof path, "%s", word) >= PATH_MAX || stat(path, &st) != 0 || !S_ISREG(st.st_mode))))
        return;
    FILE *in = fopen(path, "re");
    if (in && (text = malloc(FILE_BYTES + 1))) {
        size_t n = fread(text, 1, FILE_BYTES, in);
        for (size_t i = 0; i < n; i++)
            text[i] = text[i] ? text[i] : ' ';
        text[n] = '\0';
        w->other_way = w->other_way || mentions_params(text);
        w->sees_workdir = w->sees_workdir || strstr(text, "LINEAGE_WORKDIR");
    }
    free(text);
    if (in)
        fclose(in);
}

static size_t name_length(const char *text)
{
    size_t n = 0;
    if (!isalpha((unsigned char)*text))
        return 0;
    while (isalnum((unsigned char)text[n]) || (text[n] && strchr("_.-", text[n])))
        n++;
    return n;
}

/* Calls visit for each `{NAME}`, except `${NAME}` of a shell, until visit returns false. */
static bool each_placeholder(const char *text, bool (*visit)(struct words *w, const char *name), struct words *w)
{
    bool good = true;
    for (const char *at = strchr(text, '{'); good && at; at = strchr(at + 1, '{')) {
        char name[LINEAGE_NAME_MAX];
        size_t n = name_length(at + 1);
        if (!n || n >= sizeof name || at[1 + n] != '}' || (at > text && at[-1] == '$'))
            continue;
        memcpy(name, at + 1, n);
        name[n] = '\0';
        good = visit(w, name);
    }
    return good;
}

static bool note_use(struct words *w, const char *name)
{
    for (size_t i = 0; i < w->n; i++)
        w->used[i] = w->used[i] || strcmp(w->names[i], name) == 0;
    return true;
}

static bool check_typo(struct words *w, const char *name)
{
    const char *near = cli_nearest(name, w->names);
    for (size_t i = 0; near && i < w->n; i++) {
        if (strcmp(w->names[i], name) == 0)
            return true;
        if (w->names[i] == near && w->used[i])
            near = NULL;
    }
    if (!near || strcmp(near, "seed") == 0 || strcmp(near, "workdir") == 0)
        return true;
    return cli_refuse("%s: the command has {%s}, which is not a parameter, and nothing uses {%s}; is it a typo?", w->sweep->file,
                      name, near);
}

/* Calls visit for the placeholders in all texts of a value: a text, a list of texts, or an object of texts. */
static bool each_text(struct words *w, const json_t *value, bool (*visit)(struct words *w, const char *name))
{
    const char *key;
    json_t *part;
    size_t i;
    bool good = true;
    if (json_is_string(value))
        return each_placeholder(json_string_value(value), visit, w);
    json_array_foreach((json_t *)(uintptr_t)value, i, part)
        good = good && each_text(w, part, visit);
    if (json_is_object(value))
        json_object_foreach((json_t *)(uintptr_t)value, key, part)
            good = good && each_placeholder(key, visit, w) && each_text(w, part, visit);
    return good;
}

/* The settings in which placeholders are replaced. */
static bool each_setting(struct words *w, const json_t *spec, bool (*visit)(struct words *w, const char *name))
{
    static const char *const keys[] = {"command", "eval", "preflight", "environment", "artifacts"};
    bool good = true;
    for (size_t i = 0; good && i < sizeof keys / sizeof *keys; i++)
        good = each_text(w, json_object_get(spec, keys[i]), visit);
    return good;
}

/* Calls visit for the words of a command: those of a list, or those of a shell's line. */
static void each_word(struct words *w, const json_t *command, void (*visit)(struct words *w, const char *word))
{
    size_t i;
    json_t *word;
    json_array_foreach((json_t *)(uintptr_t)command, i, word)
        if (json_is_string(word))
            visit(w, json_string_value(word));
    if (json_is_string(command)) {
        char *words = strdup(json_string_value(command)), *rest = words, *one;
        while (words && (one = strtok_r(rest, " \t\n;&|()'\"", &rest)))
            visit(w, one);
        free(words);
    }
}

static void look_for_other_way(struct words *w, const json_t *spec)
{
    char *all = json_dumps(spec, JSON_COMPACT);
    size_t i;
    json_t *word;
    w->other_way = w->other_way || (all && mentions_params(all));
    free(all);
    each_word(w, json_object_get(spec, "command"), look_into_file);
    json_array_foreach(json_object_get(w->sweep->root, "files"), i, word)
        look_into_file(w, json_string_value(word));
}

static bool is_listed(const json_t *names, const char *word)
{
    size_t i;
    json_t *name;
    word += strncmp(word, "./", 2) == 0 ? 2 : 0;
    json_array_foreach((json_t *)(uintptr_t)names, i, name) {
        const char *text = json_is_string(name) ? json_string_value(name) : "";
        if (strcmp(text + (strncmp(text, "./", 2) == 0 ? 2 : 0), word) == 0)
            return true;
    }
    return false;
}

/* A protected file has the same bytes in both places. */
static void find_own_file(struct words *w, const char *word)
{
    const json_t *root = w->sweep->root;
    if (!w->own_file[0] && is_listed(json_object_get(root, "files"), word) && !is_listed(json_object_get(root, "protect"), word))
        snprintf(w->own_file, sizeof w->own_file, "%.200s", word);
}

/*
 * The files of a sweep are copied into the work directory, where a planner's diff changes them. A command that runs the file of the
 * same name in the directory of the sweep runs none of these diffs, and their trials would be recorded as if it had.
 */
static bool check_files(struct words *w, const json_t *spec)
{
    static const char *const keys[] = {"command", "eval", "preflight"};
    const json_t *command = json_object_get(spec, "command");
    char *all = json_dumps(spec, JSON_COMPACT);
    bool named = all && (strstr(all, "{workdir}") || strstr(all, "LINEAGE_WORKDIR"));
    bool moves = json_is_string(command) && strstr(json_string_value(command), "cd ");
    free(all);
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        each_word(w, json_object_get(spec, keys[i]), look_into_file);
    if (!named || !moves)
        each_word(w, command, find_own_file);
    if (w->own_file[0])
        cli_error(CLI_USAGE,
                  "%s: the command runs %s of the directory of the sweep and not the copy in {workdir} that diffs change; write "
                  "{workdir}/%s",
                  w->sweep->file, w->own_file, w->own_file);
    else if (!named && !w->sees_workdir)
        cli_error(CLI_USAGE,
                  "%s: the sweep has \"files\", but neither its command nor its eval or preflight uses {workdir} or "
                  "LINEAGE_WORKDIR, so no diff of them would run",
                  w->sweep->file);
    return !w->own_file[0] && (named || w->sees_workdir);
}

static void add_names(struct words *w, const json_t *spec)
{
    const char *name;
    json_t *value;
    json_object_foreach(json_object_get(spec, "params"), name, value)
        add_name(w, name);
    for (size_t i = 0; i < w->sweep->space.n; i++)
        add_name(w, w->sweep->space.ranges[i].name);
    add_name(w, "seed");
    add_name(w, "workdir");
}

/* A word of the command cannot name a parameter that some trials lack. */
static bool check_conditions(const struct words *w, const json_t *spec)
{
    const json_t *params = json_object_get(spec, "params");
    for (size_t i = 0; i < w->n; i++)
        for (size_t k = 0; w->used[i] && k < w->sweep->space.n; k++) {
            const char *name = w->sweep->space.ranges[k].name, *condition = w->sweep->space.conditions[k];
            if (!condition || strcmp(name, w->names[i]) != 0 || json_object_get(params, name))
                continue;
            return cli_refuse(
                "%s: the command uses {%s}, which has a value only if %s; give it a value for other trials in \"params\"",
                w->sweep->file, name, condition);
        }
    return true;
}

static int check_spec(const struct night_sweep *sweep, const json_t *spec, bool ranges)
{
    struct words *w = calloc(1, sizeof *w);
    int status = CLI_GO_ON;
    if (!w)
        return cli_no_memory();
    w->sweep = sweep;
    add_names(w, spec);
    each_setting(w, spec, note_use);
    if (json_array_size(json_object_get(sweep->root, "files")) > 0 && !check_files(w, spec))
        status = CLI_USAGE;
    else if (!each_setting(w, spec, check_typo) || (ranges && !check_conditions(w, spec)))
        status = CLI_USAGE;
    if (status == CLI_GO_ON && ranges)
        look_for_other_way(w, spec);
    for (size_t i = 0; status == CLI_GO_ON && ranges && !w->other_way && i < w->n; i++)
        for (size_t k = 0; !w->used[i] && k < sweep->space.n; k++)
            if (strcmp(sweep->space.ranges[k].name, w->names[i]) == 0 && strcmp(w->names[i], "seed") != 0)
                fprintf(stderr, "lineage: %s: no word of the command uses {%s}, so the range of %s changes nothing\n",
                        sweep->file, w->names[i], w->names[i]);
    free(w);
    return status;
}

/* Most sweeps list trials that differ in their parameters only, so the first trial shows what is wrong with all. */
int sweep_words_check(const struct night_sweep *sweep)
{
    int status = CLI_GO_ON;
    if (!sweep->of_commands)
        return status;
    for (size_t i = 0; status == CLI_GO_ON && i < sweep->n; i++)
        status = check_spec(sweep, sweep->list[i].command, false);
    if (status == CLI_GO_ON && sweep->space.n > 0) {
        json_t *spec = json_copy(sweep->root);
        status = spec ? check_spec(sweep, spec, true) : cli_no_memory();
        json_decref(spec);
    }
    return status;
}
