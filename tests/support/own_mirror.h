/* own_mirror.h: makes a mirror that a test wrote count as one that this user's commands made. Otherwise its bytes are not read. */
#ifndef SUPPORT_OWN_MIRROR_H
#define SUPPORT_OWN_MIRROR_H

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "files/own_record.h"

/* Records lineage.db in the directory, and the files of SQLite beside it. Aborts if a record cannot be written. */
static inline void record_own_mirror(const char *dir)
{
    static const char *const files[][2] = {{"lineage.db", ""}, {"lineage.db-wal", "-wal"}, {"lineage.db-journal", "-journal"}};
    struct buf base = {0};
    struct fs_identity id;
    int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0 || own_record_base(&base, fd, NULL) != LINEAGE_OK)
        abort();
    for (size_t i = 0; i < 3; i++)
        if (fs_identify(fd, files[i][0], &id) == 0 && own_record_write(base.data, files[i][1], &id, NULL) != LINEAGE_OK)
            abort();
    buf_release(&base);
    close(fd);
}

#endif
