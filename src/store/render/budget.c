/*
 * budget.c: chooses which rows of a block are printed.
 *
 * The choice is greedy: each step takes the row, or the longer form of a chosen row, that is worth most per byte.
 * That fills a budget to within one row, and a few more bytes of budget never show less of a list.
 */
#include "budget.h"

#define FULL_WORTH 0.15 /* worth of a row's full form as a fraction of the row's: more rows are better than longer ones */
#define GAP_LENGTH 40   /* bytes that a line about omitted rows may take */

/* Spans are parts of one growing text, so each begins where the one before it ended. They are offsets, because the
 * text moves while it grows. */
static size_t end_of_last(const struct block *block)
{
    const struct budget_part *part = &block->parts[block->n_parts - 1];
    if (!part->n)
        return part->head.at + part->head.length;
    const struct budget_row *row = &block->rows[block->n_rows - 1];
    return row->full.at + row->full.length;
}

/* Too many sections are a bug of this library; the block fails instead of leaving a part out. */
void block_begin(struct block *block, const char *name, bool asked)
{
    if (block->n_parts == BUDGET_PARTS) {
        block->failed = true;
        return;
    }
    block->parts[block->n_parts++] =
        (struct budget_part){.name = name, .asked = asked, .first = block->n_rows, .head = {.at = block->text.length}};
}

void block_head_end(struct block *block)
{
    struct span *head = &block->parts[block->n_parts - 1].head;
    head->length = block->text.length - head->at;
}

/* The row after the last one. Rows are zeroed when the array grows, which distinguishes a row whose brief form has
 * ended from one without a brief form. */
static struct budget_row *open_row(struct block *block)
{
    if (block->n_rows == block->capacity) {
        size_t capacity = block->capacity ? block->capacity * 2 : 128;
        struct budget_row *rows = realloc(block->rows, capacity * sizeof *rows);
        if (!rows) {
            block->failed = true;
            return NULL;
        }
        /* realloc does not clear the new part, and open_row needs zeros. */
        memset(rows + block->capacity, 0, (capacity - block->capacity) * sizeof *rows);
        block->rows = rows;
        block->capacity = capacity;
    }
    return &block->rows[block->n_rows];
}

void block_brief_end(struct block *block)
{
    struct budget_row *row = open_row(block);
    size_t at = end_of_last(block);
    if (row)
        row->brief = (struct span){at, block->text.length - at};
}

/* A row with one form is brief and full at once, so that the choice never pays for growth. */
void block_row_end(struct block *block, double worth, bool core)
{
    struct budget_row *row = open_row(block);
    if (!row)
        return;
    size_t at = row->brief.length ? row->brief.at + row->brief.length : end_of_last(block);
    row->full = (struct span){at, block->text.length - at};
    if (!row->brief.length)
        row->brief = row->full;
    row->part = block->n_parts - 1;
    row->worth = worth;
    row->core = core;
    block->n_rows++;
    block->parts[block->n_parts - 1].n++;
}

void block_tail_end(struct block *block)
{
    size_t at = end_of_last(block);
    block->parts[block->n_parts - 1].tail = (struct span){at, block->text.length - at};
}

void block_release(struct block *block)
{
    buf_release(&block->text);
    free(block->rows);
    *block = (struct block){0};
}

/* Rows are taken in three rounds; longer forms of chosen rows compete in the last one. */
enum budget_round { ROUND_CORE, ROUND_EARLY, ROUND_REST };

/* State of a choice: the order in which rows are taken, and the next row of each part. */
struct choice {
    struct block *block;
    const struct budget_row **order; /* [n_rows] by part; core rows first, then by worth, then as printed */
    size_t next[BUDGET_PARTS];       /* next row to take */
    size_t grow[BUDGET_PARTS];       /* next row to show in full */
    size_t used, room;
};

