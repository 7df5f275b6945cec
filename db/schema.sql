-- SPDX-License-Identifier: MIT
-- The trace database of lull, version 1 (PRAGMA user_version). It is an interface: people query it
-- with sqlite3. A published file never changes; every writer publishes a new one in its place.
-- Times are nanoseconds, pages are 4096 bytes, disk positions are bytes from the start of the device.
-- Text is raw bytes as the kernel gave them: mostly UTF-8, but a path may be anything without NUL.

PRAGMA application_id = 1280658508;  -- the letters LULL
PRAGMA user_version = 1;             -- the version of this schema

-- One recorded run: a boot of the machine, or a command (`lull collect -- CMD`).
CREATE TABLE boots (
    id             INTEGER PRIMARY KEY,          -- grows with time: the largest is the last run
    boot_id        TEXT    NOT NULL,             -- /proc/sys/kernel/random/boot_id
    kernel         TEXT    NOT NULL,             -- uname -r
    machine        TEXT    NOT NULL,             -- uname -m
    command        TEXT    NOT NULL DEFAULT '',  -- the recorded command; '' for a boot
    kernel_cmdline TEXT    NOT NULL DEFAULT '',  -- /proc/cmdline
    started_ns     INTEGER NOT NULL,             -- wall clock at the start, since the epoch
    duration_ns    INTEGER NOT NULL,             -- how long was recorded
    rung           TEXT    NOT NULL,             -- how pages were seen: events, fentry, add, residency
    limits         TEXT    NOT NULL DEFAULT '',  -- what that rung could not tell, a line each
    lost_blocks    INTEGER NOT NULL DEFAULT 0,   -- 128 KiB blocks that found the kernel's map full
    lost_names     INTEGER NOT NULL DEFAULT 0,   -- files whose name record was lost
    lost_processes INTEGER NOT NULL DEFAULT 0,   -- processes whose record was lost
    lost_opens     INTEGER NOT NULL DEFAULT 0,   -- fanotify queue overflows
    lost_probes    INTEGER NOT NULL DEFAULT 0,   -- probes of the rung that could not be attached
    complete       INTEGER NOT NULL GENERATED ALWAYS AS (
        lost_blocks + lost_names + lost_processes + lost_opens + lost_probes = 0) VIRTUAL
) STRICT;

-- One file system, known by its UUID; the numbers and names are those of the last run.
CREATE TABLE devices (
    id          INTEGER PRIMARY KEY,
    fs_uuid     TEXT    NOT NULL,             -- as blkid prints it; '' if it has none
    fs_type     TEXT    NOT NULL,             -- ext4, xfs, btrfs, ...
    mount_point TEXT    NOT NULL,             -- where it was mounted
    source      TEXT    NOT NULL DEFAULT '',  -- block device as mounted; a hint, not an identity
    major       INTEGER NOT NULL,             -- device number then; changes between boots
    minor       INTEGER NOT NULL,
    UNIQUE (fs_uuid, fs_type, mount_point)
) STRICT;

-- A file in one state (inode, size, mtime): a replaced or changed file is a new row.
CREATE TABLE files (
    id         INTEGER PRIMARY KEY,
    device     INTEGER NOT NULL REFERENCES devices (id),
    kind       INTEGER NOT NULL CHECK (kind BETWEEN 0 AND 3), -- 0 regular file, 1 block device
                                                 -- (metadata), 2 directory, 3 inode only
    path       TEXT    NOT NULL,                 -- inside the file system, from '/'; raw bytes, maybe
                                                 -- not UTF-8; '' for a block device or if unknown
    inode      INTEGER NOT NULL,                 -- from 2^63 on it is negative: add 2^64
    generation INTEGER NOT NULL DEFAULT 0,       -- inode generation, 0 if unknown
    size       INTEGER NOT NULL,                 -- bytes
    mtime_ns   INTEGER NOT NULL,                 -- since the epoch
    deleted    INTEGER NOT NULL DEFAULT 0,       -- 1: gone when the last run that used it ended
    UNIQUE (device, kind, inode, generation, path, size, mtime_ns)
) STRICT;

