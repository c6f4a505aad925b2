/*
 * items.c: finds the literals of an expression.
 *
 * An expression is a tree of items: the arguments of a call, the elements of a list, the entries of a dictionary. An item that is one
 * constant is recorded under its own name; of any other item, each literal that no inner bracket has is identified by the call or
 * entry that it belongs to and by the tokens beside it. So `0.5 * x` and `0.3 * x` differ in one setting, and an edit in another
 * argument or term does not matter.
 */
#include "literals.h"

enum { DEPTH_MAX = 100 };

enum level_kind {
    LEVEL_WHOLE, /* the expression itself */
    LEVEL_CALL,
    LEVEL_PARAMETERS,
    LEVEL_GROUP, /* ( ) and [ ] around values */
    LEVEL_BRACES
};

/* The items between two brackets. */
struct level {
    enum level_kind kind;
    uint64_t context;             /* hash of where it is */
    unsigned depth;
    bool setting;                 /* the expression is assigned where a new value is a new setting */
    char path[LITERAL_NAME_MAX];  /* in front of the names of its items: "AdamW." in a call, "optimizer." in a dictionary */
    char label[LITERAL_NAME_MAX]; /* the name of literals that have no own name; "" for the nearest name, first to their left */
};

/* Copies a name; "" if it is too long. */
static void set_name(char name[LITERAL_NAME_MAX], const char *path, const char *text, size_t length, const char *end)
{
    *name = '\0';
    if (strlen(path) + length + strlen(end) >= LITERAL_NAME_MAX)
        return;
    char *at = stpcpy(name, path);
    memcpy(at, text, length);
    strcpy(at + length, end);
}

static bool is_keyword(const struct code_tokens *t, size_t at)
{
    return code_among(
        t, at, " and or not in is if else elif for while return yield lambda await assert raise print sizeof switch case ");
}

static bool is_literal(const struct code_tokens *t, size_t at)
{
    const enum token_kind kind = t->items[at].kind;
    return kind == CODE_NUMBER || kind == CODE_STRING || (kind == CODE_NAME && code_among(t, at, " True False true false "));
}

/* Hashes the n tokens from `at` on that are in [from, to), whatever the literals among them are. */
static uint64_t hash_tokens(uint64_t hash, const struct code_tokens *t, size_t at, size_t n, size_t from, size_t to)
{
    for (size_t i = at; i < at + n; i++)
        if (i >= from && i < to && !is_literal(t, i))
            hash = literal_hash(hash, code_text(t, i), t->items[i].length);
        else
            hash = literal_mix(hash, i >= from && i < to);
    return hash;
}

/* The end of the item that begins at `from`: a comma or semicolon outside of brackets. */
static size_t end_of_item(const struct code_tokens *t, size_t from, size_t to)
{
    size_t i = from;
    for (char c; i < to && (c = code_op(t, i)) != ',' && c != ';'; i++)
        if (is_opening(c) && (i = code_close(t, i, to)) == to)
            break;
    return i;
}

/* ---- recording ---- */

/* `named`: the item has its own name. */
static void record(struct reading *r, const struct level *level, bool named, const char *name, size_t token,
                   const struct constant *value, uint64_t context, bool setting)
{
    const bool inside = level->kind == LEVEL_CALL || level->kind == LEVEL_BRACES;
    const struct literal_place place = {.context = context,
                                        .within = named && inside ? level->context : 0,
                                        .scope = r->scope,
                                        .name = name,
                                        .name_length = strlen(name),
                                        .line = r->tokens.items[token].line,
                                        .setting = setting};
    literals_add(r->set, &place, value);
}

/* Whether an unnamed constant is worth recording: a number or a truth value. Other texts are messages and paths. */
static bool is_amount(const struct code_tokens *t, size_t from, const struct constant *value)
{
    return value->number.present || (t->items[from].kind == CODE_NAME && value->length);
}

/*
 * Records the default of an option of a command line or of a variable that the arguments of the call name:
 * add_argument("--lr", default=0.1), os.environ.get("LR", 0.1). It has no scope: an option is the same option wherever the
 * program reads it. Returns false for another call.
 */
