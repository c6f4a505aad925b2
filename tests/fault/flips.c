/*
 * flips.c: one bit of one byte of one file of a small store is flipped; then everything is asked, and a row appended.
 *
 * usage: flips N [SEED]     N flips at random places; 0: one in every byte of every file
 *
 * Each answer is the right one, or comes with a notice, or is an error that says why. The row that is appended is the
 * right one in any case: what its rules rest on is checked, or is not from the damaged file. A flip in a file that people
 * write (settings, telemetry) may also mean what it says: then the answers are those of a store that never knew better.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <lineage/query.h>
#include <lineage/render.h>
#include <lineage/verify.h>

#include "marathon.h"
#include "questions.h"
#include "support/files.h"
#include "support/last_words.h"

enum { MAX_FILES = 16, MAX_ANSWERS = 24 };

/* A file of the sound store. */
struct file {
    char name[64];
    char *bytes;
    size_t length;
    struct timespec times[2];
    bool written_by_people;
};

/* What was answered, and whether anything was said about it. */
struct answers {
    char *text[MAX_ANSWERS];
    bool noticed[MAX_ANSWERS];
    int n;
};

struct laboratory {
    char *dir;
    struct file files[MAX_FILES];
    int n_files;
    struct answers sound;
    char *sound_row; /* the row appended to the sound store */
};

/* Shared with the child: where it is, so that a crash is known by its place. */
struct place {
    size_t done, flips, failures;
    int file;
    size_t byte;
    unsigned bit;
};

/* ---- asking ------------------------------------------------------------------------------------------------------ */

static bool heard;

static void hear_notice(void *context, const struct lineage_notice *notice)
{
    (void)context, (void)notice;
    heard = true;
}

static struct lineage_store *open_lab(const struct laboratory *lab, bool no_mirror, struct lineage_error *err)
{
    const struct lineage_open_options options = {.notice = hear_notice, .no_mirror = no_mirror};
    struct lineage_store *store;
    return lineage_store_open(&store, lab->dir, &options, err) == LINEAGE_OK ? store : NULL;
}

/* An error with a message is a notice too. */
static char *ask_on(struct lineage_store *store, int i, struct lineage_error err, bool *noticed)
{
    char *text = NULL;
    size_t length;
    FILE *out = open_memstream(&text, &length);
    enum lineage_status status = store ? questions[i].ask(store, out, &err) : err.status;
    fclose(out);
    *noticed = heard || (status != LINEAGE_OK && status != LINEAGE_ENOTFOUND && err.text[0]);
    return text;
}

/* One question to a handle of its own, as a command asks. */
static char *ask_one(const struct laboratory *lab, int i, bool no_mirror, bool *noticed)
{
    struct lineage_error err = {0};
    heard = false;
    struct lineage_store *store = open_lab(lab, no_mirror, &err);
    char *text = ask_on(store, i, err, noticed);
    lineage_store_close(store);
    return text;
}

static void ask_everything(const struct laboratory *lab, bool no_mirror, struct answers *answers)
{
    for (int i = 0; i < (int)n_questions; i++)
        answers->text[i] = ask_one(lab, i, no_mirror, &answers->noticed[i]);
    answers->n = (int)n_questions;
}

static void forget_answers(struct answers *answers)
{
    for (int i = 0; i < answers->n; i++)
        free(answers->text[i]);
    answers->n = 0;
}

/* ---- the store ----------------------------------------------------------------------------------------------------- */

/* Whether to keep it, its best so far, its id and its parent follow from what is there. NULL if it was refused. */
static char *append_probe(const struct laboratory *lab, struct lineage_error *err)
{
    struct lineage_append_options options;
    struct lineage_trial row = {0}, trial = {.specialist = "opt", .parent_exp = "exp_003", .timestamp = "T",
                                             .hypothesis = "a probe", .core_metric = {true, 1.2}};
    char *text = NULL;
    size_t length;
    struct lineage_store *store = open_lab(lab, false, err);
    lineage_append_options_init(&options);
    options.auto_status = true;
    if (store && lineage_store_append(store, &trial, &options, &row, err) == LINEAGE_OK) {
        FILE *out = open_memstream(&text, &length);
        print_trial(out, &row);
        fclose(out);
    }
    lineage_trial_release(&row);
    lineage_store_close(store);
    return text;
}

