/*
 * scan_shell.c: assignments, defaults and options in a shell script, and the words of one command.
 *
 * A script is split into words and simple commands. Of a command, the assignments in front, the options (--lr 3e-4,
 * --lr=3e-4) and the overrides (optimizer.lr=3e-4) are settings. Anything with an expansion in it is not a literal,
 * except ${LR:-3e-4}, which is a default.
 */
#include "literals.h"

enum { DELIMITER_MAX = 64, DEFAULT_MAX = 200, NESTED_MAX = 2, CONTEXT_VARIABLE = 17, CONTEXT_OPTION = 19 };

#define DIGITS "0123456789"
#define NAME_BYTES "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_" DIGITS

/* A word without its quotes. */
struct word {
    const char *text;
    size_t offset; /* in the unquoted text, of which the address changes until the command ends */
    uint32_t line;
    bool literal; /* nothing in it is expanded */
};

static void add(struct literal_set *set, uint64_t context, const char *name, size_t name_length, const char *value, uint32_t line)
{
    struct constant constant;
    const struct literal_place place = {
        .context = context, .scope = "", .name = name, .name_length = name_length, .line = line, .setting = true};
    if (!strchr(value, LITERALS_FILLED_IN) && constant_of_word(&constant, value, strlen(value)))
        literals_add(set, &place, &constant);
}

static bool is_number(const char *word)
{
    struct constant value;
    return constant_of_word(&value, word, strlen(word)) && value.number.present;
}

static bool ends_with(const char *word, const char *end)
{
    const size_t length = strlen(word);
    return length > strlen(end) && strcmp(word + length - strlen(end), end) == 0;
}

/* Whether a word is the value of the option in front of it, and not the next option (-0.5 is a number), a script, or another setting
 * (optimizer.lr=0.1). */
static bool is_value(const char *word)
{
    static const char *const scripts[] = {".py", ".sh", ".pl", ".jl", ".lua"};
    const size_t name = strspn(word, NAME_BYTES "+.-/@:");
    for (size_t i = 0; i < sizeof scripts / sizeof *scripts; i++)
        if (ends_with(word, scripts[i]))
            return false;
    return *word && !(name && word[name] == '=') && (*word != '-' || (word[1] && is_number(word)));
}

/* --lr=VALUE, --lr VALUE, --fast. Returns the number of words. */
static size_t read_option(struct literal_set *set, const struct word *words, size_t n)
{
    const char *name = words[0].text + 2;
    const size_t length = strcspn(name, "=");
    const bool equals = name[length] == '=', next = !equals && n > 1 && is_value(words[1].text);
    const char *value = equals ? name + length + 1 : next ? words[1].text : "true";
    if (words[next].literal || (!equals && !next))
        add(set, CONTEXT_OPTION, name, length, value, words[next].line);
    return next ? 2 : 1;
}

/* LR=3e-4 and, behind the command, optimizer.lr=3e-4 or +optimizer.lr=3e-4. */
static bool read_assignment(struct literal_set *set, const struct word *word, bool variable)
{
    const char *text = word->text + (variable ? 0 : strspn(word->text, "+"));
    const size_t length = strspn(text, variable ? NAME_BYTES : NAME_BYTES ".-/@:");
    if (!length || text[length] != '=' || strchr(DIGITS, *text))
        return false;
    if (word->literal)
        add(set, variable ? CONTEXT_VARIABLE : CONTEXT_OPTION, text, length, text + length + 1, word->line);
    return true;
}

static void read_script(struct literal_set *set, const char *text, size_t length, uint32_t line, unsigned nested);

