/*
 * sqlite_faults.c: wraps the default VFS. Each method of a file counts down, fails if it is its turn, and otherwise
 * calls the real method.
 */
#include "sqlite_faults.h"

#include <sqlite3.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

#include "support/last_words.h"

struct file {
    sqlite3_file base;
    sqlite3_io_methods methods;
    sqlite3_int64 real[]; /* the wrapped sqlite3_file, which SQLite aligns to 8 bytes */
};

static sqlite3_vfs *real_vfs, shim;
static unsigned countdown;
static bool disk_full, kill_process, was_hit;
static void (*watcher)(void);

void sqlite_faults_arm(unsigned n, bool full, bool kill)
{
    countdown = n;
    disk_full = full;
    kill_process = kill;
    was_hit = false;
}

void sqlite_faults_watch(void (*call)(void))
{
    watcher = call;
}

bool sqlite_faults_hit(void)
{
    return was_hit;
}

static bool strikes(void)
{
    if (watcher)
        watcher();
    if (!countdown || --countdown)
        return false;
    was_hit = true;
    if (kill_process)
        leave(9);
    return true;
}

static sqlite3_file *real_of(sqlite3_file *file)
{
    return (sqlite3_file *)(void *)((struct file *)(void *)file)->real;
}

static int fault_write(sqlite3_file *file, const void *data, int n, sqlite3_int64 at)
{
    if (strikes())
        return disk_full ? SQLITE_FULL : SQLITE_IOERR_WRITE;
    return real_of(file)->pMethods->xWrite(real_of(file), data, n, at);
}

static int fault_sync(sqlite3_file *file, int flags)
{
    return strikes() ? SQLITE_IOERR_FSYNC : real_of(file)->pMethods->xSync(real_of(file), flags);
}

static int fault_truncate(sqlite3_file *file, sqlite3_int64 size)
{
    return strikes() ? SQLITE_IOERR_TRUNCATE : real_of(file)->pMethods->xTruncate(real_of(file), size);
}

static int fault_lock(sqlite3_file *file, int lock)
{
    return strikes() ? SQLITE_BUSY : real_of(file)->pMethods->xLock(real_of(file), lock);
}

static int pass_close(sqlite3_file *f)
{
    return real_of(f)->pMethods->xClose(real_of(f));
}
static int pass_read(sqlite3_file *f, void *d, int n, sqlite3_int64 at)
{
    return real_of(f)->pMethods->xRead(real_of(f), d, n, at);
}
static int pass_size(sqlite3_file *f, sqlite3_int64 *s)
{
    return real_of(f)->pMethods->xFileSize(real_of(f), s);
}
static int pass_unlock(sqlite3_file *f, int l)
{
    return real_of(f)->pMethods->xUnlock(real_of(f), l);
}
static int pass_reserved(sqlite3_file *f, int *r)
{
    return real_of(f)->pMethods->xCheckReservedLock(real_of(f), r);
}
static int pass_control(sqlite3_file *f, int op, void *a)
{
    return real_of(f)->pMethods->xFileControl(real_of(f), op, a);
}
static int pass_sector(sqlite3_file *f)
{
    return real_of(f)->pMethods->xSectorSize(real_of(f));
}
static int pass_device(sqlite3_file *f)
{
    return real_of(f)->pMethods->xDeviceCharacteristics(real_of(f));
}
static int pass_map(sqlite3_file *f, int p, int n, int e, void volatile **m)
{
    return real_of(f)->pMethods->xShmMap(real_of(f), p, n, e, m);
}
static int pass_shm_lock(sqlite3_file *f, int o, int n, int flags)
{
    return real_of(f)->pMethods->xShmLock(real_of(f), o, n, flags);
}
static void pass_barrier(sqlite3_file *f)
{
    real_of(f)->pMethods->xShmBarrier(real_of(f));
}
static int pass_unmap(sqlite3_file *f, int d)
{
    return real_of(f)->pMethods->xShmUnmap(real_of(f), d);
}

static int fault_open(sqlite3_vfs *vfs, const char *name, sqlite3_file *out, int flags, int *out_flags)
{
    struct file *file = (struct file *)(void *)out;
    (void)vfs;
    out->pMethods = NULL;
    if (strikes())
        return SQLITE_CANTOPEN;
    int code = real_vfs->xOpen(real_vfs, name, real_of(out), flags, out_flags);
    if (code != SQLITE_OK)
        return code;
    file->methods = (sqlite3_io_methods){.iVersion = 2,
                                         .xClose = pass_close,
                                         .xRead = pass_read,
                                         .xWrite = fault_write,
                                         .xTruncate = fault_truncate,
                                         .xSync = fault_sync,
                                         .xFileSize = pass_size,
                                         .xLock = fault_lock,
                                         .xUnlock = pass_unlock,
                                         .xCheckReservedLock = pass_reserved,
                                         .xFileControl = pass_control,
                                         .xSectorSize = pass_sector,
                                         .xDeviceCharacteristics = pass_device,
                                         .xShmMap = pass_map,
                                         .xShmLock = pass_shm_lock,
                                         .xShmBarrier = pass_barrier,
                                         .xShmUnmap = pass_unmap};
    out->pMethods = &file->methods;
    return SQLITE_OK;
}

void sqlite_faults_install(void)
{
    real_vfs = sqlite3_vfs_find(NULL);
    shim = *real_vfs;
    shim.zName = "faults";
    shim.szOsFile = (int)sizeof(struct file) + real_vfs->szOsFile;
    shim.xOpen = fault_open;
    sqlite3_vfs_register(&shim, 1);
}
