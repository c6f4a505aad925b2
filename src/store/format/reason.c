/* reason.c: the pieces of notes that say why a trial failed, or was ended early. */
#include <lineage/notes.h>

#include <string.h>

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
