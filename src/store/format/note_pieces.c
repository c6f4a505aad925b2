/*
 * note_pieces.c: the pieces of notes that say which trial of a night a row records, which trial it runs again (grammar in
 * lineage/notes.h), and what code it ran (lineage/code.h).
 */
#include <lineage/code.h>
#include <lineage/notes.h>
#include <lineage/text.h>
#include <lineage/voids.h>

#include <inttypes.h>
#include <math.h>

#include "number.h"

/* The label is checked too, so that a row which another tool gave this job_name still counts as a trial. */
bool lineage_is_void_row(const struct lineage_trial *trial, bool *back)
{
    const char *job = trial->job_name;
    if (trial->status != LINEAGE_HARNESS_ABORT || !job || !trial->parent_exp || !*trial->parent_exp)
        return false;
    bool takes_back = strcmp(job, LINEAGE_UNVOID_JOB) == 0;
    if (back)
        *back = takes_back;
    return takes_back || strcmp(job, LINEAGE_VOID_JOB) == 0;
}

const char *lineage_trial_status(char out[LINEAGE_STATUS_MAX], const struct lineage_trial *trial)
{
    bool back = false, row = lineage_is_void_row(trial, &back);
    snprintf(out, LINEAGE_STATUS_MAX, "%s%s", trial->void_label ? "void, was " : "",
             trial->void_label ? trial->void_label
             : !row            ? lineage_label_name(trial->status)
             : back            ? "counts its parent again"
                               : "voids its parent");
    return out;
}

/* ---- the pieces of notes that say why a trial failed, or was ended early ---- */

/* The beginnings of the reasons that cli/trial/trial_label.c writes. */
static const char *const beginnings[] = {"failed: ",
                                         "failed after step ",
                                         "killed by signal ",
                                         "training took more than ",
                                         "training was ended by ",
                                         "the final evaluation took ",
                                         "the final evaluation was ",
                                         "it held ",
                                         "out of memory",
                                         "it said nothing for ",
                                         "exit 0 without a score",
                                         "the preflight ",
                                         "the evaluation ",
                                         "the protected file ",
                                         "its score is not a finite ",
                                         "the process that watched it ",
                                         "interrupted by the user",
                                         "requires ",
                                         "pruned at step ",
                                         NULL};

/* Pieces such as "f has 2 bytes, 1 are allowed" and "loss is not a finite number, stopped" begin with a name. */
static const char *const parts[] = {" are allowed", " is not a finite number", NULL};

const char *lineage_notes_reason(const char *notes)
{
    for (const char *at = notes ? notes : ""; at; at = (at = strchr(at, ';')) ? at + 1 : NULL) {
        at += strspn(at, " ");
        size_t n = strcspn(at, ";");
        for (const char *const *begin = beginnings; *begin; begin++)
            if (strncmp(at, *begin, strlen(*begin)) == 0)
                return at;
        for (const char *const *part = parts; *part; part++) {
            const char *found = strstr(at, *part);
            if (found && found < at + n)
                return at;
        }
    }
    return "";
}

static const char *const causes[LINEAGE_N_CAUSES] = {"",          "memory",         "time",      "disk", "divergence",
                                                     "interrupt", "missing module", "arguments", "code"};

const char *lineage_cause_name(enum lineage_cause cause)
{
    return (unsigned)cause < LINEAGE_N_CAUSES ? causes[cause] : NULL;
}

enum lineage_cause lineage_notes_cause(const char *notes)
{
    static const char word[] = "cause ";
    const size_t n = sizeof word - 1;
    enum lineage_cause cause = LINEAGE_CAUSE_UNKNOWN;
    for (const char *at = notes ? notes : ""; at; at = (at = strchr(at, ';')) ? at + 1 : NULL) {
        at += strspn(at, " ");
        for (int i = 1; i < LINEAGE_N_CAUSES && strncmp(at, word, n) == 0; i++) {
            size_t length = strlen(causes[i]);
            bool same = strncmp(at + n, causes[i], length) == 0;
            const char *end = same ? at + n + length + strspn(at + n + length, " ") : "?";
            cause = !*end || *end == ';' ? (enum lineage_cause)i : cause;
        }
    }
    return cause;
}

/* Begin with {.rest = notes}; notes may be NULL. [text, end) points into the notes. */
struct piece {
    const char *text, *end;
    const char *rest; /* behind the piece and its semicolon */
};

static const char blanks[] = " \t\r\n\v\f";

