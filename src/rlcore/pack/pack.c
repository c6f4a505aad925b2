/*
 * pack.c: see rlcore/pack.h. Bins are linked lists of samples while they are being split.
 *
 * The order of every choice, including ties, is part of the definition: packing decides which
 * tokens share a micro batch, and two implementations that agree on the numbers must agree on the
 * batches.
 */
#include <rlcore/pack.h>

#include "support/scratch.h"

/* Divides weighted items into parts of equal count and nearly equal load: largest
 * differencing (Karmarkar and Karp), then single swaps while they help.
 * States are merged in O(V log V); ties are broken in the order of
 * the definition.
 *
 * The loads become most equal if large differences are evened out first. A state holds one set of
 * items per part. States are joined as a whole, the largest set of one with the smallest set of the
 * other, so that all parts keep the same number of items. */

struct rl_part_set {
    double total;
    size_t head, tail; /* a list of items through next[] */
};

struct rl_partition {
    size_t n_items, n_parts; /* n_items is a multiple of n_parts */
    const double *weight;    /* [n_items] */
    size_t *rank;            /* [n_items] scratch: items by weight */
    size_t *next;            /* [n_items] scratch */
    size_t *spare;           /* [n_items] scratch for sorting */
    struct rl_part_set *set; /* [n_items] scratch: n_parts sets per state */
    double *load;            /* [n_parts] scratch */
};

#define NO_ITEM SIZE_MAX

static void rl_partition_take(struct rl_partition *p, struct rl_scratch *s, size_t n_items, size_t n_parts)
{
    *p = (struct rl_partition){.n_items = n_items, .n_parts = n_parts};
    p->rank = rl_scratch_take(s, n_items, sizeof *p->rank);
    p->next = rl_scratch_take(s, n_items, sizeof *p->next);
    p->spare = rl_scratch_take(s, n_items, sizeof *p->spare);
    p->set = rl_scratch_take(s, n_items, sizeof *p->set);
    p->load = rl_scratch_take(s, n_parts, sizeof *p->load);
}

/* Sort items by key with a stable sort: ascending, or descending with sign -1. spare is as long as
 * items.
 * This is a merge sort, because ties in the definition require a stable sort, and it needs no
 * memory of its own. */
static void rl_sort_by(size_t *items, size_t *spare, size_t n, const double *key, double sign)
{
    for (size_t width = 1; width < n; width *= 2) {
        for (size_t from = 0; from < n; from += 2 * width) {
            size_t middle = from + width < n ? from + width : n;
            size_t to = middle + width < n ? middle + width : n;
            for (size_t a = from, b = middle, k = from; k < to; k++) {
                bool left = b == to || (a < middle && sign * key[items[a]] <= sign * key[items[b]]);
                spare[k] = items[left ? a++ : b++];
            }
        }
        memcpy(items, spare, n * sizeof *items);
    }
}

/*
 * Compare by total, then by the sequence of items. No two sets hold the same items, so the
 * comparison is never equal, and heap sort, which is not stable, has a unique result.
 */
static int compare_sets(const struct rl_partition *p, const struct rl_part_set *a, const struct rl_part_set *b)
{
    if (a->total != b->total)
        return a->total < b->total ? -1 : 1;
    size_t i = a->head, j = b->head;
    while (i != NO_ITEM && j != NO_ITEM && i == j) {
        i = p->next[i];
        j = p->next[j];
    }
    if (i == NO_ITEM || j == NO_ITEM)
        return (j == NO_ITEM) - (i == NO_ITEM);
    return i < j ? -1 : i > j;
}

static void sift_down(const struct rl_partition *p, struct rl_part_set *sets, size_t root, size_t n)
{
    for (size_t child; (child = 2 * root + 1) < n; root = child) {
        if (child + 1 < n && compare_sets(p, &sets[child + 1], &sets[child]) < 0)
            child++;
        if (compare_sets(p, &sets[child], &sets[root]) >= 0)
            return;
        struct rl_part_set held = sets[root];
        sets[root] = sets[child];
        sets[child] = held;
    }
}

