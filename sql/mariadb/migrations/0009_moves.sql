-- 0009_moves: which way things move between stores, and pauses that came.
-- Times are microseconds UTC since 1970. Names compare byte for byte. Each statement can be run again: DDL commits.

-- arrived: 1 if it came from that store, 0 if it is on its way there.
ALTER TABLE {copy_item} ADD COLUMN IF NOT EXISTS arrived TINYINT NOT NULL DEFAULT 0;

-- Pauses that came from another store. They come once.
CREATE TABLE IF NOT EXISTS {copy_pause} (
    peer BINARY(16) NOT NULL,
    queue VARCHAR(16) NOT NULL,
    topic VARCHAR(255) NOT NULL,
    PRIMARY KEY (peer, queue, topic)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin;