static void read_simple_command(struct literal_set *set, const struct word *words, size_t n, unsigned nested)
{
    static const char *const before[] = {"export",  "local", "readonly", "declare", "typeset", "env",   "exec", "time", "nohup",
                                         "command", "then",  "do",       "else",    "if",      "while", "!",    "{"};
    size_t at = 0;
    for (bool more = true; more && at < n;) {
        more = read_assignment(set, &words[at], true);
        for (size_t i = 0; !more && i < sizeof before / sizeof *before; i++)
            more = strcmp(words[at].text, before[i]) == 0;
        at += more;
    }
    for (at++; at < n; at++) {
        const char *word = words[at].text;
        const struct word *next = at + 1 < n ? &words[at + 1] : NULL;
        const bool dash = word[0] == '-' && word[1] && strchr(NAME_BYTES, word[1]) && !word[2];
        if (word[0] == '-' && word[1] == '-' && word[2] && strchr(NAME_BYTES, word[2]))
            at += read_option(set, &words[at], n - at) - 1;
        else if (dash && word[1] == 'c' && next && nested < NESTED_MAX) {
            read_script(set, next->text, strlen(next->text), next->line, nested + 1);
            at++;
        } else if (dash) {
            if (next && next->literal && is_number(next->text)) { /* -n 5: only a number is certain to belong to the option */
                add(set, CONTEXT_OPTION, word, 2, next->text, next->line);
                at++;
            }
        } else
            read_assignment(set, &words[at], false);
    }
}

void literals_read_command(struct literal_set *set, const char *const *argv, size_t n)
{
    struct word *words = calloc(n + 1, sizeof *words);
    for (size_t i = 0; words && i < n; i++)
        words[i] = (struct word){.text = argv[i], .line = 1, .literal = true};
    if (words)
        read_simple_command(set, words, n, 0);
    set->failed = set->failed || !words;
    free(words);
}

/* ---- scripts ---- */

struct script {
    struct literal_set *set;
    const char *text;
    size_t at, length;
    uint32_t line;
    unsigned nested;
    struct word *words;
    size_t n, capacity;
    struct buf unquoted; /* the text of the words of this command */
    char delimiter[DELIMITER_MAX]; /* of a here-document that begins after this line; "" for none */
};

static bool begins(const struct script *s, const char *text)
{
    return s->length - s->at >= strlen(text) && memcmp(s->text + s->at, text, strlen(text)) == 0;
}

/* ${LR:-3e-4} or ${LR:=3e-4} at the `$`. */
static void read_default(struct script *s)
{
    char text[DEFAULT_MAX];
    const size_t left = s->length - s->at < sizeof text - 1 ? s->length - s->at : sizeof text - 1;
    memcpy(text, s->text + s->at, left);
    text[left] = '\0';
    const size_t name = strncmp(text, "${", 2) == 0 && !strchr(DIGITS, text[2]) ? strspn(text + 2, NAME_BYTES) : 0;
    char *value = text + 2 + name;
    if (!name)
        return;
    value += *value == ':';
    const size_t length = strcspn(value, "}\n$");
    if ((*value != '-' && *value != '=') || value[length] != '}')
        return;
    value[length] = '\0';
    value++;
    if (length > 2 && strchr("\"'", *value) && value[length - 2] == *value) {
        value[length - 2] = '\0';
        value++;
    }
    add(s->set, CONTEXT_VARIABLE, text + 2, name, value, s->line);
}

static void end_command(struct script *s)
{
    for (size_t i = 0; i < s->n; i++)
        s->words[i].text = s->unquoted.data + s->words[i].offset;
    if (s->n && !s->unquoted.failed)
        read_simple_command(s->set, s->words, s->n, s->nested);
    s->set->failed = s->set->failed || s->unquoted.failed;
    s->n = 0;
    buf_reset(&s->unquoted);
}