static int by_part_and_worth(const void *a, const void *b)
{
    const struct budget_row *x = *(const struct budget_row *const *)a, *y = *(const struct budget_row *const *)b;
    if (x->part != y->part)
        return x->part < y->part ? -1 : 1;
    /* Core rows first, whatever their worth: otherwise a long row could displace the core rows of a later list. */
    if (x->core != y->core)
        return x->core ? -1 : 1;
    if (x->worth != y->worth)
        return x->worth > y->worth ? -1 : 1;
    /* qsort is not stable, and the same store must give the same bytes: rows of equal worth stay in printing order. */
    return (x > y) - (x < y);
}

static size_t last_of(const struct budget_part *part)
{
    return part->first + part->n;
}

/* The cost of taking the next row of a part; the first row also pays for the heading. */
static size_t row_cost(const struct choice *c, size_t p)
{
    const struct budget_part *part = &c->block->parts[p];
    size_t cost = c->order[c->next[p]]->brief.length;
    if (c->next[p] == part->first)
        cost += part->head.length + part->tail.length + (part->cut_inside && part->n > 1 ? GAP_LENGTH : 0);
    return cost;
}

/* A full form may be shorter (a number with fewer digits than its stand-in), which counts as no growth. */
static size_t growth(const struct budget_row *row)
{
    return row->full.length > row->brief.length ? row->full.length - row->brief.length : 0;
}

/* Worth per byte of the next row that fits. A part takes no more rows after the first one that does not fit: otherwise
 * a later row would take its place and look as if nothing was missing between. */
static double row_density(struct choice *c, size_t p, enum budget_round round)
{
    const struct budget_part *part = &c->block->parts[p];
    if (!part->asked || c->next[p] == last_of(part))
        return 0;
    if (c->order[c->next[p]]->core != (round == ROUND_CORE) || (round == ROUND_EARLY && !part->early))
        return 0;
    size_t needs = c->order[c->next[p]]->needs;
    if (needs && c->block->rows[needs - 1].form == ROW_LEFT_OUT)
        return 0;
    size_t cost = row_cost(c, p);
    if (cost > c->room - c->used) {
        c->next[p] = last_of(part);
        return 0;
    }
    /* The heading serves the later rows as well; if the first row alone were charged for it, whole lists would be left
     * out. */
    size_t own = c->order[c->next[p]]->brief.length;
    return c->order[c->next[p]]->worth / (double)(own + (cost - own) / 4 + 1);
}

/* The worth per byte of showing a chosen row in full. A full form that does not fit is skipped, because it misleads
 * nobody if one text is cut and another is complete. */
static double growth_density(struct choice *c, size_t p)
{
    while (c->grow[p] < c->next[p]) {
        const struct budget_row *row = c->order[c->grow[p]];
        size_t cost = growth(row);
        if (row->form == ROW_BRIEF && cost && cost <= c->room - c->used)
            return FULL_WORTH * row->worth / (double)cost;
        if (row->form == ROW_LEFT_OUT)
            return 0;
        c->grow[p]++;
    }
    return 0;
}

/* The order holds const pointers, because sorting must not change a row; only this function marks one. */
static struct budget_row *mutable_row(const struct choice *c, size_t at)
{
    return &c->block->rows[c->order[at] - c->block->rows];
}

/* If worth per byte is equal, a new row wins over a longer form: a longer list is better than a longer text. */
static bool take_best(struct choice *c, enum budget_round round)
{
    double most = 0;
    size_t best = 0;
    bool grows = false;
    /* There are few parts, so each step looks at all of them; a heap would be more code than the loop it saves. */
    for (size_t p = 0; p < c->block->n_parts; p++) {
        double row = row_density(c, p, round), more = round == ROUND_REST ? growth_density(c, p) : 0;
        if (row > most || more > most) {
            grows = more > row;
            most = grows ? more : row;
            best = p;
        }
    }
    if (most <= 0)
        return false;
    if (grows) {
        c->used += growth(c->order[c->grow[best]]);
        mutable_row(c, c->grow[best]++)->form = ROW_FULL;
    } else {
        c->used += row_cost(c, best);
        mutable_row(c, c->next[best]++)->form = ROW_BRIEF;
    }
    return true;
}

