-- 0015_moves: which way things move between stores, and pauses that came.

-- arrived: 1 if it came from that store, 0 if it is on its way there.
ALTER TABLE {copy_item} ADD COLUMN arrived INTEGER NOT NULL DEFAULT 0 CHECK (arrived IN (0, 1));

-- Pauses that came from another store. They come once.
CREATE TABLE {copy_pause} (
    peer BLOB NOT NULL CHECK (typeof(peer) = 'blob' AND length(peer) = 16),
    queue TEXT NOT NULL CHECK (typeof(queue) = 'text'),
    topic TEXT NOT NULL CHECK (typeof(topic) = 'text'),
    PRIMARY KEY (peer, queue, topic)
) WITHOUT ROWID;
