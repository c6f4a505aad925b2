/* measure_trial.c: compares a trial with its nearest ancestors whose code and command are known. */
#include "collecting.h"
#include "literals.h"

#include <fcntl.h>
#include <jansson.h>

#include <lineage/code.h>
#include <lineage/render.h>

#include "../files/fs.h"
#include "../files/places.h"
#include "../format/id.h"
#include "../format/json_text.h"
#include "../internal.h"
#include "../questions/questions.h"

/* ---- what a trial was run from: its snapshot, the code that its sweep kept, and its provenance ---- */

struct program {
    const char *exp_id; /* the trial's; it must live as long as the struct */
    int snapshot_fd;   /* -1 for none */
    int provenance_fd; /* -1 for none */
    json_t *run;       /* run.json; NULL for none */
    bool has_git;      /* it names a commit: */
    const char *commit;  /* of the repository that it was run in .. */
    const char *code;    /* .. that has the changes of the work tree in it, too; NULL if it could not be made */
    const char
        *against; /* the trial with whose code `lineage run` compared this one before it started; "" if it is not known .. */
    const char *change;  /* .. and a summary of the diff; NULL for none */
    struct file_text diff; /* of the commits of this trial and the other, if the caller knows it; text NULL: unknown */
    struct lineage_code code_files;
    bool has_code;
    bool failed;       /* out of memory */
    bool gone;         /* the row names a snapshot or code that is not here now */
};

enum { RUN_MAX = 1 << 20, DIFF_MAX = 16 << 20, WORDS_MAX = 4096, ID_MAX = 200 };

/* Reads run.json. */
static void read_run(struct program *program)
{
    struct lineage_error ignored;
    SCOPED_BUF text = {0};
    if (program->provenance_fd >= 0 && read_regular(&text, program->provenance_fd, "run.json", RUN_MAX) &&
        json_text_parse(&program->run, "run.json", LINEAGE_EINVAL, text.data, text.length, 0, &ignored) == LINEAGE_ENOMEM)
        program->failed = true;
    program->failed = program->failed || text.failed;
    const json_t *git = json_object_get(program->run, "git");
    program->has_git = git != NULL;
    program->commit = json_string_value(json_object_get(git, "commit"));
    program->code = json_string_value(json_object_get(git, "code"));
    program->against = json_string_value(json_object_get(git, "against"));
    program->change = json_string_value(json_object_get(git, "change"));
    program->against = program->against ? program->against : "";
}

/* Opens what is there. Nothing of it is required, and links are not followed. */
static void program_open(struct program *program, struct lineage_store *store, const struct lineage_trial *trial)
{
    struct lineage_error ignored;
    struct lineage_code_note note;
    char path[sizeof PLACE_PROVENANCE "/" + ID_MAX];
    const size_t length = strlen(trial->exp_id);
    const bool has_snapshot = trial->snapshot_path && *trial->snapshot_path;
    *program = (struct program){.exp_id = trial->exp_id, .snapshot_fd = -1, .provenance_fd = -1};
    if (has_snapshot)
        program->snapshot_fd = fs_open_below(store->dir_fd, trial->snapshot_path);
    if (lineage_code_note_parse(&note, trial->notes)) {
        enum lineage_status status = lineage_code_load(&program->code_files, store, trial, &ignored);
        program->has_code = status == LINEAGE_OK;
        program->gone = !program->has_code;
        program->failed = status == LINEAGE_ENOMEM;
    }
    program->gone = program->gone || (has_snapshot && program->snapshot_fd < 0);
    if (length && length <= ID_MAX && trial->exp_id[0] != '.' && !strchr(trial->exp_id, '/')) {
        snprintf(path, sizeof path, PLACE_PROVENANCE "/%s", trial->exp_id);
        program->provenance_fd = fs_open_below(store->dir_fd, path);
    }
    read_run(program);
}

static void program_close(struct program *program)
{
    fs_close(program->snapshot_fd);
    fs_close(program->provenance_fd);
    json_decref(program->run);
    if (program->has_code)
        lineage_code_release(&program->code_files);
    *program = (struct program){.snapshot_fd = -1, .provenance_fd = -1};
}

/* ---- commands ---- */

static bool is_filled_in(const struct program *program, const char *name, size_t n)
{
    json_t *params = json_object_get(program->run, "params");
    return json_object_getn(params, name, n) || (n == 4 && memcmp(name, "seed", n) == 0) ||
           (n == 7 && memcmp(name, "workdir", n) == 0);
}

