#include "run/run_parts.h"

#include <sys/stat.h>
#include <unistd.h>

#include <lineage/render.h>

#include "git/git.h"
#include "output/show.h"

/* Rows may have been written by any program, so an id that would lead to another directory is rejected. */
bool provenance_path(char path[PATH_MAX], const struct lineage_store *store, const char *exp_id)
{
    struct lineage_error err;
    struct stat st;
    char *dir = NULL;
    if (!*exp_id || *exp_id == '.' || strchr(exp_id, '/') ||
        lineage_store_path(&dir, store, LINEAGE_PLACE_PROVENANCE, &err) != LINEAGE_OK)
        return false;
    const bool fits = cli_path_in(path, dir, exp_id);
    lineage_free(dir);
    return fits && lstat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

bool provenance_is_closed(const struct lineage_store *store, const char *exp_id)
{
    char path[PATH_MAX + 16];
    struct lineage_error err;
    struct stat st;
    char *dir = NULL;
    bool closed = lineage_store_path(&dir, store, LINEAGE_PLACE_PROVENANCE, &err) == LINEAGE_OK &&
                  access(dir, R_OK | X_OK) != 0 && errno == EACCES;
    if (closed)
        cli_tell("the commands and commits of trials cannot be read; the owner of %s opens it to the group: chmod -R g+rwX %s",
                 dir, dir);
    else if (exp_id && provenance_path(path, store, exp_id)) {
        const size_t length = strlen(path);
        snprintf(path + length, sizeof path - length, "/run.json");
        closed = access(path, R_OK) != 0 && errno == EACCES && stat(dir, &st) == 0;
        path[length] = '\0';
        if (closed)
            cli_tell(
                "the command and commit of %s cannot be read; the owner of %s opens it to the group: chgrp -R %ju %s && chmod "
                "-R g+rwX %s",
                exp_id, path, (uintmax_t)st.st_gid, path, path);
    }
    lineage_free(dir);
    return closed;
}

json_t *provenance_load(const struct lineage_store *store, const char *exp_id)
{
    char dir[PATH_MAX], path[PATH_MAX + 16];
    if (!provenance_path(dir, store, exp_id))
        return NULL;
    snprintf(path, sizeof path, "%s/run.json", dir);
    json_t *run = json_load_file(path, 0, NULL);
    if (!json_is_object(run)) {
        json_decref(run);
        return NULL;
    }
    trial_place_forget(json_object_get(run, "git")); /* what a file says of it was not found here */
    trial_place_find(json_object_get(run, "git"), lineage_store_dir(store));
    return run;
}

bool provenance_origin(json_t **run, char id[LINEAGE_NAME_MAX], const struct lineage_store *store)
{
    const char *before;
    for (int depth = 0; depth < PROVENANCE_RERUNS_MAX; depth++) {
        if (!*run || !(before = cli_json_string(*run, "rerun_of")))
            break;
        snprintf(id, LINEAGE_NAME_MAX, "%s", before);
        json_decref(*run);
        *run = provenance_load(store, id);
    }
    return *run != NULL;
}

static void print_text(const struct cli_screen *screen, const char *name, const char *text)
{
    char *line = text && *text ? cli_text_line(text, 0) : NULL;
    if (line)
        cli_show_line(stdout, screen, name, line, CLI_PLAIN);
    free(line);
}

/* Words with blanks or quotes are printed in single quotes, so that their boundaries are visible. */
static void print_words(FILE *out, const json_t *words)
{
    for (size_t i = 0; i < json_array_size(words); i++) {
        const char *word = json_string_value(json_array_get(words, i));
        bool bare = word && *word && strcspn(word, " \t\n\"'\\;&|<>()$`*?") == strlen(word);
        fprintf(out, "%s%s%s%s", i ? " " : "", bare ? "" : "'", word ? word : "", bare ? "" : "'");
    }
}

static void print_command(const struct cli_screen *screen, const json_t *run)
{
    char *text = NULL;
    size_t length;
    FILE *out = open_memstream(&text, &length);
    if (!out)
        return;
    print_words(out, json_object_get(run, "command"));
    fclose(out);
    print_text(screen, "command", text);
    free(text);
}

static void print_git(const struct cli_screen *screen, const json_t *git)
{
    char text[256];
    if (!git)
        return;
    print_text(screen, "commit", cli_json_string(git, "commit"));
    print_text(screen, "branch", cli_json_string(git, "branch"));
    print_text(screen, "ref", cli_json_string(git, "ref"));
    snprintf(text, sizeof text,
             "%" JSON_INTEGER_FORMAT " bytes staged, %" JSON_INTEGER_FORMAT " unstaged, %" JSON_INTEGER_FORMAT " untracked files",
             json_integer_value(json_object_get(git, "staged")), json_integer_value(json_object_get(git, "unstaged")),
             json_integer_value(json_object_get(git, "untracked")));
    print_text(screen, "changes", text);
    if (json_object_get(git, "submodules"))
        print_text(screen, "submodules", "the ref has their files, with changes");
    print_text(screen, "left_out", cli_json_string(git, "left_out"));
}

void provenance_print(const json_t *run, const struct cli_screen *screen)
{
    static const char *const keys[] = {"directory", "eval", "preflight", "host", "processor", NULL};
    const char *name;
    json_t *value;
    size_t i;
    print_command(screen, run);
    for (size_t k = 0; keys[k]; k++)
        print_text(screen, keys[k], json_string_value(json_object_get(run, keys[k])));
    json_array_foreach(json_object_get(run, "gpus"), i, value)
        print_text(screen, "gpu", json_string_value(value));
    print_git(screen, json_object_get(run, "git"));
    json_object_foreach(json_object_get(run, "versions"), name, value) {
        char *safe = cli_text_line(name, 40);
        print_text(screen, safe ? safe : "", json_is_string(value) ? json_string_value(value) : "(failed)");
        free(safe);
    }
}
