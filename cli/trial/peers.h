/*
 * peers.h: processes of this machine that a trial cannot go on without: the other ranks of a run. They
 * are no children of the watcher; the kernel tells their end by a descriptor (Linux 5.3; before that
 * nobody is watched here, and a lost rank shows as what its launcher then does).
 */
#ifndef CLI_PEERS_H
#define CLI_PEERS_H

#include <stdbool.h>
#include <stddef.h>

#include <jansson.h>

struct peers {
    json_t *list; /* [{"name", "pid" or "host"}], NULL: none */
    int *fds;     /* of each, -1: not watched */
    int news;     /* readable when one has ended; -1: none */
    bool elsewhere; /* some are on other machines: nothing is known of those */
    int gone;     /* one that had ended before it was looked for, -1: none */
};

void peers_init(struct peers *peers);

/* Watch those of a line of event_lines.h; once. */
void peers_watch(struct peers *peers, const json_t *list);

/* Whether one has ended, and which ("rank 2 (process 4711)"). */
bool peers_lost(const struct peers *peers, char *text, size_t size);

void peers_release(struct peers *peers);

#endif