/* A copy of the word with LITERALS_FILLED_IN for each {name} of a parameter, {seed} and {workdir}. Other braces stay, as in a template. */
static const char *mark_filled_in(const struct program *program, struct arena *arena, const char *word)
{
    char *copy = strchr(word, '{') ? arena_text(arena, word, strlen(word)) : NULL, *to = copy;
    for (const char *from = copy; from && *from;) {
        const size_t n = *from == '{' ? strcspn(from + 1, "{}") : 0;
        const bool filled = n && from[1 + n] == '}' && is_filled_in(program, from + 1, n);
        *to++ = filled ? LITERALS_FILLED_IN : *from;
        from += filled ? n + 2 : 1;
    }
    if (copy)
        *to = '\0';
    return copy ? copy : word;
}

/* The words of a run's command, after its --env variables as assignments NAME=VALUE. Returns NULL for a run without a command. */
static const char **words_of(const struct program *program, struct arena *arena, size_t *n, bool *failed)
{
    const json_t *command = json_object_get(program->run, "command"), *value;
    json_t *env = json_object_get(program->run, "env");
    const char *name;
    size_t count = json_array_size(command);
    if (!json_is_array(command) || !count || count + json_object_size(env) > WORDS_MAX)
        return NULL;
    const char **words = arena_alloc(arena, count + json_object_size(env), sizeof *words);
    *n = 0;
    *failed = *failed || !words;
    if (!words)
        return NULL;
    json_object_foreach(env, name, value) {
        const char *text = json_string_value(value);
        char *word = text ? arena_alloc(arena, strlen(name) + strlen(text) + 2, 1) : NULL;
        if (word) {
            strcpy(word, name);
            strcat(word, "=");
            words[(*n)++] = strcat(word, text);
        }
    }
    for (size_t i = 0; i < count; i++) {
        const char *word = json_string_value(json_array_get(command, i));
        words[(*n)++] = word ? mark_filled_in(program, arena, word) : "";
    }
    return words;
}

/* Compares commands and the variables set by --env. Returns false if one of them has no command. */
static bool program_compare_commands(struct collecting *c, const struct program *from, const struct program *to)
{
    SCOPED_ARENA arena = {0};
    size_t n_from, n_to;
    const char **before = words_of(from, &arena, &n_from, &c->failed), **after = words_of(to, &arena, &n_to, &c->failed);
    if (before && after)
        collect_commands(c, before, n_from, after, n_to);
    return before && after;
}

/* ---- code ---- */

/* Reads the diff between the commits of two trials. Returns false if none was recorded for them. */
static bool read_parent_diff(struct collecting *c, const struct program *from, const struct program *to)
{
    SCOPED_BUF diff = {0};
    if (!to->change || !*from->exp_id || strcmp(id_bare(to->against), id_bare(from->exp_id)) != 0)
        return false;
    bool there = read_regular(&diff, to->provenance_fd, "parent.diff", DIFF_MAX);
    if (there)
        collect_diff(c, diff.data, diff.length);
    c->failed = c->failed || diff.failed;
    return there || !*to->change; /* "": the code is the same */
}

/* Reads one version of a file that a sweep kept; without a file, the text is NULL. */
static enum lineage_status read_kept(char **text, struct file_text *side, struct lineage_store *store,
                                     const struct lineage_code_file *file, struct lineage_error *err)
{
    *text = NULL;
    *side = (struct file_text){NULL, 0};
    enum lineage_status status = file ? lineage_code_read(text, &side->length, store, file->digest, err) : LINEAGE_OK;
    side->text = *text;
    return status;
}

static enum lineage_status compare_kept(struct collecting *c, struct lineage_store *store, const struct lineage_code *from,
                                        const struct lineage_code *to, struct lineage_error *err)
{
    enum lineage_status status = LINEAGE_OK;
    for (size_t i = 0, k = 0; (i < from->n_files || k < to->n_files) && status == LINEAGE_OK && !c->failed;) {
        int order = i == from->n_files ? 1 : k == to->n_files ? -1 : strcmp(from->files[i].name, to->files[k].name);
        const struct lineage_code_file *a = order <= 0 ? &from->files[i++] : NULL, *b = order >= 0 ? &to->files[k++] : NULL;
        struct file_text old, new;
        char *old_text = NULL, *new_text = NULL;
        if (a && b && strcmp(a->digest, b->digest) == 0)
            continue;
        status = read_kept(&old_text, &old, store, a, err);
        if (status == LINEAGE_OK)
            status = read_kept(&new_text, &new, store, b, err);
        if (status == LINEAGE_OK)
            collect_file(c, a ? a->name : b->name, &old, &new);
        lineage_free(old_text);
        lineage_free(new_text);
    }
    return status;
}