/* Sort in descending order, which is unique because no two sets are equal. */
static void sort_sets(const struct rl_partition *p, struct rl_part_set *sets)
{
    size_t n = p->n_parts;
    for (size_t root = n / 2; root-- > 0;)
        sift_down(p, sets, root, n);
    for (size_t end = n; end-- > 1;) {
        struct rl_part_set held = sets[0];
        sets[0] = sets[end];
        sets[end] = held;
        sift_down(p, sets, 0, end);
    }
}

static void start_states(struct rl_partition *p)
{
    for (size_t i = 0; i < p->n_items; i++)
        p->rank[i] = i;
    rl_sort_by(p->rank, p->spare, p->n_items, p->weight, 1);
    for (size_t i = 0; i < p->n_items; i++) {
        size_t item = p->rank[i];
        p->next[item] = NO_ITEM;
        p->set[i] = (struct rl_part_set){p->weight[item], item, item};
    }
    for (size_t i = 0; i < p->n_items; i += p->n_parts)
        sort_sets(p, p->set + i);
}

static double spread(const struct rl_partition *p, const struct rl_part_set *state)
{
    return state[0].total - state[p->n_parts - 1].total;
}

/* Move the state with the widest spread to the end of the n_states. */
static void bring_widest_last(struct rl_partition *p, size_t n_states)
{
    struct rl_part_set *last = p->set + (n_states - 1) * p->n_parts, *widest = last;
    for (size_t s = 0; s + 1 < n_states; s++) {
        struct rl_part_set *state = p->set + s * p->n_parts;
        double gain = spread(p, state) - spread(p, widest);
        if (gain > 0 || (gain == 0 && compare_sets(p, state, widest) > 0))
            widest = state;
    }
    for (size_t i = 0; i < p->n_parts && widest != last; i++) {
        struct rl_part_set held = last[i];
        last[i] = widest[i];
        widest[i] = held;
    }
}

/* Join set i of first with set V - 1 - i of second; the result replaces second. */
static void join_states(struct rl_partition *p, const struct rl_part_set *first, struct rl_part_set *second)
{
    for (size_t i = 0; i < p->n_parts; i++) {
        struct rl_part_set *other = &second[p->n_parts - 1 - i];
        p->next[first[i].tail] = other->head;
        other->head = first[i].head;
        other->total += first[i].total;
    }
    sort_sets(p, second);
}

/* Write each part in ascending order of items, as the definition requires. */
static void write_parts(struct rl_partition *p, size_t *items)
{
    size_t per_part = p->n_items / p->n_parts;
    for (size_t i = 0; i < p->n_items; i++)
        p->rank[i] = p->n_parts;
    for (size_t part = 0; part < p->n_parts; part++)
        for (size_t item = p->set[part].head; item != NO_ITEM; item = p->next[item])
            p->rank[item] = part;
    for (size_t part = 0; part < p->n_parts; part++)
        p->spare[part] = part * per_part;
    for (size_t item = 0; item < p->n_items; item++)
        items[p->spare[p->rank[item]]++] = item;
}

struct swap {
    double largest, range; /* largest load and range of the loads after the swap */
    size_t i, j;           /* positions in items */
    bool found;
};

/*
 * The parts with the three largest loads, or with sign -1 the three smallest; NO_ITEM if there are
 * fewer. A swap changes two loads, so the largest of the others is among the three largest of all.
 */
static void find_extremes(const struct rl_partition *p, double sign, size_t *extremes)
{
    extremes[0] = extremes[1] = extremes[2] = NO_ITEM;
    for (size_t part = 0; part < p->n_parts; part++) {
        size_t held = part;
        for (size_t k = 0; k < 3 && held != NO_ITEM; k++)
            if (extremes[k] == NO_ITEM || sign * p->load[held] > sign * p->load[extremes[k]]) {
                size_t next = extremes[k];
                extremes[k] = held;
                held = next;
            }
    }
}

/*
 * The most extreme load of all parts except two; minus or plus infinity if these two are all
 * parts.
 */
static double extreme_but(const struct rl_partition *p, const size_t *extremes, double sign, size_t but, size_t nor)
{
    for (size_t k = 0; k < 3 && extremes[k] != NO_ITEM; k++)
        if (extremes[k] != but && extremes[k] != nor)
            return p->load[extremes[k]];
    return -sign * INFINITY;
}

