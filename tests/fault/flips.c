/*
 * flips.c: flips one bit in one byte of one file of a small store, then asks every question and appends a row.
 *
 * usage: flips N [SEED]              N flips at random places; `flips 20s`: random flips for twenty seconds
 *        flips all [SEED [I/N]]      one flip in every byte of every file, or in every N-th byte from the I-th on
 *        flips killed [SEED [I/N]]   like `all`, in the store of a killed writer (see below)
 *
 * First a bit of every byte of lineage.db is flipped, with `all` every bit, and the digest of its page must detect each flip.
 * Therefore `flips all` skips the free space of the pages (long runs of zeros).
 *
 * Afterwards lineage.db-wal and lineage.db-shm are flipped in the same way, in a store whose writer was killed, because
 * these files exist only then. They get a quarter of the flips, or a quarter of the time, except with `all`.
 *
 * Each answer must be right, or come with a notice, or be an error with a reason. The appended row must always be
 * right: the data that its rules depend on is checked or does not come from the damaged file. A flip in a file that
 * people write (settings, telemetry) may also be a valid change; then the answers must be those of a store that always
 * had the changed file.
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
#include <time.h>
#include <unistd.h>

#include <lineage/query.h>
#include <lineage/render.h>
#include <lineage/verify.h>

#include "marathon.h"
#include "mirror/checked_pages.h"
#include "questions.h"
#include "support/files.h"
#include "support/last_words.h"

enum { MAX_FILES = 16, MAX_ANSWERS = 24 };

/* A file of the undamaged store. */
struct file {
    char name[64];
    char *bytes;
    size_t length;
    struct timespec times[2];
    bool written_by_people;
};

/* The answers to all questions, and for each whether a notice came with it. */
struct answers {
    char *text[MAX_ANSWERS];
    bool noticed[MAX_ANSWERS];
    int n;
};

struct laboratory {
    char *dir;
    struct file files[MAX_FILES];
    int n_files, first; /* only the files from `first` on are flipped */
    struct answers sound;
    char *sound_row;           /* the row that is appended to the undamaged store */
    struct answers sound_then; /* the answers after the append */
};

/* The bytes to flip. */
struct plan {
    bool all;
    size_t flips, step, first; /* flips: with `all`, includes the flips in free space, which are skipped */
    time_t seconds; /* 0: without a time limit */
    uint64_t seed;
};

/* Memory shared with the child. It holds the child's current flip, so the parent can report where the child crashed. */
struct place {
    size_t done, passed_over, failures;
    int file;
    size_t byte;
    unsigned bit;
    bool over;
};

/* One flip, and the questions asked of the damaged store. */
struct trial {
    const struct laboratory *lab;
    struct place *place;
    const struct file *flipped;
    struct lineage_store *store; /* NULL: each question opens its own handle */
    struct lineage_error err;    /* result of opening the store */
    bool appended;
};

/*
 * ---- questions
 * ------------------------------------------------------------------------------------------------------
 */

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

/* Asks question i. *noticed is true if a notice was heard, or if the answer is an error with a message. */
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

/* Opens a handle for one question, as a command does. */
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

/*
 * Appends a row whose label, best score so far, id and parent follow from the store. Returns the row as text, or NULL
 * if it was refused.
 */