static void take_file(struct laboratory *lab, const char *name, bool written_by_people)
{
    struct file *file = &lab->files[lab->n_files++];
    struct stat st;
    char *path = join(lab->dir, name);
    if (lab->n_files > MAX_FILES || stat(path, &st) != 0)
        abort();
    snprintf(file->name, sizeof file->name, "%s", name);
    file->bytes = read_file(path, &file->length);
    file->times[0] = st.st_atim;
    file->times[1] = st.st_mtim;
    file->written_by_people = written_by_people;
    free(path);
}

/* In place: the mirror knows results.tsv by its inode and its time. */
static void put_file(const struct laboratory *lab, const struct file *file, bool with_its_time)
{
    char *path = join(lab->dir, file->name);
    int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0666);
    if (fd < 0 || write(fd, file->bytes, file->length) != (ssize_t)file->length || (with_its_time && futimens(fd, file->times)))
        abort();
    close(fd);
    free(path);
}

static bool is_kept(const struct laboratory *lab, const char *name)
{
    for (int i = 0; i < lab->n_files; i++)
        if (strcmp(lab->files[i].name, name) == 0)
            return true;
    return strcmp(name, "telemetry") == 0 || strcmp(name, "snapshots") == 0;
}

/* All files as they were, and no others. */
static void restore(const struct laboratory *lab)
{
    char **names = list_dir(lab->dir, "");
    for (size_t i = 0; names && names[i]; i++)
        if (names[i][0] != '.' && !is_kept(lab, names[i])) {
            char *path = join(lab->dir, names[i]);
            unlink(path);
            free(path);
        }
    free_list(names);
    for (int i = 0; i < lab->n_files; i++)
        put_file(lab, &lab->files[i], true);
}

static void prepare(struct laboratory *lab)
{
    struct lineage_error err;
    lab->dir = make_dir();
    make_asked_store(lab->dir);
    ask_everything(lab, false, &lab->sound);
    forget_answers(&lab->sound);
    take_file(lab, "results.tsv", false);
    take_file(lab, "lineage.db", false);
    take_file(lab, "lineage.json", true);
    take_file(lab, "telemetry/001.json", true);
    take_file(lab, "snapshots/003_opt/train.py", true);
    restore(lab);
    ask_everything(lab, false, &lab->sound);
    for (int i = 0; i < (int)n_questions; i++)
        if (lab->sound.noticed[i]) {
            printf("FAIL %s of a sound store comes with a notice\n", questions[i].name);
            exit(1);
        }
    lab->sound_row = append_probe(lab, &err);
    if (!lab->sound_row)
        abort();
    restore(lab);
}

/* ---- flipping ------------------------------------------------------------------------------------------------------ */

static void fail(const struct laboratory *lab, struct place *place, const char *what, const char *got, const char *wanted)
{
    printf("FAIL %s, byte %zu, bit %u: %s\n", lab->files[place->file].name, place->byte, place->bit, what);
    if (got)
        printf("    got    %.300s\n    wanted %.300s\n", got, wanted);
    fflush(stdout);
    place->failures++;
}

/* As if there had never been a mirror: what a changed setting or measurement means. */
static bool is_what_the_files_say(const struct laboratory *lab, int i, const char *answer)
{
    bool noticed;
    char *fresh = ask_one(lab, i, true, &noticed);
    bool same = noticed || strcmp(fresh, answer) == 0;
    free(fresh);
    return same;
}

static void judge_answer(const struct laboratory *lab, struct place *place, int i, const char *answer)
{
    const struct file *file = &lab->files[place->file];
    if (strcmp(answer, lab->sound.text[i]) != 0 && !(file->written_by_people && is_what_the_files_say(lab, i, answer)))
        fail(lab, place, questions[i].name, answer, lab->sound.text[i]);
}

/* Each question to a handle of its own, the first thing it is asked; or, as a program does, all to one. */
static void judge_answers(const struct laboratory *lab, struct place *place, bool one_handle)
{
    struct lineage_error err = {0};
    struct lineage_store *store = NULL;
    bool noticed;
    if (one_handle)
        store = open_lab(lab, false, &err);
    heard = false;
    for (int i = 0; i < (int)n_questions; i++) {
        char *answer = one_handle ? ask_on(store, i, err, &noticed) : ask_one(lab, i, false, &noticed);
        if (!noticed)
            judge_answer(lab, place, i, answer);
        free(answer);
    }
    lineage_store_close(store);
}

static void ignore_finding(void *context, const struct lineage_finding *finding)
{
    (void)context, (void)finding;
}

static void judge_verify(const struct laboratory *lab, struct place *place)
{
    struct lineage_error err = {0};
    size_t n = 0;
    struct lineage_store *store = open_lab(lab, false, &err);
    if (store && lineage_verify(store, &n, ignore_finding, NULL, &err) != LINEAGE_OK && !err.text[0])
        fail(lab, place, "verify fails without a word", NULL, NULL);
    lineage_store_close(store);
}