/* Sorts the rows again in each call, because their forms and the room differ, and a block has only a few hundred
 * rows. */
static void choose(struct choice *c)
{
    struct block *block = c->block;
    for (size_t i = 0; i < block->n_rows; i++)
        c->order[i] = &block->rows[i];
    qsort(c->order, block->n_rows, sizeof *c->order, by_part_and_worth);
    for (size_t p = 0; p < block->n_parts; p++)
        c->next[p] = c->grow[p] = block->parts[p].first;
    /* Each round goes on until no row of it is left or none fits; only then do the rows of the next one get any bytes. */
    for (int round = ROUND_CORE; round <= ROUND_REST; round++)
        while (take_best(c, (enum budget_round)round))
            ;
}

/* Without a limit everything is printed in full. */
void budget_choose(struct block *block, size_t room)
{
    struct choice c = {.block = block, .room = room};
    for (size_t i = 0; i < block->n_rows; i++)
        block->rows[i].form = room || !block->parts[block->rows[i].part].asked ? ROW_LEFT_OUT : ROW_FULL;
    if (!room)
        return;
    c.order = calloc(block->n_rows + 1, sizeof *c.order);
    block->failed = block->failed || !c.order;
    if (c.order)
        choose(&c);
    free(c.order);
}

static size_t count_chosen(const struct block *block, const struct budget_part *part)
{
    size_t n = 0;
    for (size_t i = part->first; i < last_of(part); i++)
        n += block->rows[i].form != ROW_LEFT_OUT;
    return n;
}

static void add_span(struct buf *out, const struct block *block, struct span span)
{
    buf_add(out, block->text.data + span.at, span.length);
}

static void print_part(struct buf *out, const struct block *block, const struct budget_part *part)
{
    size_t left_out = 0, shown = 0;
    if (!count_chosen(block, part))
        return;
    add_span(out, block, part->head);
    for (size_t i = part->first; i < last_of(part); i++) {
        const struct budget_row *row = &block->rows[i];
        if (row->form == ROW_LEFT_OUT)
            left_out += 1 + (i == part->beyond_at ? part->beyond : 0);
        if (row->form == ROW_LEFT_OUT)
            continue;
        /* No line is printed before the first row that is shown, because the reader would not miss anything there. */
        if (left_out && part->cut_inside && shown)
            buf_printf(out, " … %zu left out\n", left_out);
        left_out = 0;
        shown++;
        add_span(out, block, row->form == ROW_FULL ? row->full : row->brief);
    }
    add_span(out, block, part->tail);
}

void budget_print(struct buf *out, const struct block *block)
{
    for (size_t p = 0; p < block->n_parts; p++)
        print_part(out, block, &block->parts[p]);
}

/* The rows are printed and measured instead of adding up their lengths: the line about omitted rows contains a number,
 * and a separate sum would one day differ. */
size_t budget_size(const struct block *block)
{
    SCOPED_BUF out = {0};
    budget_print(&out, block);
    return out.length;
}

/* Rows are counted per list: whether an agent sees 7 or 30 of 30 recent trials changes what it can conclude from
 * them. */
void budget_tell(struct buf *out, const struct block *block)
{
    bool shortened = false;
    size_t begin = out->length;
    for (size_t p = 0; p < block->n_parts; p++) {
        const struct budget_part *part = &block->parts[p];
        size_t chosen = count_chosen(block, part);
        if (part->asked && chosen < part->n)
            buf_printf(out, "%s%s %zu of %zu", out->length > begin ? ", " : "", part->name, part->n - chosen, part->n);
    }
    /* The note mentions cut texts only once, because a … marks each text that was cut. */
    for (size_t i = 0; i < block->n_rows; i++)
        shortened = shortened || (block->rows[i].form == ROW_BRIEF && growth(&block->rows[i]));
    if (shortened)
        buf_puts(out, out->length > begin ? ", ends of long texts" : "ends of long texts");
}