static void best_swap_between(const struct rl_partition *p, const size_t *items, size_t left, size_t right, double low,
                              double high, struct swap *best)
{
    size_t per_part = p->n_items / p->n_parts;
    for (size_t i = left * per_part; i < (left + 1) * per_part; i++)
        for (size_t j = right * per_part; j < (right + 1) * per_part; j++) {
            double moved = p->weight[items[j]] - p->weight[items[i]];
            double a = p->load[left] + moved, b = p->load[right] - moved;
            double largest = fmax(high, fmax(a, b)), range = largest - fmin(low, fmin(a, b));
            if (largest < best->largest || (largest == best->largest && range < best->range))
                *best = (struct swap){largest, range, i, j, true};
        }
}

/*
 * Loads are updated instead of summed again, so that every step lowers exactly the numbers that are
 * compared. The search therefore ends.
 */
static void add_loads(struct rl_partition *p, const size_t *items)
{
    size_t per_part = p->n_items / p->n_parts;
    for (size_t part = 0; part < p->n_parts; part++) {
        p->load[part] = 0;
        for (size_t i = 0; i < per_part; i++)
            p->load[part] += p->weight[items[part * per_part + i]];
    }
}

/*
 * Make the best swap; returns false if there is none. Every swap either lowers the largest load, or
 * keeps the largest load and lowers the range, so no state occurs twice.
 */
static bool improve(struct rl_partition *p, size_t *items)
{
    size_t per_part = p->n_items / p->n_parts, highest[3], lowest[3];
    find_extremes(p, 1, highest);
    find_extremes(p, -1, lowest);
    struct swap best = {.largest = p->load[highest[0]], .range = p->load[highest[0]] - p->load[lowest[0]]};
    for (size_t left = 0; left < p->n_parts; left++)
        for (size_t right = left + 1; right < p->n_parts; right++)
            best_swap_between(p, items, left, right, extreme_but(p, lowest, -1, left, right),
                              extreme_but(p, highest, 1, left, right), &best);
    if (best.found) {
        size_t held = items[best.i];
        double moved = p->weight[items[best.j]] - p->weight[held];
        p->load[best.i / per_part] += moved;
        p->load[best.j / per_part] -= moved;
        items[best.i] = items[best.j];
        items[best.j] = held;
    }
    return best.found;
}

/* Write items [n_items]: the parts one after another, n_items / n_parts items each.
 * Differencing (Karmarkar and Karp 1982) finds a good start; swaps then even out the loads that
 * remain. */
static void rl_partition_run(struct rl_partition *p, size_t *items)
{
    start_states(p);
    for (size_t n_states = p->n_items / p->n_parts; n_states > 1; n_states--) {
        bring_widest_last(p, n_states);
        bring_widest_last(p, n_states - 1);
        join_states(p, p->set + (n_states - 1) * p->n_parts, p->set + (n_states - 2) * p->n_parts);
    }
    write_parts(p, items);
    add_loads(p, items);
    while (improve(p, items))
        continue;
}

struct bins {
    size_t n;
    size_t *head, *tail, *count; /* per bin; lists of samples through next */
    size_t *next;                /* per sample, SIZE_MAX at the end */
    double *tokens, *cost;       /* per bin: sum of lengths, cost of the list */
    size_t *items, *spare;       /* [n samples] for sorting */
    double *key;                 /* per sample: length, later its own cost */
};

/* A sample longer than seq_len is cut, not refused: its generation has already been paid for. */
static size_t cut(size_t length, const struct rl_pack_options *o)
{
    return length < o->seq_len ? length : o->seq_len;
}

static double cost(double sum, double squares, const struct rl_pack_options *o)
{
    return o->cost_linear * sum + o->cost_quadratic * squares;
}