-- Who read. One row for each program that a process ran (an exec makes a new one).
CREATE TABLE processes (
    id           INTEGER PRIMARY KEY,
    boot         INTEGER NOT NULL REFERENCES boots (id) ON DELETE CASCADE,
    pid          INTEGER NOT NULL,
    parent_pid   INTEGER NOT NULL,
    comm         TEXT    NOT NULL,
    executable   TEXT    NOT NULL DEFAULT '',    -- path in its file system; '' for kernel threads
    cgroup       TEXT    NOT NULL DEFAULT '',    -- path in the unified hierarchy
    unit         TEXT    NOT NULL DEFAULT '',    -- systemd unit of that cgroup
    first_use_ns INTEGER NOT NULL                -- since the start of the run
) STRICT;
CREATE INDEX processes_boot ON processes (boot);

-- What was read: runs of pages of one file, with the same use, source and first user.
CREATE TABLE reads (
    boot          INTEGER NOT NULL REFERENCES boots (id) ON DELETE CASCADE,
    file          INTEGER NOT NULL REFERENCES files (id),
    first_page    INTEGER NOT NULL CHECK (first_page >= 0),
    pages         INTEGER NOT NULL CHECK (pages > 0),
    use           INTEGER NOT NULL CHECK (use BETWEEN 0 AND 2),    -- 0 demanded, 1 mapped by
                                            -- fault-around (use unknown), 2 cached (use unknown)
    source        INTEGER NOT NULL CHECK (source BETWEEN 0 AND 4), -- 0 unknown, 1 miss, 2 kernel
                                            -- readahead, 3 in memory before, 4 read by lull
    first_use_ns  INTEGER NOT NULL,         -- since the start of the run
    process       INTEGER REFERENCES processes (id) ON DELETE SET NULL, -- the first user
    disk_position INTEGER,                  -- bytes on the device; NULL if the file system hides it
    PRIMARY KEY (boot, file, first_page)
) STRICT, WITHOUT ROWID;
CREATE INDEX reads_file ON reads (file);

-- Files of a run without any read: directories and inodes that were looked up.
CREATE TABLE lookups (
    boot INTEGER NOT NULL REFERENCES boots (id) ON DELETE CASCADE,
    file INTEGER NOT NULL REFERENCES files (id),
    PRIMARY KEY (boot, file)
) STRICT, WITHOUT ROWID;
CREATE INDEX lookups_file ON lookups (file);

-- What a replay did for a boot, and what came of it. Pages unless said otherwise.
CREATE TABLE accounts (
    boot               INTEGER PRIMARY KEY REFERENCES boots (id) ON DELETE CASCADE,
    policy             TEXT    NOT NULL,            -- off, lulls, head-start:BYTES
    asked              INTEGER NOT NULL DEFAULT 0,  -- pages the plan asked for
    hit                INTEGER NOT NULL DEFAULT 0,  -- in memory before they were used
    late               INTEGER NOT NULL DEFAULT 0,  -- used while the replay was reading them
    spurious           INTEGER NOT NULL DEFAULT 0,  -- read ahead and never used
    stolen             INTEGER NOT NULL DEFAULT 0,  -- evicted before they were used
    overtaken          INTEGER NOT NULL DEFAULT 0,  -- read by the foreground first
    foreground_lost_ns INTEGER NOT NULL DEFAULT 0   -- estimate of foreground time lost
) STRICT;

-- A recorded or imported boot chart.
CREATE TABLE charts (
    boot   INTEGER NOT NULL REFERENCES boots (id) ON DELETE CASCADE,
    format TEXT    NOT NULL,                        -- name of the format of `data`
    data   BLOB    NOT NULL,
    PRIMARY KEY (boot, format)
) STRICT;
