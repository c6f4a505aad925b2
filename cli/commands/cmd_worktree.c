/* cmd_worktree.c: `lineage worktree`: work trees of git in which several agents work side by side on one store. */

#include "git/git.h"
#include "run/run_parts.h"

enum { GIT_MAX = 1 << 16, GIT_SECONDS = 120 };

struct worktree_options {
    struct cli_session session;
    char *gpu, *path, *from;
    int end;
    struct cli_list *list;
    const char *wanted; /* the agent to find */
    struct agent_place found;
};

static void list_place(void *context, const struct agent_place *place)
{
    struct worktree_options *o = context;
    cli_list_row(o->list, CLI_TEXT(place->agent), CLI_TEXT(place->path), CLI_TEXT(place->branch), CLI_TEXT(place->gpu),
                 CLI_TEXT(place->head));
}

static void find_place(void *context, const struct agent_place *place)
{
    struct worktree_options *o = context;
    if (strcmp(place->agent, o->wanted) == 0)
        o->found = *place;
}

static int list_places(struct worktree_options *o)
{
    o->list = cli_list_of(o->session.format, NULL, "agent,path,branch,gpu,head");
    agent_places_each(".", list_place, o);
    return cli_list_finish(o->list);
}

/* A name becomes a part of a path and of a branch. */
static bool is_good_name(const char *name)
{
    return *name && strlen(name) < AGENT_NAME_MAX && *name != '.' && *name != '-' && !strstr(name, "..") &&
           strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-") == strlen(name) &&
           name[strlen(name) - 1] != '.';
}

/* Whether provenance names the commit of the trial's code, changes included, and the repository has it. */
static bool find_code(char commit[REPOSITORY_COMMIT_MAX], const struct lineage_store *store, const struct repository *r,
                      const char *exp_id)
{
    json_t *run = provenance_load(store, exp_id), *git = json_object_get(run, "git");
    const char *name = trial_place_code(git);
    bool found = *name && repository_commit(commit, r, name);
    json_decref(run);
    return found;
}

/* The commit that a new agent starts from: that of --from, or the code of the best kept trial, or HEAD. */
static bool find_start(char commit[REPOSITORY_COMMIT_MAX], struct worktree_options *o, const struct repository *r)
{
    struct lineage_trial best = {0};
    struct lineage_error err;
    if (o->from && !find_code(commit, o->session.store, r, o->from) && !repository_commit(commit, r, o->from))
        return cli_refuse("worktree: --from %s names neither a commit nor a trial whose code this repository has", o->from);
    if (!o->from &&
        (lineage_best_kept(o->session.store, &best, &err) != LINEAGE_OK || !find_code(commit, o->session.store, r, best.exp_id)))
        snprintf(commit, REPOSITORY_COMMIT_MAX, "%s", r->commit);
    lineage_trial_release(&best);
    return commit[0] || cli_refuse("worktree: the repository has no commit; commit the code first");
}

/* Beside the main work tree, also if this is another one. */
static bool find_path(char path[PATH_MAX], const struct worktree_options *o, const struct repository *r, const char *agent)
{
    char common[PATH_MAX];
    if (o->path)
        return snprintf(path, PATH_MAX, "%s", o->path) < PATH_MAX;
    char *slash = repository_common(common, ".") ? strrchr(common, '/') : NULL;
    const bool is_main = slash && strcmp(slash, "/.git") == 0;
    return snprintf(path, PATH_MAX, "%.*s-%s", is_main ? (int)(slash - common) : (int)strlen(r->top), is_main ? common : r->top,
                    agent) < PATH_MAX;
}