/* Compares the commits with their changes by what is recorded of them. Returns false if that says nothing about the two. */
static bool compare_commits(struct collecting *c, const struct program *from, const struct program *to)
{
    if (from->diff.text) {
        collect_diff(c, from->diff.text, from->diff.length);
        return true;
    }
    return read_parent_diff(c, from, to) || (from->code && to->code && strcmp(from->code, to->code) == 0);
}

/* Compares the code of two trials: their snapshots, else the files that their sweep kept; and, without such files, the diff that was
 * recorded between their commits. A snapshot alone does not tell what two commits differ in, and sets c->incomplete. *done is false
 * if they have none of these in common. Fails only if a kept file cannot be read. */
static enum lineage_status program_compare_code(bool *done, struct collecting *c, struct lineage_store *store,
                                                const struct program *from, const struct program *to, struct lineage_error *err)
{
    enum lineage_status status = LINEAGE_OK;
    const bool snapshots = from->snapshot_fd >= 0 && to->snapshot_fd >= 0, kept = from->has_code && to->has_code;
    const bool commits = !kept && compare_commits(c, from, to);
    *done = snapshots || kept || commits;
    if (snapshots)
        collect_trees(c, from->snapshot_fd, to->snapshot_fd);
    else if (kept)
        status = compare_kept(c, store, &from->code_files, &to->code_files, err);
    if (snapshots && !kept && !commits && from->commit && to->commit) /* the program is in the commits */
        c->incomplete = true;
    return status;
}

/* ---- compares a trial with its nearest ancestors whose code and command are known ---- */

/* Files of this many ancestors are looked for. */
enum { ANCESTORS_MAX = 100 };

struct question {
    struct lineage_store *store;
    uint64_t seq;
    struct lineage_measured *measured;
    bool settled;
};

/* Steps to the trial `id`. LINEAGE_ENOTFOUND if there is none, and for a trial that comes later in the log, which would
 * allow a cycle. */
static enum lineage_status go_back_to(struct mirror *mirror, const char *id, struct lineage_trial *trial, struct arena *arena,
                                      struct lineage_error *err)
{
    int64_t seq = 0;
    if (!*id)
        return LINEAGE_ENOTFOUND;
    TRY(mirror_find(mirror, id, &seq, err));
    if ((uint64_t)seq >= trial->seq)
        return LINEAGE_ENOTFOUND;
    return mirror_borrow(mirror, seq, trial, arena, err);
}

/* The names of the ancestors that a comparison used. */
struct against {
    const char *code, *command; /* NULL: not yet */
};

static enum lineage_status compare(struct question *q, struct collecting *c, struct against *against, struct arena *arena,
                                   struct lineage_error *err)
{
    struct lineage_trial trial;
    struct program mine, other;
    enum lineage_status status = LINEAGE_OK;
    TRY(mirror_borrow(q->store->mirror, (int64_t)q->seq, &trial, arena, err));
    program_open(&mine, q->store, &trial);
    q->settled = !mine.gone;
    c->failed = mine.failed;
    bool code = mine.snapshot_fd >= 0 || mine.has_code || mine.has_git;
    bool command = json_array_size(json_object_get(mine.run, "command")) > 0;
    for (size_t i = 0; (code || command) && i < ANCESTORS_MAX && !c->failed; i++) {
        bool done = false;
        /* A row that names no parent may have been run from the best trial. */
        const char *parent = i == 0 && !*trial.parent_exp ? mine.against : trial.parent_exp;
        if ((status = go_back_to(q->store->mirror, parent, &trial, arena, err)) != LINEAGE_OK)
            break;
        program_open(&other, q->store, &trial);
        c->failed = c->failed || other.failed;
        if (command && program_compare_commands(c, &other, &mine)) {
            against->command = trial.exp_id;
            command = false;
        }
        if (code) {
            q->settled = q->settled && !other.gone;
            status = program_compare_code(&done, c, q->store, &other, &mine, err);
            against->code = done ? trial.exp_id : NULL;
            code = !done;
        }
        program_close(&other);
        if (status != LINEAGE_OK)
            break;
    }
    program_close(&mine);
    return status == LINEAGE_ENOTFOUND ? LINEAGE_OK : status;
}