/* Appended to the store as the flip left it, and not as a reading command mended it. Of results.tsv and the settings the
 * row follows what they say now; there, only earlier bytes must be as they were. */
static void judge_append(const struct laboratory *lab, struct place *place, const struct file *flipped)
{
    struct lineage_error err = {0};
    const struct file *file = &lab->files[place->file];
    size_t length;
    char *row = append_probe(lab, &err), *path = join(lab->dir, "results.tsv"), *now = read_file(path, &length);
    const struct file *before = place->file == 0 ? flipped : &lab->files[0];
    if (!row && !err.text[0])
        fail(lab, place, "append is refused without a word", NULL, NULL);
    if (!row && strcmp(file->name, "lineage.db") == 0)
        fail(lab, place, "a damaged mirror refuses a row", err.text, lab->sound_row);
    if (row && place->file != 0 && !file->written_by_people && strcmp(row, lab->sound_row) != 0)
        fail(lab, place, "another row was appended", row, lab->sound_row);
    if (length < before->length || memcmp(now, before->bytes, before->length) != 0)
        if (place->file != 0) /* a flipped line end at the end is a torn record, which is moved aside */
            fail(lab, place, "earlier bytes changed", NULL, NULL);
    free(row);
    free(path);
    free(now);
}

static void flip(const struct laboratory *lab, struct place *place)
{
    const struct file *file = &lab->files[place->file];
    struct file flipped = *file;
    flipped.bytes = malloc(file->length);
    if (!flipped.bytes)
        abort();
    memcpy(flipped.bytes, file->bytes, file->length);
    flipped.bytes[place->byte] = (char)(flipped.bytes[place->byte] ^ (1 << place->bit));
    put_file(lab, &flipped, false);
    judge_verify(lab, place);
    judge_append(lab, place, &flipped);
    restore(lab);
    put_file(lab, &flipped, false);
    judge_answers(lab, place, place->done % 4 != 0);
    restore(lab);
    free(flipped.bytes);
}

static size_t all_bytes(const struct laboratory *lab)
{
    size_t n = 0;
    for (int i = 0; i < lab->n_files; i++)
        n += lab->files[i].length;
    return n;
}

/* The n-th flip: in every byte one, or of a sample half in results.tsv and half anywhere. */
static void aim(const struct laboratory *lab, size_t n, bool all, uint64_t seed, struct place *place)
{
    uint64_t at = seed + n * 0x2545f4914f6cdd1du;
    size_t byte = all ? n : draw(&at) % (draw(&at) % 2 ? lab->files[0].length : all_bytes(lab));
    place->bit = (unsigned)(draw(&at) % 8);
    for (place->file = 0; byte >= lab->files[place->file].length; place->file++)
        byte -= lab->files[place->file].length;
    place->byte = byte;
}

static void work(const struct laboratory *lab, struct place *place, bool all, uint64_t seed)
{
    restore(lab);
    while (place->done < place->flips && place->failures < 50) {
        aim(lab, place->done++, all, seed, place);
        flip(lab, place);
    }
    leave(0);
}

int main(int argc, char **argv)
{
    size_t wanted = argc > 1 ? strtoull(argv[1], NULL, 10) : 200, crashes = 0;
    uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
    struct laboratory lab = {0};
    struct place *place = mmap(NULL, sizeof *place, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    int state;
    prepare(&lab);
    *place = (struct place){.flips = wanted ? wanted : all_bytes(&lab)};
    while (place->done < place->flips && place->failures + crashes < 50) {
        fflush(stdout);
        pid_t child = fork();
        if (child == 0)
            work(&lab, place, !wanted, seed);
        if (child < 0 || waitpid(child, &state, 0) != child)
            return 2;
        if (state != 0) {
            printf("FAIL %s, byte %zu, bit %u: crash, state %x\n", lab.files[place->file].name, place->byte, place->bit,
                   (unsigned)state);
            crashes++;
        }
    }
    printf("%zu of %zu flips in %d files, %zu crashes, %zu failures\n", place->done, place->flips, lab.n_files, crashes,
           place->failures);
    size_t failures = crashes + place->failures;
    forget_answers(&lab.sound);
    free(lab.sound_row);
    for (int i = 0; i < lab.n_files; i++)
        free(lab.files[i].bytes);
    remove_dir(lab.dir);
    return failures != 0;
}