static enum rl_status check_options(const struct rl_pack_options *o, struct rl_error *err)
{
    RL_TRY(RL_NEED(err, {"options", o}));
    if (o->seq_len < 1 || o->n_workers < 1 || o->pad_multiple < 1)
        return rl_fail(err, RL_EINVAL, "seq_len %zu, n_workers %zu and pad_multiple %zu must be positive", o->seq_len,
                       o->n_workers, o->pad_multiple);
    if (!(o->cost_linear >= 0 && o->cost_quadratic >= 0) || isinf(o->cost_linear + o->cost_quadratic))
        return rl_fail(err, RL_EINVAL, "cost_linear %g and cost_quadratic %g must be finite, not negative", o->cost_linear,
                       o->cost_quadratic);
    return RL_OK;
}

static enum rl_status check_stream(const double *values, const char *name, size_t sample, size_t n, bool optional,
                                   struct rl_error *err)
{
    if (!values && !optional)
        return rl_fail(err, RL_EINVAL, "sample %zu has no %s", sample, name);
    for (size_t t = 0; values && t < n; t++)
        if (!isfinite(values[t]))
            return rl_fail(err, RL_EVALUE, "%s of sample %zu is %g at token %zu", name, sample, values[t], t);
    return RL_OK;
}

/*
 * Without advantages a token may train with ce or ref_kl only, because a 0 in place of a missing
 * advantage would not be noticed.
 */
static enum rl_status check_members(const struct rl_pack_sample *s, size_t i, struct rl_error *err)
{
    for (size_t t = 0; t < s->n_tokens; t++) {
        if (s->mask[t] > 1)
            return rl_fail(err, RL_EVALUE, "mask of sample %zu is %d at token %zu", i, s->mask[t], t);
        if (!s->advantages && s->mask[t] && (!s->rl_weights || s->rl_weights[t] != 0))
            return rl_fail(err, RL_EINVAL, "sample %zu has no advantages, but token %zu trains with rl", i, t);
    }
    return RL_OK;
}

/* "all" is the name of the metrics that are summed over the environments. */
static enum rl_status check_sample(const struct rl_pack_sample *s, size_t i, struct rl_error *err)
{
    const double *streams[] = {s->logprobs,   s->temperatures, s->advantages,    s->ref_logprobs,
                               s->rl_weights, s->ce_weights,   s->ref_kl_weights};
    static const char *const names[] = {"logprobs",   "temperatures", "advantages",    "ref_logprobs",
                                        "rl_weights", "ce_weights",   "ref_kl_weights"};
    if (s->n_tokens == 0 || !s->token_ids || !s->mask || !s->env_name)
        return rl_fail(err, RL_EINVAL, "sample %zu has no tokens, token ids, mask or environment name", i);
    if (strcmp(s->env_name, "all") == 0)
        return rl_fail(err, RL_EINVAL, "sample %zu: the environment name 'all' is reserved", i);
    for (size_t k = 0; k < sizeof streams / sizeof *streams; k++)
        if (check_stream(streams[k], names[k], i, s->n_tokens, k >= 2, err) != RL_OK)
            return err ? err->status : RL_EVALUE;
    return check_members(s, i, err);
}

enum rl_status rl_pack_check(const struct rl_pack_sample *samples, size_t n, const struct rl_pack_options *options,
                             struct rl_error *err)
{
    RL_TRY(check_options(options, err));
    if (n)
        RL_TRY(RL_NEED(err, {"samples", samples}));
    for (size_t i = 0; i < n; i++)
        RL_TRY(check_sample(&samples[i], i, err));
    return RL_OK;
}

/* Compute count, tokens and cost of a bin, which must not be empty. */
static void measure(struct bins *b, size_t bin, const size_t *lengths, const struct rl_pack_options *o)
{
    double sum = 0, squares = 0;
    b->count[bin] = 0;
    for (size_t i = b->head[bin]; i != SIZE_MAX; i = b->next[i]) {
        double length = (double)cut(lengths[i], o);
        sum += length;
        squares += length * length;
        b->count[bin]++;
    }
    b->tokens[bin] = sum;
    b->cost[bin] = cost(sum, squares, o);
}

/* Append at the tail, so that samples keep the order in which first fit placed them. */
static void append(struct bins *b, size_t bin, size_t sample)
{
    b->next[sample] = SIZE_MAX;
    if (b->head[bin] == SIZE_MAX)
        b->head[bin] = sample;
    else
        b->next[b->tail[bin]] = sample;
    b->tail[bin] = sample;
}

