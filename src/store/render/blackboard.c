/* blackboard.c: the three files, each replaced atomically. */
#include "blackboard.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "../log/fs.h"

/* NUL bytes of cells stand as C0 80 until here. */
static enum lineage_status write_file(int dir_fd, const char *name, const struct buf *text, struct lineage_error *err)
{
    struct buf raw = {0};
    if (text->failed)
        return store_fail(err, LINEAGE_ENOMEM, "out of memory");
    add_raw(&raw, text->data);
    enum lineage_status status = raw.failed ? store_fail(err, LINEAGE_ENOMEM, "out of memory")
                                            : fs_replace(dir_fd, name, raw.data, raw.length, true, err);
    buf_release(&raw);
    return status;
}

static enum lineage_status write_leaderboard(int dir_fd, const struct blackboard *bb, struct lineage_error *err)
{
    struct buf out = {0};
    bb_leaderboard(&out, bb);
    enum lineage_status status = write_file(dir_fd, "LEADERBOARD.md", &out, err);
    buf_release(&out);
    return status;
}

static enum lineage_status write_tree(int dir_fd, const struct blackboard *bb, struct lineage_error *err)
{
    struct buf out = {0};
    out.failed = !bb_tree(&out, bb);
    enum lineage_status status = write_file(dir_fd, "tree.tsv", &out, err);
    buf_release(&out);
    return status;
}

static enum lineage_status write_knowledge(int dir_fd, const struct blackboard *bb, struct lineage_error *err)
{
    struct buf out = {0}, old = {0};
    enum lineage_status status = fs_read_file(dir_fd, "KNOWLEDGE.md", &old, err);
    if (status == LINEAGE_OK || status == LINEAGE_ENOTFOUND) {
        out.failed = !bb_knowledge(&out, bb, old.data, old.length);
        status = write_file(dir_fd, "KNOWLEDGE.md", &out, err);
    }
    buf_release(&out);
    buf_release(&old);
    return status;
}

static enum lineage_status write_all(const char *output_dir, const struct blackboard *bb, struct lineage_error *err)
{
    if (fs_mkdir(AT_FDCWD, output_dir) != 0)
        return store_fail_errno(err, LINEAGE_EIO, "cannot make the directory %s", output_dir);
    int fd = fs_open(AT_FDCWD, output_dir, O_RDONLY | O_DIRECTORY, 0);
    if (fd < 0)
        return store_fail_errno(err, LINEAGE_EIO, "cannot open the directory %s", output_dir);
    enum lineage_status status = write_leaderboard(fd, bb, err);
    if (status == LINEAGE_OK)
        status = write_tree(fd, bb, err);
    if (status == LINEAGE_OK)
        status = write_knowledge(fd, bb, err);
    fs_close(fd);
    return status;
}

enum lineage_status lineage_render_blackboard(struct lineage_store *store, const char *output_dir,
                                              const struct lineage_blackboard_options *options,
                                              struct lineage_error *err)
{
    static const struct lineage_blackboard_options defaults;
    struct blackboard bb = {0};
    struct buf tree_path = {0};
    if (!options)
        options = &defaults;
    buf_printf(&tree_path, "%s/tree.tsv", output_dir);
    enum lineage_status status = mirror_sync(store->mirror, err);
    if (status == LINEAGE_OK)
        status = bb_load(&bb, store, options, err);
    bb.tree_path = options->tree_path ? options->tree_path : tree_path.data;
    if (status == LINEAGE_OK && tree_path.failed)
        status = store_fail(err, LINEAGE_ENOMEM, "out of memory");
    if (status == LINEAGE_OK)
        status = write_all(output_dir, &bb, err);
    bb_release(&bb);
    buf_release(&tree_path);
    return status;
}