static bool read_default(struct reading *r, size_t callee, size_t from, size_t to)
{
    const struct code_tokens *t = &r->tokens;
    struct constant preset, given;
    size_t option = 0, value = 0, length = 0;
    const bool is_option = code_among(t, callee,
                                      " add_argument add_option add_flag option Option DEFINE_float DEFINE_integer DEFINE_string "
                                      "DEFINE_bool DEFINE_boolean DEFINE_enum ");
    const bool is_variable = code_among(t, callee, " getenv setdefault environ ") ||
                             (code_is(t, callee, "get") && callee >= 2 && code_among(t, callee - 2, " environ env "));
    if (!is_option && !is_variable && !code_among(t, callee, " get pop "))
        return false;
    for (size_t at = from, end, position = 0; at < to; at = end + 1, position++) {
        end = end_of_item(t, at, to);
        const bool named = end > at + 2 && t->items[at].kind == CODE_NAME && code_op(t, at + 1) == '=';
        const size_t start = at + (named ? 2 : 0);
        const bool string = end == start + 1 && t->items[start].kind == CODE_STRING;
        const char *text = string ? code_string(t, start, &length) : "";
        const bool dash = string && length > 1 && text[0] == '-';
        if (!named && dash) {
            option = !option || (length > 2 && text[1] == '-') ? start : option;
        } else if (!named && position == 0) {
            option = string && length ? start : 0;
        } else if (named ? code_is(t, at, "default") : position == 1 && option) {
            value = constant_read(&given, t, start, end) ? start : value;
            preset = value == start ? given : preset;
        } else if (named && code_is(t, at, "action") && string && length > 6 && memcmp(text, "store_", 6) == 0 && !value) {
            const bool sets = text[6] == 't';
            value = constant_of_word(&preset, sets ? "false" : "true", sets ? 5 : 4) ? start : 0;
        }
    }
    if (!option || !value)
        return false;
    const char *name = code_string(t, option, &length);
    for (; length && *name == '-'; length--)
        name++;
    const struct literal_place place = {.context = is_option ? 11 : 13,
                                        .scope = r->scope,
                                        .name = name,
                                        .name_length = length,
                                        .line = t->items[value].line,
                                        .setting = is_option || is_variable};
    literals_add(r->set, &place, &preset);
    r->defaults++;
    return true;
}

/* ---- reading ---- */

static void read_items(struct reading *r, const struct level *level, size_t from, size_t to);

/* Reads the bracket at `open` in an item that begins at `from` and has that name, "" for none. */
static void read_bracket(struct reading *r, const struct level *outer, const char *name, uint64_t context, size_t from,
                         size_t open, size_t close)
{
    const struct code_tokens *t = &r->tokens;
    const char c = code_op(t, open), before = open > from ? code_op(t, open - 1) : '\0';
    const bool after_name = open > from && t->items[open - 1].kind == CODE_NAME && !is_keyword(t, open - 1);
    struct level level = {.kind = c == '{'     ? LEVEL_BRACES
                                  : after_name ? LEVEL_CALL
                                               : LEVEL_GROUP,
                          .context = context,
                          .depth = outer->depth + 1,
                          .setting = outer->setting};
    if ((c == '[' && (after_name || before == ')' || before == ']')) || level.depth > DEPTH_MAX)
        return; /* an index says where a value is */
    const char *callee = code_text(t, open - (open > 0));
    const size_t length = open ? t->items[open - 1].length : 0;
    if (level.kind == LEVEL_CALL && read_default(r, open - 1, open + 1, close))
        return;
    if (level.kind == LEVEL_CALL && !code_is(t, open - 1, "dict"))
        set_name(level.path, "", callee, length, ".");
    else if (level.kind != LEVEL_CALL && outer->kind == LEVEL_BRACES && *name)
        set_name(level.path, name, "", 0, ".");
    else if (outer->kind == LEVEL_GROUP)
        memcpy(level.path, outer->path, sizeof level.path);
    if (!*name && level.kind == LEVEL_CALL)
        set_name(level.label, "", callee, length, "");
    else
        memcpy(level.label, *name ? name : outer->label, strlen(*name ? name : outer->label) + 1);
    level.context = literal_mix(context, level.kind);
    if (level.kind == LEVEL_CALL)
        level.context = literal_hash(level.context, callee, length);
    else if (level.kind == LEVEL_GROUP)
        level.context = hash_tokens(level.context, t, open >= 2 ? open - 2 : 0, 2, from, open);
    if (level.kind != LEVEL_GROUP)
        literals_add_call(r->set, level.context);
    read_items(r, &level, open + 1, close);
}

/* The next name behind a literal, for one that has no name before it: 0.9 * v, 0.5 < loss. */
static bool name_right_of(char name[LITERAL_NAME_MAX], const struct code_tokens *t, size_t at, size_t to)
{
    while (at < to && (t->items[at].kind != CODE_NAME || is_keyword(t, at)))
        at++;
    if (at < to)
        set_name(name, "", code_text(t, at), t->items[at].length, "");
    return at < to;
}

/* Reads the literals and brackets of tokens[from..to). */
static void read_parts(struct reading *r, const struct level *level, const char *name, uint64_t context, size_t from, size_t to)
{
    const struct code_tokens *t = &r->tokens;
    const char *label = *name ? name : level->label;
    const bool nearest = !*label;
    char name_beside[LITERAL_NAME_MAX];
    for (size_t at = from; at < to; at++) {
        struct constant value;
        if (is_opening(code_op(t, at))) {
            const size_t close = code_close(t, at, to);
            read_bracket(r, level, name, context, from, at, close);
            at = close;
        } else if (is_configuration(t->language)) {
            continue; /* the rest of a configuration is data */
        } else if (is_literal(t, at)) {
            if (!*label && name_right_of(name_beside, t, at, to))
                label = name_beside;
            if (*label && constant_of_token(&value, t, at) && is_amount(t, at, &value)) {
                const uint64_t left = hash_tokens(context, t, at >= 2 ? at - 2 : 0, at >= 2 ? 2 : at, from, to);
                record(r, level, *name, label, at, &value, hash_tokens(left, t, at + 1, 2, from, to), false);
            }
        } else if (nearest && t->items[at].kind == CODE_NAME && !is_keyword(t, at)) {
            set_name(name_beside, "", code_text(t, at), t->items[at].length, "");
            label = name_beside;
        }
    }
}

