-- 0013_pause: which topics are paused, and what operators did.

-- queue: outbox, inbox, timers or jobs.
CREATE TABLE {paused_topic} (
    queue TEXT NOT NULL CHECK (typeof(queue) = 'text'),
    topic TEXT NOT NULL CHECK (typeof(topic) = 'text'),
    paused_at INTEGER NOT NULL CHECK (typeof(paused_at) = 'integer'),
    paused_by TEXT CHECK (typeof(paused_by) IN ('text', 'null')),
    PRIMARY KEY (queue, topic)
) WITHOUT ROWID;

-- One row for each change that somebody made by hand. subject: a topic, a job's name or a message's id; null: several.
-- detail: a JSON object.
CREATE TABLE {audit} (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    at INTEGER NOT NULL CHECK (typeof(at) = 'integer'),
    actor TEXT CHECK (typeof(actor) IN ('text', 'null')),
    action TEXT NOT NULL CHECK (typeof(action) = 'text'),
    queue TEXT CHECK (typeof(queue) IN ('text', 'null')),
    subject TEXT CHECK (typeof(subject) IN ('text', 'null')),
    detail TEXT CHECK (typeof(detail) IN ('text', 'null'))
);