static size_t open_bin(struct bins *b)
{
    b->head[b->n] = b->tail[b->n] = SIZE_MAX;
    b->tokens[b->n] = 0;
    return b->n++;
}

/*
 * First fit over descending lengths needs at most 11/9 of the optimal number of bins plus one, and
 * is close to the optimum for usual lengths. The cost is quadratic in the number of bins, which is
 * small.
 */
static void first_fit(struct bins *b, const size_t *lengths, size_t n, const struct rl_pack_options *o)
{
    for (size_t i = 0; i < n; i++) {
        b->items[i] = i;
        b->key[i] = (double)cut(lengths[i], o);
    }
    rl_sort_by(b->items, b->spare, n, b->key, -1);
    for (size_t k = 0; k < n; k++) {
        double length = b->key[b->items[k]];
        size_t bin = 0;
        while (bin < b->n && b->tokens[bin] + length > (double)o->seq_len)
            bin++;
        bin = bin < b->n ? bin : open_bin(b);
        append(b, bin, b->items[k]);
        b->tokens[bin] += length;
    }
    for (size_t bin = 0; bin < b->n; bin++)
        measure(b, bin, lengths, o);
}

/*
 * The costliest bin with at least two samples (of equally costly bins the last), or n if there is
 * none. The number of bins must be a multiple of the workers, which step together. Splitting the
 * costliest bin shortens the step; an empty micro batch would leave a worker idle.
 */
static size_t bin_to_split(const struct bins *b)
{
    size_t found = b->n;
    for (size_t bin = 0; bin < b->n; bin++)
        if (b->count[bin] > 1 && (found == b->n || b->cost[bin] >= b->cost[found]))
            found = bin;
    return found;
}

/*
 * The longest sample goes first, always to the lighter half, which never puts the two longest
 * together. On a tie the left half is used, as in the definition.
 */
static void split(struct bins *b, size_t left, const size_t *lengths, const struct rl_pack_options *o)
{
    size_t n = 0, right = open_bin(b);
    for (size_t i = b->head[left]; i != SIZE_MAX; i = b->next[i]) {
        double length = (double)cut(lengths[i], o);
        b->key[i] = cost(length, length * length, o);
        b->items[n++] = i;
    }
    rl_sort_by(b->items, b->spare, n, b->key, -1);
    double load_left = 0, load_right = 0;
    b->head[left] = SIZE_MAX;
    for (size_t k = 0; k < n; k++) {
        bool to_left = load_left <= load_right;
        append(b, to_left ? left : right, b->items[k]);
        *(to_left ? &load_left : &load_right) += b->key[b->items[k]];
    }
    measure(b, left, lengths, o);
    if (b->head[right] == SIZE_MAX) /* only if samples cost nothing */
        b->n--;
    else
        measure(b, right, lengths, o);
}

/* May stop below the target if all bins have one sample; rl_pack_plan then adds copies. */
static void split_for_workers(struct bins *b, const size_t *lengths, const struct rl_pack_options *o)
{
    size_t target = (b->n + o->n_workers - 1) / o->n_workers * o->n_workers;
    while (b->n < target) {
        size_t bin = bin_to_split(b), before = b->n;
        if (bin == before)
            return;
        split(b, bin, lengths, o);
        if (b->n == before)
            return;
    }
}

static void write_bins(const struct bins *b, struct rl_pack_plan *plan)
{
    size_t k = 0;
    plan->n_bins = b->n;
    for (size_t bin = 0; bin < b->n; bin++) {
        plan->bin_start[bin] = k;
        for (size_t i = b->head[bin]; i != SIZE_MAX; i = b->next[i])
            plan->order[k++] = i;
    }
    plan->bin_start[b->n] = k;
}

static size_t padding(size_t tokens, const struct rl_pack_options *o)
{
    return (o->pad_multiple - tokens % o->pad_multiple) % o->pad_multiple;
}

/*
 * Cost of a bin, with the padding counted in its last sample. Padding is computed like tokens,
 * within the attention of the last sample, so a bin with much padding is not cheap.
 */
