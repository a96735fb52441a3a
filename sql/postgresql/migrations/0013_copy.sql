-- 0013_copy: what moves between stores: wp_copy.
-- Times are microseconds UTC since 1970. Names compare byte for byte (collation "C").

-- One row, from the first copy on: which store this is.
CREATE TABLE {copy_self} (
    one smallint PRIMARY KEY CHECK (one = 1),
    id uuid NOT NULL
);

-- Messages on their way to another store, or from it; their work rows are held meanwhile. peer: that store.
-- status: 0 unfinished, 3 dead; when and by whom it was given up.
CREATE TABLE {copy_item} (
    queue text COLLATE "C" NOT NULL,
    seq bigint NOT NULL,
    peer uuid NOT NULL,
    status smallint NOT NULL,
    finished_at bigint,
    finished_by text,
    PRIMARY KEY (queue, seq)
);
