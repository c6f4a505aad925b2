/* file_pool.h: stores equal files of a store's provenance once. */
#pragma once

/*
 * Makes the file `path` and an equal file of the directory `pool` one file with two names, or adds it to the pool if there is
 * none. Equal means the same bytes and the same permissions. scratch is a directory on the same file system that no other
 * process uses. A failure is harmless: the file then stays a copy. pool NULL: does nothing.
 *
 * Nothing removes entries of the pool. An entry whose link count is 1 belongs to no trial any more and may be removed,
 * and so may the whole pool. A copy of the store that does not keep links has more bytes and the same files.
 */
void file_pool_share(const char *pool, const char *path, const char *scratch);
