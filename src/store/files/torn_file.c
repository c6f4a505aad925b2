#include "torn_file.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "fs.h"
#include "places.h"

/* Uses O_EXCL and a new number, because a file from an earlier crash also contains a record that must be kept. An
 * incomplete copy is removed again; otherwise `restore` would mistake it for the record. */
static enum lineage_status save(int dir_fd, const char *place, const char *bytes, size_t length, char name[64],
                                struct lineage_error *err)
{
    for (unsigned n = 1;; n++) {
        place_torn(name, n);
        int fd = fs_open(dir_fd, name, O_WRONLY | O_CREAT | O_EXCL, 0666);
        if (fd < 0 && errno == EEXIST)
            continue;
        bool saved = fd >= 0 && fs_write_all(fd, bytes, length) == 0 && fs_sync(fd) == 0;
        if (!saved)
            store_fail_errno(err, LINEAGE_EIO, "cannot save the torn record of %s to %s", place, name);
        if (fd >= 0)
            close(fd);
        if (!saved && fd >= 0)
            fs_unlink(dir_fd, name);
        return saved ? LINEAGE_OK : LINEAGE_EIO;
    }
}

enum lineage_status torn_save(int dir_fd, const char *place, const char *bytes, size_t length, char name[64],
                              struct lineage_error *err)
{
    enum lineage_status status = save(dir_fd, place, bytes, length, name, err);
    if (status == LINEAGE_OK && fs_sync_dir(dir_fd) != 0)
        status = store_fail_errno(err, LINEAGE_EIO, "cannot sync the directory of %s", place);
    return status;
}