static double padded_cost(size_t bin, const size_t *lengths, const struct rl_pack_options *o, const struct rl_pack_plan *plan)
{
    size_t tokens = 0;
    double sum = 0, squares = 0;
    for (size_t k = plan->bin_start[bin]; k < plan->bin_start[bin + 1]; k++)
        tokens += cut(lengths[plan->order[k]], o);
    for (size_t k = plan->bin_start[bin]; k < plan->bin_start[bin + 1]; k++) {
        bool last = k + 1 == plan->bin_start[bin + 1];
        double length = (double)(cut(lengths[plan->order[k]], o) + (last ? padding(tokens, o) : 0));
        sum += length;
        squares += length * length;
    }
    return cost(sum, squares, o);
}

/* Every array has room for one bin per sample, the largest possible number. */
static struct bins take_bins(struct rl_scratch *s, size_t n)
{
    struct bins b = {0};
    size_t **lists[] = {&b.head, &b.tail, &b.count, &b.next, &b.items, &b.spare};
    double **numbers[] = {&b.tokens, &b.cost, &b.key};
    for (size_t k = 0; k < sizeof lists / sizeof *lists; k++)
        *lists[k] = rl_scratch_take(s, n, sizeof **lists[k]);
    for (size_t k = 0; k < sizeof numbers / sizeof *numbers; k++)
        *numbers[k] = rl_scratch_take(s, n, sizeof **numbers[k]);
    return b;
}

enum rl_status rl_pack_plan(const size_t *lengths, size_t n, const struct rl_pack_options *options, struct rl_pack_plan *plan,
                            struct rl_workspace *ws, struct rl_error *err)
{
    RL_TRY(RL_NEED(err, {"plan", plan}));
    RL_TRY(check_options(options, err));
    /* Refuses an n so large that a size computed from it below could overflow. */
    if (n == 0 || n > SIZE_MAX / 64 - options->n_workers)
        return rl_fail(err, RL_EINVAL, "%zu samples cannot be packed", n);
    RL_TRY(RL_NEED(err, {"lengths", lengths}, {"plan.order", plan->order}, {"plan.bin_start", plan->bin_start},
                   {"plan.slots", plan->slots}));
    for (size_t i = 0; i < n; i++)
        if (lengths[i] == 0)
            return rl_fail(err, RL_EVALUE, "sample %zu has no tokens", i);
    struct rl_scratch s = rl_scratch_begin(ws);
    struct bins bins = take_bins(&s, n);
    struct rl_partition partition;
    rl_partition_take(&partition, &s, n + options->n_workers, options->n_workers);
    double *weight = rl_scratch_take(&s, n + options->n_workers, sizeof *weight);
    if (!rl_scratch_fits(&s))
        return rl_scratch_short(&s, err);
    first_fit(&bins, lengths, n, options);
    split_for_workers(&bins, lengths, options);
    write_bins(&bins, plan);
    plan->n_slots = (bins.n + options->n_workers - 1) / options->n_workers * options->n_workers;
    for (size_t i = 0; i < plan->n_slots; i++)
        /*
         * Slots beyond the bins are copies of bin 0 that train nothing: workers must take the same
         * number of steps, because otherwise their exchange of gradients would wait forever.
         */
        weight[i] = padded_cost(i < bins.n ? i : 0, lengths, options, plan);
    partition.n_items = plan->n_slots;
    partition.weight = weight;
    rl_partition_run(&partition, plan->slots);
    return RL_OK;
}

/* The bin of a slot; slots beyond the bins are copies of bin 0. */
static size_t bin_of(const struct rl_pack_plan *plan, size_t slot)
{
    return plan->slots[slot] < plan->n_bins ? plan->slots[slot] : 0;
}

size_t rl_pack_tokens(const size_t *lengths, const struct rl_pack_options *options, const struct rl_pack_plan *plan, size_t slot)
{
    size_t tokens = 0, bin = bin_of(plan, slot);
    for (size_t k = plan->bin_start[bin]; k < plan->bin_start[bin + 1]; k++)
        tokens += cut(lengths[plan->order[k]], options);
    return tokens + padding(tokens, options);
}

