-- 0008_copy: what moves between stores: wp_copy.
-- Times are microseconds UTC since 1970. Names compare byte for byte. Each statement can be run again: DDL commits.

-- One row, from the first copy on: which store this is.
CREATE TABLE IF NOT EXISTS {copy_self} (
    one TINYINT PRIMARY KEY CHECK (one = 1),
    id BINARY(16) NOT NULL
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin;

-- Messages on their way to another store, or from it; their work rows are held meanwhile. peer: that store.
-- status: 0 unfinished, 3 dead; when and by whom it was given up.
CREATE TABLE IF NOT EXISTS {copy_item} (
    queue VARCHAR(16) NOT NULL,
    seq BIGINT NOT NULL,
    peer BINARY(16) NOT NULL,
    status TINYINT NOT NULL,
    finished_at BIGINT,
    finished_by TEXT,
    PRIMARY KEY (queue, seq)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin;