/* Reads the name of an item: NAME= in a call, NAME: in a dictionary, .NAME= in an initialiser of C. Returns the first token of the
 * value, which without a name is the item's first. */
static size_t take_name(char name[LITERAL_NAME_MAX], const struct code_tokens *t, const struct level *level, size_t from,
                        size_t to)
{
    const bool c = t->language == LANGUAGE_C, braces = level->kind == LEVEL_BRACES;
    size_t first = from, end = to;
    *name = '\0';
    if (is_configuration(t->language) && braces) {
        const size_t colon = code_find(t, from, to, ":", false), equals = code_find(t, from, to, "=", false);
        end = colon < equals ? colon : equals;
    } else if (c && braces && from + 1 < to && code_op(t, from) == '.') {
        first = from + 1;
        end = code_find(t, from, to, "=", false);
    } else if (level->kind == LEVEL_PARAMETERS) {
        end = code_find(t, from, to, "=", false);
    } else if (!c && from + 1 < to && code_op(t, from + 1) == (braces ? ':' : level->kind == LEVEL_CALL ? '=' : '\0'))
        end = from + 1;
    if (end >= to || end == from)
        return from;
    size_t length = t->items[first].length;
    const char *text = code_text(t, first);
    if (is_configuration(t->language) && end > from + 1) /* {a-b: 1} */
        length = code_end(t, end - 1) - t->items[first].at;
    else if (t->items[first].kind == CODE_STRING)
        text = code_string(t, first, &length);
    else if (t->items[first].kind != CODE_NAME && t->items[first].kind != CODE_NUMBER)
        return from;
    if (!length)
        return from;
    set_name(name, level->path, text, length, "");
    return end + 1;
}

/* Reads an item whose value is tokens[from..to). `position` is the number of items before it. */
static void read_item(struct reading *r, const struct level *level, const char *name, size_t position, size_t from, size_t to)
{
    const struct code_tokens *t = &r->tokens;
    struct constant value;
    const bool whole = constant_read(&value, t, from, to);
    if (whole && *name) {
        const bool setting = level->kind == LEVEL_PARAMETERS || (level->kind == LEVEL_WHOLE && level->setting) ||
                             (level->kind == LEVEL_BRACES && level->setting && !r->in_function);
        record(r, level, true, name, from, &value, level->context, setting);
        return;
    }
    const uint64_t context = *name ? literal_hash(level->context, name, strlen(name))
                                   : literal_mix(level->context, level->kind == LEVEL_CALL ? position : 0);
    const size_t first = r->set->n, defaults = r->defaults;
    read_parts(r, level, name, context, from, to);
    /* f(os.environ.get("LR", 0.1)): LR says more than f */
    if (whole && level->kind == LEVEL_CALL && r->defaults == defaults && is_amount(t, from, &value)) {
        r->set->n = first;
        record(r, level, false, level->label, from, &value, context, false);
    }
}

static void read_items(struct reading *r, const struct level *level, size_t from, size_t to)
{
    char name[LITERAL_NAME_MAX];
    for (size_t end, position = 0; from < to; from = end + 1, position++) {
        end = end_of_item(&r->tokens, from, to);
        const size_t value = take_name(name, &r->tokens, level, from, end);
        if (value < end)
            read_item(r, level, name, position, value, end);
    }
}

static uint64_t scope_hash(const struct reading *r)
{
    return literal_hash(7, r->scope, strlen(r->scope));
}

void expression_read(struct reading *r, size_t from, size_t to, struct target target)
{
    struct level level = {.kind = LEVEL_WHOLE, .context = scope_hash(r), .setting = target.setting};
    char name[LITERAL_NAME_MAX], *end = name;
    if (from >= to)
        return;
    set_name(name, "", target.name ? target.name : "", target.length, "");
    for (const char *at = name; *at; at++) { /* cfg->lr and Config::lr are written with a dot, as in other languages */
        const bool arrow = (at[0] == '-' && at[1] == '>') || (at[0] == ':' && at[1] == ':');
        *end++ = arrow ? '.' : *at;
        at += arrow;
    }
    *end = '\0';
    read_item(r, &level, name, 0, from, to);
}

void parameters_read(struct reading *r, size_t from, size_t to)
{
    const struct level level = {.kind = LEVEL_PARAMETERS, .context = literal_mix(scope_hash(r), LEVEL_PARAMETERS)};
    read_items(r, &level, from, to);
}

void entries_read(struct reading *r, size_t from, size_t to, const char *name)
{
    const struct level level = {.kind = LEVEL_BRACES, .context = literal_mix(scope_hash(r), LEVEL_BRACES), .setting = true};
    if (*name && from < to)
        read_item(r, &level, name, 0, from, to);
    else
        read_items(r, &level, from, to);
}