static void copy_stream(double *out, const double *values, double fill, size_t n)
{
    for (size_t t = 0; t < n; t++)
        out[t] = values ? values[t] : fill;
}

/*
 * A copy has unchanged tokens, so that the forward pass is valid, but trains nothing: mask and
 * advantages are 0.
 */
static void put_sample(const struct rl_pack_sample *s, size_t index, size_t n, bool trains, struct rl_pack_micro_batch *out)
{
    size_t at = out->n_tokens;
    for (size_t t = 0; t < n; t++) {
        out->token_ids[at + t] = s->token_ids[t];
        out->position_ids[at + t] = (int64_t)t;
        out->mask[at + t] = trains && s->mask[t];
        out->sample[at + t] = index;
    }
    copy_stream(out->advantages + at, trains ? s->advantages : NULL, 0, n);
    copy_stream(out->logprobs + at, s->logprobs, 0, n);
    copy_stream(out->temperatures + at, s->temperatures, 1, n);
    if (out->has_ref_logprobs)
        copy_stream(out->ref_logprobs + at, s->ref_logprobs, 0, n);
    if (out->has_rl_weights)
        copy_stream(out->rl_weights + at, s->rl_weights, 1, n);
    if (out->has_ce_weights)
        copy_stream(out->ce_weights + at, s->ce_weights, 0, n);
    if (out->has_ref_kl_weights)
        copy_stream(out->ref_kl_weights + at, s->ref_kl_weights, 0, n);
    out->lengths[out->n_samples++] = n;
    out->n_tokens += n;
}

/*
 * Padding is part of the last sample, because attention kernels take lengths that add up to the
 * batch. Its positions start again at 0, so that no position exceeds the model's limit. Its
 * temperature is 1, because logits are divided by it.
 */
static void put_padding(size_t n, struct rl_pack_micro_batch *out)
{
    size_t at = out->n_tokens;
    double *streams[] = {out->advantages,
                         out->logprobs,
                         out->has_ref_logprobs ? out->ref_logprobs : NULL,
                         out->has_rl_weights ? out->rl_weights : NULL,
                         out->has_ce_weights ? out->ce_weights : NULL,
                         out->has_ref_kl_weights ? out->ref_kl_weights : NULL};
    for (size_t t = 0; t < n; t++) {
        out->token_ids[at + t] = 1;
        out->position_ids[at + t] = (int64_t)t;
        out->mask[at + t] = 0;
        out->sample[at + t] = SIZE_MAX;
    }
    for (size_t k = 0; k < sizeof streams / sizeof *streams; k++)
        if (streams[k])
            copy_stream(streams[k] + at, NULL, 0, n);
    copy_stream(out->temperatures + at, NULL, 1, n);
    out->lengths[out->n_samples - 1] += n;
    out->n_tokens += n;
}

void rl_pack_fill(const struct rl_pack_sample *samples, const struct rl_pack_options *options, const struct rl_pack_plan *plan,
                  size_t slot, struct rl_pack_micro_batch *out)
{
    size_t bin = bin_of(plan, slot);
    bool trains = plan->slots[slot] < plan->n_bins;
    const size_t *first = plan->order + plan->bin_start[bin];
    const size_t *last = plan->order + plan->bin_start[bin + 1];
    out->n_samples = out->n_tokens = 0;
    /*
     * A stream exists for the whole micro batch as soon as one sample has it, because tensors have
     * no holes. The other samples get the neutral value.
     */
    out->has_ref_logprobs = out->has_rl_weights = out->has_ce_weights = out->has_ref_kl_weights = false;
    for (const size_t *i = first; i < last; i++) {
        out->has_ref_logprobs |= samples[*i].ref_logprobs != NULL;
        out->has_rl_weights |= trains && samples[*i].rl_weights;
        out->has_ce_weights |= trains && samples[*i].ce_weights;
        out->has_ref_kl_weights |= trains && samples[*i].ref_kl_weights;
    }
    for (const size_t *i = first; i < last; i++)
        put_sample(&samples[*i], *i, cut(samples[*i].n_tokens, options), trains, out);
    put_padding(padding(out->n_tokens, options), out);
}
