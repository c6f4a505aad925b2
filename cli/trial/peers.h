/*
 * peers.h: processes without which a trial cannot continue: the other ranks of its run. They are not children of the
 * process that watches the trial; a pidfd tells when one ends (Linux 5.3). Before that none is watched, and a lost
 * rank shows only in what its launcher does then.
 */
#ifndef CLI_PEERS_H
#define CLI_PEERS_H

#include <stdbool.h>
#include <stddef.h>

#include <jansson.h>

struct peers {
    json_t *list; /* [{"name", "pid" or "host"}]; NULL: none */
    int *fds;     /* pidfd of each; -1: not watched */
    int news;     /* readable when one has ended; -1: none is watched */
    bool elsewhere; /* some are on other machines and cannot be watched */
    int gone;     /* index of one that had ended before it was opened; -1: none */
};

void peers_init(struct peers *peers);

/* Watches the peers of an event (metrics/event_lines.h); only the first call has an effect. */
void peers_watch(struct peers *peers, const json_t *list);

/* Whether one has ended; writes which one ("rank 2 (process 4711) is gone"). */
bool peers_lost(const struct peers *peers, char *text, size_t size);

void peers_release(struct peers *peers);

#endif
