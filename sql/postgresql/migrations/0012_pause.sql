-- 0012_pause: which topics are paused, and what operators did.
-- Times are microseconds UTC since 1970. Names compare byte for byte (collation "C").

-- queue: outbox, inbox, timers or jobs.
CREATE TABLE {paused_topic} (
    queue text COLLATE "C" NOT NULL,
    topic text COLLATE "C" NOT NULL,
    paused_at bigint NOT NULL,
    paused_by text COLLATE "C",
    PRIMARY KEY (queue, topic)
);

-- One row for each change that somebody made by hand. subject: a topic, a job's name or a message's id; null: several.
-- detail: a JSON object.
CREATE TABLE {audit} (
    seq bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    at bigint NOT NULL,
    actor text COLLATE "C",
    action text COLLATE "C" NOT NULL,
    queue text COLLATE "C",
    subject text COLLATE "C",
    detail text
);
