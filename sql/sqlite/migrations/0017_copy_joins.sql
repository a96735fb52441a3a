-- 0017_copy_joins: joins on their way to another store, or from it.

-- arrived: 0: it goes there; seq is its number, and it stays a join here until it is deleted. 1: it came from there, and is
-- none here until it is let go: all that is known of it is in these three tables.
CREATE TABLE {copy_join} (
    id BLOB PRIMARY KEY CHECK (typeof(id) = 'blob' AND length(id) = 16),
    peer BLOB NOT NULL CHECK (typeof(peer) = 'blob' AND length(peer) = 16),
    arrived INTEGER NOT NULL CHECK (arrived IN (0, 1)),
    seq INTEGER CHECK (typeof(seq) IN ('integer', 'null')),
    status INTEGER CHECK (typeof(status) IN ('integer', 'null')),
    expected INTEGER CHECK (typeof(expected) IN ('integer', 'null')),
    completed INTEGER CHECK (typeof(completed) IN ('integer', 'null')),
    failed INTEGER CHECK (typeof(failed) IN ('integer', 'null')),
    fail_if_any INTEGER CHECK (typeof(fail_if_any) IN ('integer', 'null')),
    grouping_key TEXT CHECK (typeof(grouping_key) IN ('text', 'null')),
    metadata TEXT CHECK (typeof(metadata) IN ('text', 'null')),
    created_at INTEGER CHECK (typeof(created_at) IN ('integer', 'null')),
    deadline_at INTEGER CHECK (typeof(deadline_at) IN ('integer', 'null')),
    ended_at INTEGER CHECK (typeof(ended_at) IN ('integer', 'null')),
    reason TEXT CHECK (typeof(reason) IN ('text', 'null')),
    CHECK (arrived = 1 OR seq IS NOT NULL)
) WITHOUT ROWID;
CREATE INDEX {copy_join_peer} ON {copy_join} (peer, arrived);

CREATE TABLE {copy_join_next} (
    id BLOB NOT NULL CHECK (typeof(id) = 'blob' AND length(id) = 16),
    status INTEGER NOT NULL CHECK (status IN (1, 2)),
    next_id BLOB NOT NULL CHECK (typeof(next_id) = 'blob' AND length(next_id) = 16),
    topic TEXT NOT NULL CHECK (typeof(topic) = 'text'),
    payload TEXT NOT NULL CHECK (typeof(payload) = 'text'),
    headers TEXT CHECK (typeof(headers) IN ('text', 'null')),
    correlation_id TEXT CHECK (typeof(correlation_id) IN ('text', 'null')),
    ordering_key TEXT CHECK (typeof(ordering_key) IN ('text', 'null')),
    PRIMARY KEY (id, status)
) WITHOUT ROWID;

-- status: how the member counted; 3: no member, but a message that waits for the join.
CREATE TABLE {copy_join_member} (
    id BLOB NOT NULL CHECK (typeof(id) = 'blob' AND length(id) = 16),
    place INTEGER NOT NULL CHECK (typeof(place) = 'integer'),
    message BLOB NOT NULL CHECK (typeof(message) = 'blob' AND length(message) = 16),
    status INTEGER NOT NULL CHECK (status IN (0, 1, 2, 3)),
    attached_at INTEGER NOT NULL CHECK (typeof(attached_at) = 'integer'),
    counted_at INTEGER CHECK (typeof(counted_at) IN ('integer', 'null')),
    PRIMARY KEY (id, place)
) WITHOUT ROWID;
