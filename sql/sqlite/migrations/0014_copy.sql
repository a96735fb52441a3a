-- 0014_copy: what moves between stores: wp_copy.

-- One row, from the first copy on: which store this is.
CREATE TABLE {copy_self} (
    one INTEGER PRIMARY KEY CHECK (one = 1),
    id BLOB NOT NULL CHECK (typeof(id) = 'blob' AND length(id) = 16)
);

-- Messages on their way to another store, or from it; their work rows are held meanwhile. peer: that store.
-- status: 0 unfinished, 3 dead; when and by whom it was given up.
CREATE TABLE {copy_item} (
    queue TEXT NOT NULL CHECK (typeof(queue) = 'text'),
    seq INTEGER NOT NULL CHECK (typeof(seq) = 'integer'),
    peer BLOB NOT NULL CHECK (typeof(peer) = 'blob' AND length(peer) = 16),
    status INTEGER NOT NULL CHECK (status IN (0, 3)),
    finished_at INTEGER CHECK (typeof(finished_at) IN ('integer', 'null')),
    finished_by TEXT CHECK (typeof(finished_by) IN ('text', 'null')),
    PRIMARY KEY (queue, seq)
) WITHOUT ROWID;
