/*
 * expressions.c: finds the literals of an expression in one pass over its tokens.
 *
 * An expression is a tree of items: the arguments of a call, the elements of a list, the entries of a dictionary. Each
 * open bracket has a frame on a stack. When an item ends, it is either one constant (then it is recorded under the
 * item's name, and what was found inside of it is dropped), or each literal directly in it is recorded together with a
 * hash of the tokens around it, the shape of the item. Two literals are the same setting if names, calls and shapes
 * agree, so `0.5 * x` and `0.3 * x` differ in one setting, and an edit in the next argument does not matter.
 */
#include "expressions.h"

#include <stdio.h>
#include <string.h>

enum { FRAMES_MAX = 100, LONGEST_KEYWORD = 6 };

enum frame_kind {
    FRAME_WHOLE, /* the expression itself */
    FRAME_CALL,
    FRAME_PARAMETERS,
    FRAME_GROUP, /* ( ) and [ ] around values */
    FRAME_INDEX,
    FRAME_BRACES
};

struct frame {
    enum frame_kind kind;
    uint64_t context;    /* hash of where the frame is */
    size_t callee;       /* token with the last part of the callee's name, of a call */
    size_t first_record; /* number of literals before the frame */
    size_t option, option_value;  /* argparse: the token with the option's name; 0 for none */
    struct constant preset;       /* the call's default */
    bool has_preset, flag;
    char path[LITERAL_NAME_MAX];  /* dictionary: names of the enclosing entries, "optimizer." */
    /* the current item */
    size_t start, value;          /* its first token; the first behind NAME= or KEY: */
    size_t position, records, pending, last_name;
    uint64_t shape;
    const char *name;
    size_t name_length;
};

struct walk {
    struct reading *r;
    const struct target *target;
    struct frame *frames;
    size_t n;
    bool split;      /* commas outside of brackets separate items */
    size_t base;     /* frames that no closing bracket closes */
    size_t defaults; /* number of literals when the last default of a call was recorded */
};

static struct frame *top(struct walk *w)
{
    return &w->frames[w->n - 1];
}

static uint64_t mix(uint64_t hash, uint64_t value)
{
    return literal_hash(hash, (const char *)&value, sizeof value);
}

static const char *text_at(const struct reading *r, size_t token)
{
    return r->tokens.text + r->tokens.items[token].at;
}

static void begin_item(struct walk *w, struct frame *f, size_t at)
{
    f->start = f->value = at;
    f->records = w->r->set->n;
    f->pending = w->r->n_pending;
    f->last_name = 0;
    f->shape = 1;
    f->name = NULL;
    f->name_length = 0;
}

static uint64_t scope_hash(const struct reading *r)
{
    return literal_hash(7, r->scope, strlen(r->scope));
}

/* ---- names ---- */

/* The name under which an item is reported: the target of the assignment, or an enclosing argument's name. */
static bool name_of(char name[LITERAL_NAME_MAX], struct walk *w, const struct frame *f)
{
    const struct reading *r = w->r;
    int n = 0;
    if (f->name && f->kind == FRAME_CALL) {
        const struct code_token *callee = &r->tokens.items[f->callee];
        bool bare = code_is(&r->tokens, f->callee, "dict");
        n = bare ? snprintf(name, LITERAL_NAME_MAX, "%.*s", (int)f->name_length, f->name)
                 : snprintf(name, LITERAL_NAME_MAX, "%.*s.%.*s", (int)callee->length, r->tokens.text + callee->at,
                            (int)f->name_length, f->name);
    } else if (f->name) {
        n = snprintf(name, LITERAL_NAME_MAX, "%s%.*s", f->path, (int)f->name_length, f->name);
    } else {
        for (const struct frame *outer = f; outer > w->frames; outer--) {
            if (outer[-1].name)
                return name_of(name, w, &outer[-1]);
            if (outer->kind == FRAME_CALL && !(outer - w->frames == 1 && w->target->length)) {
                n = snprintf(name, LITERAL_NAME_MAX, "%.*s", (int)r->tokens.items[outer->callee].length,
                             text_at(r, outer->callee));
                return n > 0 && n < LITERAL_NAME_MAX;
            }
        }
        if (w->target->length)
            n = snprintf(name, LITERAL_NAME_MAX, "%.*s", (int)w->target->length, w->target->name);
        else if (f->last_name)
            n = snprintf(name, LITERAL_NAME_MAX, "%.*s", (int)r->tokens.items[f->last_name].length, text_at(r, f->last_name));
    }
    return n > 0 && n < LITERAL_NAME_MAX;
}