static int make(struct worktree_options *o, const char *agent)
{
    struct agent_place place = {.agent = ""};
    struct repository r;
    char commit[REPOSITORY_COMMIT_MAX] = "", there[REPOSITORY_COMMIT_MAX], branch[300];
    if (!is_good_name(agent))
        return cli_error(CLI_USAGE, "worktree: '%.60s' cannot name an agent: letters, digits, _ . -, first a letter or digit",
                         agent);
    if (o->gpu && (!*o->gpu || strlen(o->gpu) >= AGENT_GPU_MAX))
        return cli_error(CLI_USAGE, "worktree: --gpu wants what CUDA_VISIBLE_DEVICES holds, such as 0 or 0,1");
    if (!repository_find(&r, ".") || !r.has_files)
        return cli_error(CLI_USAGE, "worktree: this is not a work tree of git; an agent's code is kept by git");
    o->wanted = agent;
    agent_places_each(".", find_place, o);
    if (o->found.agent[0])
        return cli_error(CLI_USAGE, "worktree: %s works in %s already", agent, o->found.path);
    if (!find_start(commit, o, &r) || !find_path(place.path, o, &r, agent))
        return CLI_USAGE;
    snprintf(place.agent, sizeof place.agent, "%s", agent);
    snprintf(place.gpu, sizeof place.gpu, "%s", o->gpu ? o->gpu : "");
    snprintf(place.branch, sizeof place.branch, "lineage/%s", agent);
    snprintf(branch, sizeof branch, "refs/heads/%s", place.branch);
    if (repository_commit(there, &r, branch))
        return cli_error(CLI_USAGE,
                         "worktree: %s has the branch %s of earlier work; git branch -D removes it, or take another name", agent,
                         place.branch);
    if (!agent_place_make(".", &place, commit))
        return CLI_SYSTEM;
    puts(place.path);
    return CLI_OK;
}

/* Whether there is a store in the work tree. It ignores itself, and git removes what is ignored without a word. */
static bool has_store(const char *path)
{
    const char *const words[] = {"git", "-C", path, "ls-files", "--others", "--", ":(glob)**/lineage.json", NULL};
    size_t length = 0;
    char *said = read_command(words, NULL, GIT_SECONDS, GIT_MAX, &length);
    const bool none = said && !length;
    free(said);
    return !none;
}

/* git refuses a work tree with changes, which then belong to somebody. The branch stays: its commits are in refs of trials, or in no
 * other place. */
static int end_place(struct worktree_options *o, const char *agent)
{
    size_t length;
    o->wanted = agent;
    agent_places_each(".", find_place, o);
    if (!o->found.agent[0])
        return cli_error(CLI_USAGE, "worktree: no work tree of an agent '%.60s'; `lineage worktree` lists those there are",
                         agent);
    if (has_store(o->found.path))
        return cli_error(CLI_NO, "worktree: %s has a store of trials, which would be removed with it; move the store first",
                         o->found.path);
    const char *const words[] = {"git", "worktree", "remove", "--", o->found.path, NULL};
    char *said = read_command(words, NULL, GIT_SECONDS, GIT_MAX, &length);
    free(said);
    return said ? CLI_OK
                : cli_error(CLI_NO,
                            "worktree: git does not remove %s: it has changes, or this is it (git worktree remove --force)",
                            o->found.path);
}

static int work(struct cli_session *session, void *context)
{
    struct worktree_options *o = context;
    const char *agent = session->args.n_positional ? session->args.positional[0] : NULL;
    if (!agent && (o->end || o->gpu || o->path || o->from))
        return cli_error(CLI_USAGE, "worktree: name the agent");
    if (o->end && (o->gpu || o->path || o->from))
        return cli_error(CLI_USAGE, "worktree: --remove stands alone");
    return !agent ? list_places(o) : o->end ? end_place(o, agent) : make(o, agent);
}

static struct worktree_options chosen;
static struct poptOption table[] = {
    CLI_SESSION_OPTIONS(&chosen.session),
    CLI_OPTION("gpu", &chosen.gpu, "LIST", "what CUDA_VISIBLE_DEVICES is for its trials, unless it is set"),
    CLI_OPTION("path", &chosen.path, "DIR", "where (default: beside the main work tree, TOP-AGENT)"),
    CLI_OPTION("from", &chosen.from, "ID|COMMIT", "the code to start from (default: that of the best kept trial, else HEAD)"),
    CLI_FLAG("remove", &chosen.end, "remove its work tree; its branch and the code of its trials stay"),
    POPT_TABLEEND};

const struct cli_command cmd_worktree = {
    .name = "worktree",
    .arguments = "[AGENT]",
    .description = "Makes a work tree of git in which an agent works beside others on one store, on the new\n"
                   "branch lineage/AGENT, and prints its path. `lineage run` and `lineage lease` in it act for\n"
                   "AGENT, which becomes the specialist of the rows, and its trials get the GPUs of --gpu. The\n"
                   "store stays where it is: name it by an absolute -C. Without AGENT, lists the work trees of\n"
                   "agents.",
    .examples = "  lineage worktree -C runs gpu0 --gpu 0\n  lineage worktree -C runs\n  lineage worktree -C runs gpu0 --remove",
    CLI_ON_STORE(chosen.session, table, 0, 1, work, &chosen),
};