/* Reads the text behind << as the delimiter of a document. */
static void read_here(struct script *s)
{
    size_t n = 0;
    char quote = '\0';
    for (s->at += begins(s, "<<-") ? 3 : 2; s->at < s->length && s->text[s->at] == ' '; s->at++)
        ;
    for (; s->at < s->length && (quote ? s->text[s->at] != '\n' : !strchr(" \t\n;|&<>()", s->text[s->at])); s->at++) {
        const char c = s->text[s->at];
        if (quote ? c == quote : c == '"' || c == '\'')
            quote = quote ? '\0' : c;
        else if (n + 1 < sizeof s->delimiter && c != '\\')
            s->delimiter[n++] = c;
    }
    s->delimiter[n] = '\0';
}

/* Skips the here-document after the line. */
static void skip_document(struct script *s)
{
    const size_t length = strlen(s->delimiter);
    for (bool end = !length; s->at < s->length && !end; s->line++) {
        while (s->at < s->length && s->text[s->at] == '\t')
            s->at++;
        const char *line = s->text + s->at, *next = memchr(line, '\n', s->length - s->at);
        const size_t n = next ? (size_t)(next - line) : s->length - s->at;
        end = n == length && memcmp(line, s->delimiter, length) == 0;
        s->at += n + (next != NULL);
    }
    s->delimiter[0] = '\0';
}

/* Reads one word into s->unquoted. */
static void read_word(struct script *s)
{
    if (!LIST_ROOM(s->words, s->n, s->capacity)) {
        s->set->failed = true;
        return;
    }
    struct word *word = &s->words[s->n++];
    *word = (struct word){.offset = s->unquoted.length, .line = s->line, .literal = true};
    char quote = '\0';
    for (; s->at < s->length; s->at++) {
        const char c = s->text[s->at];
        if (!quote && c && strchr(" \t\r\n;|&()<>", c))
            break;
        s->line += c == '\n';
        if (quote ? c == quote : c == '"' || c == '\'') {
            quote = quote ? '\0' : c;
        } else if (c == '\\' && quote != '\'' && s->at + 1 < s->length) {
            s->at++;
            s->line += s->text[s->at] == '\n';
            if (s->text[s->at] != '\n')
                buf_put(&s->unquoted, s->text[s->at]);
        } else {
            if (quote != '\'' && (c == '$' || c == '`')) {
                word->literal = false;
                read_default(s);
            }
            buf_put(&s->unquoted, c);
        }
    }
    buf_put(&s->unquoted, '\0');
}

/* Skips the arithmetic of ((1 << n)) on this line, which has no here-documents. */
static void skip_arithmetic(struct script *s)
{
    size_t depth = 0;
    do {
        const char c = s->text[s->at++];
        depth += c == '(';
        depth -= c == ')';
    } while (depth && s->at < s->length && s->text[s->at] != '\n');
}

static void read_script(struct literal_set *set, const char *text, size_t length, uint32_t line, unsigned nested)
{
    struct script s = {.set = set, .text = text, .length = length, .line = line, .nested = nested};
    while (s.at < length && !set->failed) {
        const char c = text[s.at];
        if (c == '#') {
            while (s.at < length && text[s.at] != '\n')
                s.at++;
        } else if (begins(&s, "\\\n")) {
            s.at += 2;
            s.line++;
        } else if (begins(&s, "((")) {
            end_command(&s);
            skip_arithmetic(&s);
        } else if (c && strchr("\n;|&()", c)) {
            end_command(&s);
            s.at++;
            s.line += c == '\n';
            if (c == '\n')
                skip_document(&s);
        } else if (begins(&s, "<<<")) {
            for (s.at += 3; s.at < length && (text[s.at] == ' ' || text[s.at] == '\t');)
                s.at++;
            read_word(&s); /* an input is not a word of the command */
            s.n -= s.n > 0;
        } else if (begins(&s, "<<"))
            read_here(&s);
        else if (!c || strchr(" \t\r<>", c))
            s.at++;
        else
            read_word(&s);
    }
    end_command(&s);
    free(s.words);
    buf_release(&s.unquoted);
}

void scan_shell(struct literal_set *set, const char *text, size_t length)
{
    read_script(set, text, length, 1, 0);
}