static uint64_t item_context(const struct walk *w, const struct frame *f)
{
    uint64_t hash = f->context;
    if (f->name)
        return literal_hash(hash, f->name, f->name_length);
    if (f->kind == FRAME_WHOLE)
        return literal_hash(hash, w->target->name, w->target->length);
    return mix(hash, f->kind == FRAME_CALL ? f->position : 0);
}

/* ---- recording ---- */

/* cfg->lr and Config::lr are written with a dot, as in other languages. */
static void dot_name(char *name)
{
    char *to = name;
    for (const char *from = name; *from; from++) {
        bool arrow = (from[0] == '-' && from[1] == '>') || (from[0] == ':' && from[1] == ':');
        *to++ = arrow ? '.' : *from;
        from += arrow;
    }
    *to = '\0';
}

static void record(struct walk *w, struct frame *f, size_t token, const struct constant *value, uint64_t context, bool setting)
{
    char name[LITERAL_NAME_MAX];
    if (!name_of(name, w, f))
        return;
    dot_name(name);
    struct literal_place place = {.context = context,
                                  .scope = w->r->scope,
                                  .name = name,
                                  .name_length = strlen(name),
                                  .line = w->r->tokens.items[token].line,
                                  .within = f->name && (f->kind == FRAME_CALL || f->kind == FRAME_BRACES) ? f->context : 0,
                                  .setting = setting};
    literals_add(w->r->set, &place, value);
}

/* Whether an unnamed constant is worth recording: a number or a truth value. Other texts are messages and paths. */
static bool is_amount(const struct reading *r, size_t from, const struct constant *value)
{
    return value->number.present || (r->tokens.items[from].kind == CODE_NAME && value->length);
}

static void record_parts(struct walk *w, struct frame *f)
{
    struct reading *r = w->r;
    uint64_t context = mix(item_context(w, f), f->shape);
    for (size_t i = f->pending; i < r->n_pending; i++) {
        struct constant value;
        if (constant_of_token(&value, &r->tokens, r->pending[i]) && is_amount(r, r->pending[i], &value))
            record(w, f, r->pending[i], &value, mix(context, i - f->pending), false);
    }
}

/* Notes what an option of a command line, or a setting with a default, is called: add_argument("--lr", default=0.1),
 * os.environ.get("LR", 0.1). */
static void note_argument(struct walk *w, struct frame *f, size_t end, const struct constant *value, bool whole)
{
    const struct reading *r = w->r;
    size_t length = 0;
    const char *text = "";
    if (end == f->value + 1 && r->tokens.items[f->value].kind == CODE_STRING)
        text = code_string(&r->tokens, f->value, &length);
    bool option = length > 1 && text[0] == '-';
    if (!f->name && option && (!f->option || (length > 2 && text[1] == '-')))
        f->option = f->value + 1;
    else if (!f->name && f->position == 0 && length)
        f->option = f->value + 1;
    bool is_default =
        f->name ? f->name_length == 7 && memcmp(f->name, "default", 7) == 0 : f->position == 1 && !option && f->option;
    if (is_default && whole) {
        f->preset = *value;
        f->has_preset = true;
        f->option_value = f->value;
    }
    if (f->name && f->name_length == 6 && memcmp(f->name, "action", 6) == 0 && length > 6 && memcmp(text, "store_", 6) == 0 &&
        !f->has_preset) {
        f->flag = constant_of_word(&f->preset, text[6] == 't' ? "false" : "true", text[6] == 't' ? 5 : 4);
        f->option_value = f->value;
    }
}