static enum lineage_status ask(void *context, struct lineage_error *err)
{
    struct question *q = context;
    struct collecting c = {0};
    struct arena arena = {0};
    struct against against = {NULL, NULL};
    lineage_measured_release(q->measured);
    enum lineage_status status = compare(q, &c, &against, &arena, err);
    const char *code = against.code ? arena_text(&c.arena, against.code, strlen(against.code)) : "";
    const char *command = against.command ? arena_text(&c.arena, against.command, strlen(against.command)) : "";
    c.failed = c.failed || !code || !command || status != LINEAGE_OK;
    arena_release(&arena);
    enum lineage_status finished = collect_finish(&c, q->measured, status == LINEAGE_OK ? err : NULL);
    if (finished == LINEAGE_OK) {
        q->measured->against = code;
        q->measured->command_against = command;
    }
    return status == LINEAGE_OK ? finished : status;
}

enum lineage_status measure_trial_at(struct lineage_measured *measured, bool *settled, struct lineage_store *store, uint64_t seq,
                                     struct lineage_error *err)
{
    struct question q = {.store = store, .seq = seq, .measured = measured};
    *measured = (struct lineage_measured){.against = "", .command_against = ""};
    enum lineage_status status = mirror_ask(store->mirror, ask, &q, err);
    *settled = q.settled;
    /* `lineage verify` reports damaged objects of the code; here they are files that cannot be compared. */
    if (status == LINEAGE_ECORRUPT || status == LINEAGE_EIO || status == LINEAGE_ENOTFOUND || status == LINEAGE_EAWAY) {
        *settled = false;
        return LINEAGE_OK;
    }
    return status;
}

enum lineage_status lineage_measure_pair(struct lineage_measured *measured, struct lineage_store *store,
                                         const struct lineage_trial *from, const struct lineage_trial *to,
                                         struct lineage_error *err)
{
    return lineage_measure_pair_by(measured, store, from, to, NULL, 0, err);
}

enum lineage_status lineage_measure_pair_by(struct lineage_measured *measured, struct lineage_store *store,
                                            const struct lineage_trial *from, const struct lineage_trial *to, const char *diff,
                                            size_t length, struct lineage_error *err)
{
    struct program before, after;
    struct collecting c = {0};
    bool code = false;
    *measured = (struct lineage_measured){.against = "", .command_against = ""};
    program_open(&before, store, from);
    program_open(&after, store, to);
    before.diff = (struct file_text){diff, length};
    c.failed = before.failed || after.failed;
    bool command = program_compare_commands(&c, &before, &after);
    enum lineage_status status = program_compare_code(&code, &c, store, &before, &after, err);
    program_close(&before);
    program_close(&after);
    const char *against = arena_text(&c.arena, from->exp_id, strlen(from->exp_id));
    bool nothing = status == LINEAGE_OK && !code && !command && !c.failed;
    c.failed = c.failed || !against || status != LINEAGE_OK || nothing;
    enum lineage_status finished = collect_finish(&c, measured, status == LINEAGE_OK && !nothing ? err : NULL);
    if (status != LINEAGE_OK)
        return status;
    if (nothing)
        return store_fail(err, LINEAGE_ENOTFOUND,
                          "trials '%.80s' and '%.80s' have no code or command in this store that could be compared", from->exp_id,
                          to->exp_id);
    if (finished == LINEAGE_OK) {
        measured->against = code ? against : "";
        measured->command_against = command ? against : "";
    }
    return finished;
}

enum lineage_status lineage_measure_trial(struct lineage_measured *measured, struct lineage_store *store,
                                          const struct lineage_trial *trial, struct lineage_error *err)
{
    bool settled;
    return measure_trial_at(measured, &settled, store, trial->seq, err);
}

/* ---- what a caller names ---- */

enum lineage_status lineage_measure_directories(struct lineage_measured *measured, int from_fd, int to_fd,
                                                struct lineage_error *err)
{
    struct collecting c = {0};
    collect_trees(&c, from_fd, to_fd);
    return collect_finish(&c, measured, err);
}

enum lineage_status lineage_measure_diff(struct lineage_measured *measured, const char *diff, size_t length,
                                         struct lineage_error *err)
{
    struct collecting c = {0};
    *measured = (struct lineage_measured){.against = "", .command_against = ""};
    if (length > LINEAGE_MEASURED_BYTES)
        return store_fail(err, LINEAGE_ELIMIT, "a diff of %zu bytes is longer than %zu MiB", length,
                          LINEAGE_MEASURED_BYTES >> 20);
    collect_diff(&c, diff, length);
    return collect_finish(&c, measured, err);
}

enum lineage_status lineage_measure_commands(struct lineage_measured *measured, const char *const *from, size_t n_from,
                                             const char *const *to, size_t n_to, struct lineage_error *err)
{
    struct collecting c = {0};
    collect_commands(&c, from, n_from, to, n_to);
    return collect_finish(&c, measured, err);
}
