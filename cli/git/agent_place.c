#include "git/git.h"

#include <unistd.h>

#include "cli.h"

#define AGENT_FILE "lineage-agent.json"

enum { LIST_MAX = 1 << 20, LIST_SECONDS = 20, MAKE_SECONDS = 600 };

static bool read_place(struct agent_place *place, const char *git_dir)
{
    char path[PATH_MAX];
    if (snprintf(path, sizeof path, "%s/" AGENT_FILE, git_dir) >= (int)sizeof path || access(path, F_OK) != 0)
        return false;
    json_t *object = json_load_file(path, 0, NULL);
    snprintf(place->agent, sizeof place->agent, "%s", cli_json_member(object, "agent"));
    snprintf(place->gpu, sizeof place->gpu, "%s", cli_json_member(object, "gpu"));
    json_decref(object);
    return place->agent[0] != '\0';
}

static bool git_dir_of(char out[PATH_MAX], const char *dir)
{
    static const char *const where[] = {"rev-parse", "--path-format=absolute", "--git-dir", NULL};
    return repository_ask(out, PATH_MAX, dir, where);
}

bool agent_place_here(struct agent_place *place)
{
    char git_dir[PATH_MAX];
    *place = (struct agent_place){.agent = ""};
    return git_dir_of(git_dir, ".") && read_place(place, git_dir);
}

bool agent_name(char out[AGENT_NAME_MAX], const char *given)
{
    struct agent_place place;
    const char *name = given ? given : getenv("LINEAGE_AGENT");
    if (!name && agent_place_here(&place))
        name = place.agent;
    for (const char *c = name; c && *c; c++)
        if ((unsigned char)*c < ' ' || *c == 0x7f || c - name >= AGENT_NAME_MAX - 1)
            return cli_refuse("the name of the agent has a control character, or more than %d bytes", AGENT_NAME_MAX - 1);
    json_t *text = json_string(name ? name : "");
    json_decref(text);
    if (!text)
        return cli_refuse("the name of the agent is not UTF-8");
    snprintf(out, AGENT_NAME_MAX, "%s", name ? name : "");
    return true;
}

/* One work tree of `git worktree list --porcelain`: lines up to an empty one. */
static const char *take_work_tree(struct agent_place *place, const char *text)
{
    static const char branches[] = "branch refs/heads/";
    *place = (struct agent_place){.agent = ""};
    while (*text && *text != '\n') {
        const int n = (int)strcspn(text, "\n");
        if (strncmp(text, "worktree ", 9) == 0)
            snprintf(place->path, sizeof place->path, "%.*s", n - 9, text + 9);
        else if (strncmp(text, "HEAD ", 5) == 0)
            snprintf(place->head, sizeof place->head, "%.*s", n - 5, text + 5);
        else if (strncmp(text, branches, sizeof branches - 1) == 0)
            snprintf(place->branch, sizeof place->branch, "%.*s", n - (int)sizeof branches + 1, text + sizeof branches - 1);
        text += n + (text[n] == '\n');
    }
    return text + (*text == '\n');
}

bool agent_places_each(const char *dir, void (*visit)(void *context, const struct agent_place *place), void *context)
{
    const char *const list[] = {"git", "-C", dir, "worktree", "list", "--porcelain", NULL};
    char git_dir[PATH_MAX];
    struct agent_place place;
    size_t length;
    char *text = read_command(list, NULL, LIST_SECONDS, LIST_MAX, &length);
    for (const char *at = text; at && *at;) {
        at = take_work_tree(&place, at);
        if (git_dir_of(git_dir, place.path) && read_place(&place, git_dir))
            visit(context, &place);
    }
    free(text);
    return text != NULL;
}

/* git runs as the user would run it, with their filters and hooks, because the work tree is theirs. */
bool agent_place_make(const char *dir, const struct agent_place *place, const char *commit)
{
    const char *const make[] = {"git", "-C", dir, "worktree", "add", "-b", place->branch, "--", place->path, commit, NULL};
    char git_dir[PATH_MAX], path[PATH_MAX];
    size_t length;
    char *said = read_command(make, NULL, MAKE_SECONDS, LIST_MAX, &length);
    free(said);
    if (!said)
        return cli_refuse("git worktree add -b %s %s %s failed; run it to see why", place->branch, place->path, commit);
    json_t *object = json_pack("{s:s, s:s}", "agent", place->agent, "gpu", place->gpu);
    bool good = git_dir_of(git_dir, place->path) && snprintf(path, sizeof path, "%s/" AGENT_FILE, git_dir) < (int)sizeof path &&
                json_dump_file(object, path, JSON_COMPACT) == 0;
    json_decref(object);
    return good || cli_refuse("cannot write " AGENT_FILE " for the work tree %s", place->path);
}