static void finish_item(struct walk *w, size_t end)
{
    struct frame *f = top(w);
    struct reading *r = w->r;
    struct constant value;
    if (end > f->value && f->kind != FRAME_INDEX) {
        bool whole = constant_read(&value, &r->tokens, f->value, end);
        if (f->kind == FRAME_CALL)
            note_argument(w, f, end, &value, whole);
        bool named = f->name || (w->n == 1 && w->target->length);
        if (whole && named) {
            bool setting = f->kind == FRAME_PARAMETERS || (w->n == 1 && w->target->setting) ||
                           (f->kind == FRAME_BRACES && !r->in_function && w->target->setting);
            r->set->n = f->records;
            /* The name is hashed with the literal, so it is not part of the context here. */
            record(w, f, f->value, &value, f->context, setting);
        } else if (whole && f->kind == FRAME_CALL && w->defaults > f->records) {
            /* f(os.environ.get("LR", 0.1)): LR says more than f */
        } else if (whole && f->kind == FRAME_CALL && is_amount(r, f->value, &value)) {
            r->set->n = f->records;
            record(w, f, f->value, &value, item_context(w, f), false);
        } else if (!is_configuration(r->tokens.language)) /* the rest of a configuration is data */
            record_parts(w, f);
    }
    r->n_pending = f->pending;
    f->position++;
}

/* A default that belongs to a name in a text replaces what was recorded for the arguments. It has no scope: an option
 * is the same option wherever the program reads it. */
static void finish_call(struct walk *w)
{
    struct frame *f = top(w);
    struct reading *r = w->r;
    size_t length, name = f->option - 1;
    if (!f->option || (!f->has_preset && !f->flag))
        return;
    const char *text = code_string(&r->tokens, name, &length);
    bool option = code_among(&r->tokens, f->callee,
                             " add_argument add_option add_flag option Option DEFINE_float DEFINE_integer DEFINE_string "
                             "DEFINE_bool DEFINE_boolean DEFINE_enum ");
    bool environment = code_among(&r->tokens, f->callee, " getenv setdefault environ ") ||
                       (code_is(&r->tokens, f->callee, "get") && f->callee >= 2 &&
                        (code_is(&r->tokens, f->callee - 2, "environ") || code_is(&r->tokens, f->callee - 2, "env")));
    if (!option && !environment && !code_among(&r->tokens, f->callee, " get pop "))
        return;
    while (length && *text == '-')
        text++, length--;
    struct literal_place place = {.context = option ? 11 : 13,
                                  .scope = r->scope,
                                  .name = text,
                                  .name_length = length,
                                  .line = r->tokens.items[f->option_value].line,
                                  .setting = option || environment};
    r->set->n = f->first_record;
    literals_add(r->set, &place, &f->preset);
    w->defaults = r->set->n;
}

/* ---- walking ---- */

static bool is_keyword(const struct reading *r, size_t at)
{
    return r->tokens.items[at].length <= LONGEST_KEYWORD &&
           code_among(&r->tokens, at,
                      " and or not in is if else elif for while return yield lambda await assert raise print "
                      "sizeof switch case ");
}

