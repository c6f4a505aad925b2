#include "run/code_ref.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <lineage/query.h>

#include "git/commit_diff.h"
#include "run/provenance_read.h"

/* The diff of a larger file cannot be summarised in a line. */
enum { FILE_MAX = 4 << 20 };

/* The exp_id of the trial to compare with; false if there is none. */
static bool find_other(char id[LINEAGE_NAME_MAX], struct lineage_store *store, const char *parent)
{
    struct lineage_trial best = {0};
    struct lineage_error err;
    bool found = parent && *parent;
    if (found)
        snprintf(id, LINEAGE_NAME_MAX, "%s", parent);
    else if ((found = lineage_best_kept(store, &best, &err) == LINEAGE_OK))
        snprintf(id, LINEAGE_NAME_MAX, "%s", best.exp_id);
    lineage_trial_release(&best);
    return found;
}

/* The trial goes on without the file. */
static void write_diff(const char *dir, const char *diff, size_t length)
{
    char path[PATH_MAX];
    int n = snprintf(path, sizeof path, "%s/parent.diff", dir);
    FILE *out = n > 0 && n < PATH_MAX ? cli_private_file(path) : NULL;
    bool written = out && fwrite(diff, 1, length, out) == length;
    if (out && (fclose(out) != 0 || !written))
        unlink(path);
}

void code_change_find(json_t *git, struct lineage_store *store, const char *parent, const char *dir)
{
    char other[LINEAGE_NAME_MAX], origin[LINEAGE_NAME_MAX], text[LINEAGE_DIFFSTAT_MAX];
    struct lineage_diffstat stat;
    size_t length;
    if (!find_other(other, store, parent))
        return;
    json_t *run = provenance_load(store, other);
    bool known = provenance_origin(&run, origin, store);
    if (known && parent && *parent && commit_lacks(git, json_object_get(run, "git"))) {
        cli_error(CLI_NO,
                  "HEAD does not contain the code of %s, the parent of this trial; check its commit out or name another parent",
                  parent);
        json_object_set_new(git, "lacks_parent", json_true());
    }
    char *diff = known ? commit_diff(json_object_get(run, "git"), git, FILE_MAX, &length) : NULL;
    if (diff) {
        lineage_diffstat_read(&stat, diff, length);
        json_object_set_new(git, "against", cli_json_text(other));
        if (length)
            write_diff(dir, diff, length);
        json_object_set_new(git, "change", cli_json_text(length ? lineage_diffstat_format(text, &stat) : ""));
    }
    free(diff);
    json_decref(run);
}

void code_change_note(char out[LINEAGE_CODE_NOTE_MAX], const json_t *git)
{
    const char *commit = json_string_value(json_object_get(git, "code"));
    const char *change = json_string_value(json_object_get(git, "change"));
    struct lineage_commit_note note;
    out[0] = '\0';
    if (!commit)
        commit = json_string_value(json_object_get(git, "commit"));
    if (!commit || (change && !*change))
        return;
    snprintf(note.commit, sizeof note.commit, "%s", commit);
    snprintf(note.change, sizeof note.change, "%s", change ? change : "");
    lineage_commit_note_format(out, &note);
}
