-- 0014_moves: which way things move between stores, and pauses that came.
-- Times are microseconds UTC since 1970. Names compare byte for byte (collation "C").

-- arrived: 1 if it came from that store, 0 if it is on its way there.
ALTER TABLE {copy_item} ADD COLUMN arrived smallint NOT NULL DEFAULT 0;

-- Pauses that came from another store. They come once.
CREATE TABLE {copy_pause} (
    peer uuid NOT NULL,
    queue text COLLATE "C" NOT NULL,
    topic text COLLATE "C" NOT NULL,
    PRIMARY KEY (peer, queue, topic)
);