static bool open_frame(struct walk *w, size_t at, size_t from, bool parameters)
{
    struct reading *r = w->r;
    struct frame *outer = top(w);
    if (w->n == FRAMES_MAX)
        return false;
    const struct code_token *before = at > from ? &r->tokens.items[at - 1] : NULL;
    bool after_value = before && ((before->kind == CODE_NAME && !is_keyword(r, at - 1)) || code_op(&r->tokens, at - 1, ')') ||
                                  code_op(&r->tokens, at - 1, ']'));
    char c = *text_at(r, at);
    struct frame *f = &w->frames[w->n++];
    memset(f, 0, sizeof *f);
    f->kind = c == '{'                     ? FRAME_BRACES
              : !after_value || parameters ? FRAME_GROUP
              : c == '['                   ? FRAME_INDEX
              : before->kind == CODE_NAME  ? FRAME_CALL
                                           : FRAME_GROUP;
    f->callee = at ? at - 1 : 0;
    f->first_record = r->set->n;
    f->context = mix(item_context(w, outer), f->kind);
    if (f->kind == FRAME_CALL)
        f->context = literal_hash(f->context, text_at(r, at - 1), r->tokens.items[at - 1].length);
    else if (f->kind == FRAME_GROUP || f->kind == FRAME_INDEX)
        f->context = mix(f->context, outer->shape);
    if (outer->kind == FRAME_BRACES && outer->name)
        snprintf(f->path, sizeof f->path, "%.60s%.*s.", outer->path, (int)(outer->name_length < 40 ? outer->name_length : 40),
                 outer->name);
    else if (outer->kind == FRAME_GROUP)
        memcpy(f->path, outer->path, sizeof f->path);
    if (f->kind == FRAME_CALL || f->kind == FRAME_BRACES)
        literals_add_call(r->set, f->context);
    begin_item(w, f, at + 1);
    return true;
}

/* NAME= in a call, NAME: in a dictionary, .NAME= in an initialiser of C. Returns whether the token at `at` ends the
 * name of its item. */
static bool takes_name(struct walk *w, size_t at)
{
    struct frame *f = top(w);
    struct reading *r = w->r;
    bool c = r->tokens.language == LANGUAGE_C, configuration = is_configuration(r->tokens.language);
    size_t name = f->start;
    if (f->name || at == f->start)
        return false;
    const struct code_token *first = &r->tokens.items[name];
    if (configuration && f->kind != FRAME_BRACES)
        return false;
    if (configuration && at != name + 1) { /* {a-b: 1} */
        f->name = text_at(r, name);
        f->name_length = r->tokens.items[at - 1].at + r->tokens.items[at - 1].length - first->at;
    } else if (configuration) {
        ;
    } else if (code_op(&r->tokens, at, '=')) {
        if (c && f->kind == FRAME_BRACES && code_op(&r->tokens, name, '.'))
            first = &r->tokens.items[++name];
        else if (c || (f->kind != FRAME_CALL && f->kind != FRAME_PARAMETERS) || (f->kind == FRAME_CALL && at != name + 1))
            return false;
    } else if (c || f->kind != FRAME_BRACES || at != name + 1)
        return false;
    if (first->kind == CODE_STRING && !f->name)
        f->name = code_string(&r->tokens, name, &f->name_length);
    else if (!f->name && (first->kind == CODE_NAME || first->kind == CODE_NUMBER)) {
        f->name = text_at(r, name);
        f->name_length = first->length;
    }
    if (!f->name || !f->name_length) {
        f->name = NULL;
        return false;
    }
    f->value = at + 1;
    f->shape = 1;
    r->n_pending = f->pending;
    return true;
}

static void take_token(struct walk *w, size_t at)
{
    struct frame *f = top(w);
    struct reading *r = w->r;
    const struct code_token *t = &r->tokens.items[at];
    bool literal =
        t->kind == CODE_NUMBER || t->kind == CODE_STRING ||
        (t->kind == CODE_NAME && (t->length == 4 || t->length == 5) && code_among(&r->tokens, at, " True False true false "));
    if (literal) {
        r->pending[r->n_pending++] = (uint32_t)at;
        f->shape = mix(f->shape, 3);
        return;
    }
    if (t->kind == CODE_TEXT || t->kind == CODE_DIRECTIVE || t->kind == CODE_NEWLINE)
        return;
    if (t->kind == CODE_NAME && !is_keyword(r, at))
        f->last_name = at;
    f->shape = literal_hash(f->shape, text_at(r, at), t->length);
}