static char *append_probe(struct lineage_store *store, struct lineage_error *err)
{
    struct lineage_append_options options;
    struct lineage_trial row = {0}, trial = {.specialist = "opt",
                                             .parent_exp = "exp_003",
                                             .timestamp = "T",
                                             .hypothesis = "a probe",
                                             .core_metric = {true, 1.2}};
    char *text = NULL;
    size_t length;
    lineage_append_options_init(&options);
    options.auto_status = true;
    options.no_sync = true;
    if (store && lineage_store_append(store, &trial, &options, &row, err) == LINEAGE_OK) {
        FILE *out = open_memstream(&text, &length);
        print_trial(out, &row);
        fclose(out);
    }
    lineage_trial_release(&row);
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

/* Restores files in place, because the mirror identifies results.tsv by its inode and time. */
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

/* Restores all files, and removes files that did not exist in the undamaged store. */
static void restore(const struct laboratory *lab)
{
    char **names = list_dir(lab->dir, "");
    for (size_t i = 0; names && names[i]; i++)
        if (strcmp(names[i], ".") != 0 && strcmp(names[i], "..") != 0 && !is_kept(lab, names[i])) {
            char *path = join(lab->dir, names[i]);
            unlink(path);
            free(path);
        }
    free_list(names);
    for (int i = 0; i < lab->n_files; i++)
        put_file(lab, &lab->files[i], true);
}

static void ask_sound(const struct laboratory *lab, struct answers *answers)
{
    ask_everything(lab, false, answers);
    for (int i = 0; i < (int)n_questions; i++)
        if (answers->noticed[i]) {
            printf("FAIL %s of a sound store comes with a notice\n", questions[i].name);
            exit(1);
        }
}

static void take_files(struct laboratory *lab)
{
    take_file(lab, "results.tsv", false);
    take_file(lab, "lineage.db", false);
    take_file(lab, "lineage.json", true);
    take_file(lab, "telemetry/001.json", true);
    take_file(lab, "snapshots/003_opt/train.py", true);
    take_file(lab, ".results.tsv.digests", false);
}

/* Collects the right answers, which the undamaged store gives before and after the append. */
static void ask_what_is_right(struct laboratory *lab)
{
    struct lineage_error err;
    restore(lab);
    ask_sound(lab, &lab->sound);
    struct lineage_store *store = open_lab(lab, false, &err);
    lab->sound_row = append_probe(store, &err);
    lineage_store_close(store);
    if (!lab->sound_row)
        abort();
    ask_sound(lab, &lab->sound_then);
    restore(lab);
}

static void prepare(struct laboratory *lab)
{
    lab->dir = make_dir();
    make_asked_store(lab->dir);
    ask_everything(lab, false, &lab->sound);
    forget_answers(&lab->sound);
    take_files(lab);
    ask_what_is_right(lab);
}

static _Noreturn void append_and_die(const struct laboratory *lab)
{
    struct lineage_error err;
    struct lineage_store *store = open_lab(lab, false, &err);
    bool noticed;
    char *row = append_probe(store, &err), *answer = ask_on(store, 0, err, &noticed);
    bool ok = row && answer[0] && !noticed;
    free(answer);
    free(row);
    leave(ok ? 0 : 1); /* exit without closing anything, like a killed writer */
}

/* Prepares the store of a killed writer, whose last commits are only in the write-ahead log. */
static void prepare_killed(struct laboratory *lab)
{
    int state;
    lab->dir = make_dir();
    make_asked_store(lab->dir);
    ask_everything(lab, false, &lab->sound);
    forget_answers(&lab->sound);
    fflush(stdout);
    pid_t child = fork();
    if (child == 0)
        append_and_die(lab);
    if (child < 0 || waitpid(child, &state, 0) != child || state != 0)
        abort();
    take_files(lab);
    lab->first = lab->n_files;
    take_file(lab, "lineage.db-wal", false);
    take_file(lab, "lineage.db-shm", false);
    ask_what_is_right(lab);
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

/*
 * Returns true if reading without the mirror gives the same answer (or a notice). Then the flip was a valid change of
 * a setting or a measurement.
 */
static bool is_what_the_files_say(const struct laboratory *lab, int i, const char *answer)
{
    bool noticed;
    char *fresh = ask_one(lab, i, true, &noticed);
    bool same = noticed || strcmp(fresh, answer) == 0;
    free(fresh);
    return same;
}

static void judge_answer(const struct trial *trial, int i, const char *answer)
{
    const struct laboratory *lab = trial->lab;
    const struct file *file = &lab->files[trial->place->file];
    const char *wanted = (trial->appended ? &lab->sound_then : &lab->sound)->text[i];
    if (strcmp(answer, wanted) != 0 && !(file->written_by_people && is_what_the_files_say(lab, i, answer)))
        fail(lab, trial->place, questions[i].name, answer, wanted);
}

/* Asks all questions. Which question comes first, and so reads the damage, depends on the flipped byte. */
static void judge_answers(struct trial *trial)
{
    bool noticed;
    for (size_t k = 0; k < n_questions; k++) {
        int i = (int)((k + trial->place->byte) % n_questions);
        char *answer = trial->store ? ask_on(trial->store, i, trial->err, &noticed) : ask_one(trial->lab, i, false, &noticed);
        if (!noticed)
            judge_answer(trial, i, answer);
        free(answer);
    }
}

static void ignore_finding(void *context, const struct lineage_finding *finding)
{
    (void)context, (void)finding;
}

static void judge_verify(struct trial *trial)
{
    struct lineage_error err = {0};
    size_t n = 0;
    enum lineage_status status = lineage_verify(trial->store, &n, ignore_finding, NULL, &err);
    if (status != LINEAGE_OK && !err.text[0])
        fail(trial->lab, trial->place, "verify fails without a word", NULL, NULL);
    if (status == LINEAGE_OK && !n && trial->place->file == 0) /* also if a question has already rebuilt the mirror */
        fail(trial->lab, trial->place, "verify does not find it", NULL, NULL);
}

/*
 * After a flip in results.tsv or the settings, the appended row follows their new content. Then only the log's
 * earlier bytes must be unchanged.
 */
static void judge_append(struct trial *trial)
{
    const struct laboratory *lab = trial->lab;
    struct place *place = trial->place;
    struct lineage_error err = {0};
    const struct file *file = &lab->files[place->file];
    size_t length;
    char *row = append_probe(trial->store, &err), *path = join(lab->dir, "results.tsv"), *now = read_file(path, &length);
    const struct file *before = place->file == 0 ? trial->flipped : &lab->files[0];
    trial->appended = row != NULL;
    if (!row && !err.text[0])
        fail(lab, place, "append is refused without a word", NULL, NULL);
    if (!row && strncmp(file->name, "lineage.db", 10) == 0)
        fail(lab, place, "a damaged mirror refuses a row", err.text, lab->sound_row);
    if (row && place->file != 0 && !file->written_by_people && strcmp(row, lab->sound_row) != 0)
        fail(lab, place, "another row was appended", row, lab->sound_row);
    if (length < before->length || memcmp(now, before->bytes, before->length) != 0)
        /* Only results.tsv may lose bytes: a flip in its last line end makes a torn record, which is moved aside. */
        if (place->file != 0)
            fail(lab, place, "earlier bytes changed", NULL, NULL);
    free(row);
    free(path);
    free(now);
}

/*
 * Asks all questions with one handle, as a program does. Which operation comes first, and thus reads the damaged
 * store, depends on the byte. A store that cannot be opened must give a reason.
 */
static void judge_in_turn(struct trial *trial)
{
    static void (*const orders[][3])(struct trial *) = {
        {judge_answers, judge_append, judge_verify},
        {judge_append, judge_verify, judge_answers},
        {judge_verify, judge_append, judge_answers},
    };
    heard = false;
    trial->store = open_lab(trial->lab, false, &trial->err);
    if (!trial->store && !trial->err.text[0])
        fail(trial->lab, trial->place, "open fails without a word", NULL, NULL);
    for (size_t i = 0; trial->store && i < 3; i++)
        orders[trial->place->byte % 3][i](trial);
    lineage_store_close(trial->store);
}

static void flip(const struct laboratory *lab, struct place *place)
{
    const struct file *file = &lab->files[place->file];
    struct file flipped = *file;
    struct trial trial = {.lab = lab, .place = place, .flipped = &flipped};
    flipped.bytes = malloc(file->length);
    if (!flipped.bytes)
        abort();
    memcpy(flipped.bytes, file->bytes, file->length);
    flipped.bytes[place->byte] = (char)(flipped.bytes[place->byte] ^ (1 << place->bit));
    put_file(lab, &flipped, false);
    judge_in_turn(&trial);
    restore(lab);
    if (place->done % 32 == 0) { /* also ask each question with its own handle, as a command does */
        trial = (struct trial){.lab = lab, .place = place, .flipped = &flipped};
        put_file(lab, &flipped, false);
        judge_answers(&trial);
        restore(lab);
    }
    free(flipped.bytes);
}

/* ---- pages --------------------------------------------------------------------------------------------------------- */

static void write_byte(int fd, char byte, size_t at)
{
    if (pwrite(fd, &byte, 1, (off_t)at) != 1)
        abort();
}

/* The page size is at byte 16 of the first page. */
static size_t page_size(const struct file *db)
{
    return (size_t)(unsigned char)db->bytes[16] << 8 | (unsigned char)db->bytes[17];
}

/* The n-th bit that is flipped: of each byte all, or one that differs from the next byte's and from that of eight bytes before. */
static size_t nth_bit(size_t n, bool all)
{
    return all ? n : 8 * n + (n + n / 8) % 8;
}

/* Counts the bits of lineage.db whose flip the page digests do not detect, so SQLite would read the page. */
static size_t count_blind_bits(const struct laboratory *lab, const struct file *db, bool all)
{
    char *path = join(lab->dir, db->name), *page = malloc(page_size(db));
    size_t n = page_size(db), blind = 0, k = 0;
    sqlite3 *connection;
    sqlite3_file *file = NULL;
    int fd = open(path, O_RDWR | O_CLOEXEC);
    if (fd < 0 || !page || sqlite3_open_v2(path, &connection, SQLITE_OPEN_READONLY, checked_pages_vfs()) != SQLITE_OK ||
        sqlite3_exec(connection, "SELECT * FROM sqlite_schema", NULL, NULL, NULL) != SQLITE_OK ||
        sqlite3_file_control(connection, NULL, SQLITE_FCNTL_FILE_POINTER, &file) != SQLITE_OK)
        abort();
    for (size_t at = 0; at < db->length; at += n) /* pages without a flip must be accepted */
        blind += file->pMethods->xRead(file, page, (int)n, (sqlite3_int64)at) != SQLITE_OK;
    for (size_t i; (i = nth_bit(k, all)) < 8 * db->length; k++) {
        write_byte(fd, (char)(db->bytes[i / 8] ^ (1 << i % 8)), i / 8);
        blind += file->pMethods->xRead(file, page, (int)n, (sqlite3_int64)(i / 8 / n * n)) == SQLITE_OK;
        write_byte(fd, db->bytes[i / 8], i / 8);
    }
    sqlite3_close(connection);
    close(fd);
    free(page);
    free(path);
    return blind;
}

static bool judge_pages(const struct laboratory *lab, bool all)
{
    const struct file *db = &lab->files[1];
    size_t blind = count_blind_bits(lab, db, all);
    restore(lab);
    printf("%zu flipped bits of %s, %zu unseen by the digests of its pages\n", (all ? 8 : 1) * db->length, db->name, blind);
    return blind == 0;
}

enum { FREE_RUN = 32 };

/* Returns true if a byte is in a long run of zeros. */
static bool is_free(const struct file *file, size_t byte)
{
    size_t from = byte, to = byte;
    while (from && byte - from < FREE_RUN && !file->bytes[from - 1])
        from--;
    while (to < file->length && to - byte < FREE_RUN && !file->bytes[to])
        to++;
    return to - from >= FREE_RUN;
}

/*
 * ---- all flips
 * ---------------------------------------------------------------------------------------------------
 */

static size_t all_bytes(const struct laboratory *lab)
{
    size_t n = 0;
    for (int i = lab->first; i < lab->n_files; i++)
        n += lab->files[i].length;
    return n;
}

/*
 * Chooses the n-th flip. With `all` it is in the n-th byte. In a sample, half of the flips are in the first file and
 * the others in any file.
 */
static void aim(const struct laboratory *lab, const struct plan *plan, size_t n, struct place *place)
{
    uint64_t at = plan->seed + n * 0x2545f4914f6cdd1du;
    size_t byte =
        plan->all ? plan->first + n * plan->step : draw(&at) % (draw(&at) % 2 ? lab->files[lab->first].length : all_bytes(lab));
    place->bit = (unsigned)(draw(&at) % 8);
    for (place->file = lab->first; byte >= lab->files[place->file].length; place->file++)
        byte -= lab->files[place->file].length;
    place->byte = byte;
}

static void work(const struct laboratory *lab, const struct plan *plan, struct place *place)
{
    const time_t until = time(NULL) + plan->seconds;
    restore(lab);
    while (place->done < plan->flips && place->failures < 50 && (!plan->seconds || time(NULL) < until)) {
        aim(lab, plan, place->done++, place);
        if (plan->all && is_free(&lab->files[place->file], place->byte))
            place->passed_over++;
        else
            flip(lab, place);
    }
    place->over = true;
    leave(0);
}

/*
 * Reads the arguments. A requested number of flips or seconds is multiplied by share / 4, but `all` and `killed` are
 * not reduced.
 */
static bool read_plan(struct plan *plan, int argc, char **argv, size_t bytes, unsigned share)
{
    char *end = "";
    *plan = (struct plan){.step = 1, .seed = argc > 2 ? strtoull(argv[2], NULL, 10) : 1};
    plan->all = argc > 1 && (strcmp(argv[1], "all") == 0 || strcmp(argv[1], "killed") == 0);
    plan->flips = plan->all ? bytes : (argc > 1 ? strtoull(argv[1], &end, 10) : 200) * share / 4;
    if (strcmp(end, "s") == 0)
        plan->seconds = (time_t)plan->flips, plan->flips = SIZE_MAX, end = "";
    if (plan->all && argc > 3) {
        if (sscanf(argv[3], "%zu/%zu", &plan->first, &plan->step) != 2 || plan->first >= plan->step)
            return false;
        plan->flips = (bytes - plan->first + plan->step - 1) / plan->step;
    }
    return !*end;
}

/*
 * Returns the number of failures. The flips run in a child; if it crashes, the next child continues after the flip
 * that crashed it.
 */
static size_t flip_all(const struct laboratory *lab, const struct plan *plan)
{
    size_t crashes = 0;
    struct place *place = mmap(NULL, sizeof *place, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    int state;
    if (place == MAP_FAILED)
        abort();
    while (!place->over && place->failures + crashes < 50) {
        fflush(stdout);
        pid_t child = fork();
        if (child == 0)
            work(lab, plan, place);
        if (child < 0 || waitpid(child, &state, 0) != child)
            abort();
        if (state != 0) {
            printf("FAIL %s, byte %zu, bit %u: crash, state %x\n", lab->files[place->file].name, place->byte, place->bit,
                   (unsigned)state);
            crashes++;
        }
    }
    printf("%zu flips asked everything, %zu more in free space; %zu bytes in %d files; %zu crashes, %zu failures\n",
           place->done - place->passed_over, place->passed_over, all_bytes(lab), lab->n_files - lab->first, crashes,
           place->failures);
    size_t failures = crashes + place->failures;
    munmap(place, sizeof *place);
    return failures;
}

static void close_lab(struct laboratory *lab)
{
    forget_answers(&lab->sound);
    forget_answers(&lab->sound_then);
    free(lab->sound_row);
    for (int i = 0; i < lab->n_files; i++)
        free(lab->files[i].bytes);
    remove_dir(lab->dir);
}

int main(int argc, char **argv)
{
    struct laboratory lab = {0}, killed = {0};
    struct plan plan;
    /* Files are put back after each flip, without the copy of acknowledged rows, in whose place is a file. */
    char *state = join(getenv("XDG_STATE_HOME"), "lineage"), *no_copies = join(state, "acknowledged");
    mkdir(state, 0755);
    write_file(no_copies, "", 0);
    free(no_copies);
    free(state);
    prepare(&lab);
    if (!read_plan(&plan, argc, argv, all_bytes(&lab), 3))
        return 2;
    size_t failures = 0;
    if (argc < 2 || strcmp(argv[1], "killed") != 0)
        failures = !judge_pages(&lab, plan.all || plan.seconds) + flip_all(&lab, &plan);
    prepare_killed(&killed);
    read_plan(&plan, argc, argv, all_bytes(&killed), 1);
    failures += flip_all(&killed, &plan);
    close_lab(&lab);
    close_lab(&killed);
    return failures != 0;
}
