/*
 * partition.c: see partition.h. States are merged in O(V log V); ties are broken in the order of
 * the definition.
 *
 * The loads become most equal if large differences are evened out first. A state holds one set of
 * items per part. States are joined as a whole, the largest set of one with the smallest set of the
 * other, so that all parts keep the same number of items.
 */
#include "pack/partition.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

#define NO_ITEM SIZE_MAX

void rl_partition_take(struct rl_partition *p, struct rl_scratch *s, size_t n_items, size_t n_parts)
{
    *p = (struct rl_partition){.n_items = n_items, .n_parts = n_parts};
    p->rank = rl_scratch_take(s, n_items, sizeof *p->rank);
    p->next = rl_scratch_take(s, n_items, sizeof *p->next);
    p->spare = rl_scratch_take(s, n_items, sizeof *p->spare);
    p->set = rl_scratch_take(s, n_items, sizeof *p->set);
    p->load = rl_scratch_take(s, n_parts, sizeof *p->load);
}

/*
 * This is a merge sort, because ties in the definition require a stable sort, and it needs no
 * memory of its own.
 */
void rl_sort_by(size_t *items, size_t *spare, size_t n, const double *key, double sign)
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
 * The most extreme load of all parts except two; minus or plus infinity if there are no other
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

/*
 * Differencing (Karmarkar and Karp 1982) finds a good start; swaps then even out the loads that
 * remain.
 */
void rl_partition_run(struct rl_partition *p, size_t *items)
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