static void walk(struct walk *w, size_t from, size_t to)
{
    const struct code_tokens *t = &w->r->tokens;
    for (size_t at = from; at < to; at++) {
        const struct code_token *token = &t->items[at];
        char c = token->kind == CODE_OP && token->length == 1 ? t->text[token->at] : '\0';
        if (c && is_opening(c)) {
            take_token(w, at);
            if (!open_frame(w, at, from, false))
                return;
        } else if (c && is_closing(c)) {
            if (w->n == w->base)
                continue; /* opened before the part of the file that is read */
            finish_item(w, at);
            if (top(w)->kind == FRAME_CALL)
                finish_call(w);
            w->n--;
        } else if ((c == ',' || c == ';') && (w->n > w->base || w->split)) {
            finish_item(w, at);
            begin_item(w, top(w), at + 1);
        } else if (!((c == '=' || c == ':') && takes_name(w, at)))
            take_token(w, at);
    }
    while (w->n > 1) {
        finish_item(w, to);
        w->n--;
    }
    finish_item(w, to);
}

/* Reads one whole expression, or the items of a frame of that kind. */
static void read(struct reading *r, size_t from, size_t to, const struct target *target, enum frame_kind kind)
{
    struct frame frames[FRAMES_MAX];
    bool whole = kind == FRAME_WHOLE, entry = kind == FRAME_BRACES;
    struct walk w = {.r = r, .target = target, .frames = frames, .n = whole ? 1 : 2, .base = whole ? 1 : 2};
    size_t pending = r->n_pending;
    if (from >= to)
        return;
    memset(frames, 0, 2 * sizeof *frames);
    frames[0].kind = FRAME_WHOLE;
    frames[0].context = whole ? scope_hash(r) : mix(scope_hash(r), kind);
    begin_item(&w, &frames[0], from);
    if (!whole) {
        frames[1].kind = kind;
        frames[1].context = frames[0].context;
        begin_item(&w, &frames[1], from);
        frames[1].name = entry && target->length ? target->name : NULL;
        frames[1].name_length = target->length;
    }
    w.split = kind == FRAME_PARAMETERS || (entry && !target->length);
    walk(&w, from, to);
    r->n_pending = pending;
}

void expression_read(struct reading *r, size_t from, size_t to, const struct target *target)
{
    read(r, from, to, target, FRAME_WHOLE);
}

void parameters_read(struct reading *r, size_t from, size_t to)
{
    const struct target none = {.name = ""};
    read(r, from, to, &none, FRAME_PARAMETERS);
}

void entries_read(struct reading *r, size_t from, size_t to, const char *name)
{
    const struct target target = {.name = name, .length = strlen(name), .setting = true};
    read(r, from, to, &target, FRAME_BRACES);
}

bool target_of(struct target *target, const struct reading *r, size_t from, size_t to)
{
    const struct code_tokens *t = &r->tokens;
    if (from >= to)
        return false;
    /* os.environ["LR"], config["lr"] */
    if (to - from >= 4 && code_op(t, to - 1, ']') && code_op(t, to - 3, '[') && t->items[to - 2].kind == CODE_STRING) {
        target->name = code_string(t, to - 2, &target->length);
        return target->length > 0;
    }
    for (size_t i = from; i < to; i++) {
        bool name = (i - from) % 2 == 0;
        if (name ? t->items[i].kind != CODE_NAME : !(code_op(t, i, '.') || code_is(t, i, "->") || code_is(t, i, "::")))
            return false;
    }
    if (to - from > 2 && code_among(t, from, " self this cls "))
        from += 2;
    if ((to - from) % 2 == 0)
        return false;
    target->name = text_at(r, from);
    target->length = t->items[to - 1].at + t->items[to - 1].length - t->items[from].at;
    return true;
}