/* Steps to the next piece that has more than blanks; blanks around it are left out. Returns false after the last. */
static bool piece_next(struct piece *piece)
{
    for (const char *at = piece->rest ? piece->rest : ""; *at; at = piece->rest) {
        const char *stop = at + strcspn(at, ";");
        piece->rest = stop + (*stop == ';');
        piece->text = at + strspn(at, blanks);
        piece->end = stop;
        while (piece->end > piece->text && strchr(blanks, piece->end[-1]))
            piece->end--;
        if (piece->end > piece->text)
            return true;
    }
    return false;
}

/*
 * ---- the trial of a night ----
 *
 * A night finds out from the rows alone which trials were run. If a row is misread here, its trial is run again, or
 * never. So the piece must match completely, and every link that is written can be parsed again.
 */

static const char night_begin[] = "night ", between[] = ", trial ", before_key[] = ", key ";

enum { KEY_DIGITS = 16 };

static bool is_blank(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

static bool is_continuation(char c)
{
    return ((unsigned char)c & 0xc0) == 0x80;
}

/* Copies a name; a name that is too long is cut between code points. A semicolon would end the piece, and `, trial `
 * inside the sweep's name would end that name too early. */
static void clean_name(char *out, size_t size, const char *name)
{
    while (is_blank(*name))
        name++;
    size_t n = strlen(name);
    if (n >= size)
        for (n = size - 1; n && is_continuation(name[n]);)
            n--;
    for (size_t i = 0; i < n; i++)
        out[i] = name[i] == ';' ? ',' : (unsigned char)name[i] < 0x20 || name[i] == 0x7f ? ' ' : name[i];
    while (n && is_blank(out[n - 1]))
        n--;
    out[n] = '\0';
    for (char *at = out; (at = strstr(at, between));)
        *at = '.';
}

/* Names are cut to the length that the parser accepts, because a trial whose link cannot be parsed would run again each
 * night. */
const char *lineage_night_link_format(char out[LINEAGE_NIGHT_LINK_MAX], const char *sweep, const char *trial, uint64_t key)
{
    char sweep_name[LINEAGE_NIGHT_SWEEP_MAX], trial_name[LINEAGE_NIGHT_TRIAL_MAX];
    clean_name(sweep_name, sizeof sweep_name, sweep);
    clean_name(trial_name, sizeof trial_name, trial);
    snprintf(out, LINEAGE_NIGHT_LINK_MAX, "%s%s%s%s%s%0*" PRIx64, night_begin, sweep_name, between, trial_name, before_key,
             (int)KEY_DIGITS, key);
    return out;
}

/* A name that is too long is refused, because a cut name could be the name of another night. */
static bool take_name(char *out, size_t size, const char *from, const char *until)
{
    size_t n = (size_t)(until - from);
    if (n >= size)
        return false;
    memcpy(out, from, n);
    out[n] = '\0';
    return true;
}

/* Parses the piece [piece, end), without blanks around it. A trial's name may contain anything, so the key is taken
 * from the end, where it has a fixed length, and the sweep's name ends at the first separator. */
static bool parse_night(struct lineage_night_link *link, const char *piece, const char *end)
{
    const size_t tail = strlen(before_key) + KEY_DIGITS;
    if ((size_t)(end - piece) < strlen(night_begin) + strlen(between) + tail ||
        strncmp(piece, night_begin, strlen(night_begin)) != 0)
        return false;
    const char *sweep = piece + strlen(night_begin), *key = end - KEY_DIGITS, *middle = strstr(sweep, between);
    if (strspn(key, "0123456789abcdef") < KEY_DIGITS || strncmp(end - tail, before_key, strlen(before_key)) != 0 || !middle ||
        middle + strlen(between) > end - tail)
        return false;
    link->key = strtoull(key, NULL, 16);
    return take_name(link->sweep, sizeof link->sweep, sweep, middle) &&
           take_name(link->trial, sizeof link->trial, middle + strlen(between), end - tail);
}

bool lineage_night_link_parse(struct lineage_night_link *link, const char *notes)
{
    struct lineage_night_link found;
    bool any = false;
    for (struct piece piece = {.rest = notes}; piece_next(&piece);)
        if (parse_night(&found, piece.text, piece.end)) {
            *link = found;
            any = true;
        }
    return any;
}

static const char replicate_begin[] = "replicates ", before_score[] = ", score ";

/* Parses the piece [piece, end). An id has no blanks, so that prose which begins with the word is not a piece. */
static bool parse_replicate(struct lineage_replicate *replicate, const char *piece, const char *end)
{
    const size_t head = strlen(replicate_begin), middle = strlen(before_score);
    if ((size_t)(end - piece) <= head || strncmp(piece, replicate_begin, head) != 0)
        return false;
    const char *id = piece + head, *stop = id;
    while (stop < end && *stop != ',' && !is_blank(*stop))
        stop++;
    size_t n = (size_t)(stop - id);
    struct lineage_replicate found = {.score = {.present = stop < end}};
    if (!n || n >= sizeof found.exp_id)
        return false;
    memcpy(found.exp_id, id, n);
    if (stop < end) {
        bool good = (size_t)(end - stop) > middle && strncmp(stop, before_score, middle) == 0 &&
                    lineage_number_parse(&found.score.value, stop + middle, (size_t)(end - stop) - middle);
        if (!good || !isfinite(found.score.value))
            return false;
    }
    *replicate = found;
    return true;
}

bool lineage_replicate_parse(struct lineage_replicate *replicate, const char *notes)
{
    bool any = false;
    for (struct piece piece = {.rest = notes}; piece_next(&piece);)
        any = parse_replicate(replicate, piece.text, piece.end) || any;
    return any;
}

const char *lineage_replicate_format(char out[LINEAGE_REPLICATE_MAX], const struct lineage_replicate *replicate)
{
    char number[LINEAGE_NUMBER_MAX];
    snprintf(out, LINEAGE_REPLICATE_MAX, "%s%s%s%s", replicate_begin, replicate->exp_id,
             replicate->score.present ? before_score : "",
             replicate->score.present ? lineage_number_format(number, replicate->score.value) : "");
    return out;
}

enum { DIGITS = LINEAGE_CODE_DIGEST_MAX - 1, COMMIT_DIGITS = LINEAGE_COMMIT_MAX - 1 };

/* A word, a blank, hexadecimal digits, and perhaps a comma and what was changed. */
struct form {
    const char *begin;
    size_t digits;
};
static const struct form code = {"code ", DIGITS}, commit = {"commit ", COMMIT_DIGITS};

const char *lineage_code_note_format(char out[LINEAGE_CODE_NOTE_MAX], const struct lineage_code_note *note)
{
    snprintf(out, LINEAGE_CODE_NOTE_MAX, "%s%.32s%s%s", code.begin, note->digest, note->change[0] ? ", " : "", note->change);
    return out;
}

const char *lineage_commit_note_format(char out[LINEAGE_CODE_NOTE_MAX], const struct lineage_commit_note *note)
{
    snprintf(out, LINEAGE_CODE_NOTE_MAX, "%s%.12s%s%s", commit.begin, note->commit, note->change[0] ? ", " : "", note->change);
    return out;
}

/* Parses the piece [piece, end), without blanks around it. Prose may begin with the word, so the digits must be complete. */
static bool parse_code(char *digits, char change[LINEAGE_DIFFSTAT_MAX], const struct form *form, const char *piece,
                       const char *end)
{
    const size_t begin = strlen(form->begin), head = begin + form->digits;
    size_t length = (size_t)(end - piece);
    if (length < head || memcmp(piece, form->begin, begin) != 0 || strspn(piece + begin, "0123456789abcdef") != form->digits)
        return false;
    if (length > head && (length < head + 3 || memcmp(piece + head, ", ", 2) != 0))
        return false;
    size_t changed = length > head ? length - head - 2 : 0;
    if (changed >= LINEAGE_DIFFSTAT_MAX)
        return false;
    memcpy(digits, piece + begin, form->digits);
    digits[form->digits] = '\0';
    memcpy(change, end - changed, changed);
    change[changed] = '\0';
    return true;
}

/* The first piece counts: what a program printed is quoted behind it. */
static bool find_code(char *digits, char change[LINEAGE_DIFFSTAT_MAX], const struct form *form, const char *notes)
{
    for (struct piece piece = {.rest = notes}; piece_next(&piece);)
        if (parse_code(digits, change, form, piece.text, piece.end))
            return true;
    return false;
}

bool lineage_code_note_parse(struct lineage_code_note *note, const char *notes)
{
    return find_code(note->digest, note->change, &code, notes);
}

bool lineage_commit_note_parse(struct lineage_commit_note *note, const char *notes)
{
    return find_code(note->commit, note->change, &commit, notes);
}
