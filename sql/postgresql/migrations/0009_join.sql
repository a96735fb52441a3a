-- 0009_join: joins, their members, and what is enqueued when they are over.
-- What stands between body and end is a function's text, as a literal.

CREATE SEQUENCE {join_seq};

-- One row a join. status: 0 open, 1 completed, 2 failed, 3 cancelled; it is over when that is not 0.
-- channel: on which workers are told that something was enqueued.
CREATE TABLE {join} (
    seq bigint PRIMARY KEY DEFAULT nextval({text:join_seq}),
    id uuid NOT NULL,
    status smallint NOT NULL,
    expected bigint NOT NULL CHECK (expected > 0),
    completed bigint NOT NULL,
    failed bigint NOT NULL,
    fail_if_any smallint NOT NULL,
    grouping_key text COLLATE "C",
    metadata text,
    created_at bigint NOT NULL,
    deadline_at bigint,
    ended_at bigint,
    reason text,
    channel text,
    CHECK (completed + failed <= expected)
) WITH (fillfactor = 50);
ALTER SEQUENCE {join_seq} OWNED BY {join}.seq;
CREATE UNIQUE INDEX {name:join_id} ON {join} (id);
CREATE INDEX {name:join_group} ON {join} (grouping_key, seq) WHERE grouping_key IS NOT NULL;
CREATE INDEX {name:join_deadline} ON {join} (deadline_at) WHERE status = 0 AND deadline_at IS NOT NULL;
CREATE INDEX {name:join_ended} ON {join} (ended_at) WHERE ended_at IS NOT NULL;

-- What is enqueued when a join is over with this status: 1 or 2. Its id is known from the start, and so it
-- cannot be there twice.
CREATE TABLE {join_next} (
    join_seq bigint NOT NULL,
    status smallint NOT NULL,
    id uuid NOT NULL,
    topic text COLLATE "C" NOT NULL,
    payload text NOT NULL,
    headers text,
    correlation_id text,
    ordering_key text COLLATE "C",
    PRIMARY KEY (join_seq, status)
);

-- One row for each message and join that it is a member of. status: 0 not counted, 1 completed, 2 failed.
CREATE TABLE {join_member} (
    join_seq bigint NOT NULL,
    seq bigint NOT NULL,
    id uuid NOT NULL,
    status smallint NOT NULL,
    attached_at bigint NOT NULL,
    counted_at bigint,
    PRIMARY KEY (join_seq, seq)
) WITH (fillfactor = 80);
CREATE INDEX {name:join_member_seq} ON {join_member} (seq);

-- The messages of the topic join.wait that wait for a join.
CREATE TABLE {join_wait} (
    join_seq bigint NOT NULL,
    seq bigint NOT NULL,
    PRIMARY KEY (join_seq, seq)
);

-- Count members as completed (1) or failed (2), and end the joins whose last one is among them; how many counted.
-- The joins are locked first, all in one order; what is read then is what is true.
CREATE FUNCTION {join_count}(joins bigint[], seqs bigint[], outcomes smallint[], now_us bigint) RETURNS bigint
LANGUAGE plpgsql SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS {body}
DECLARE
    counts bigint;
BEGIN
    PERFORM 1 FROM {join} AS j WHERE j.seq = ANY (joins) AND j.status = 0 ORDER BY j.seq FOR NO KEY UPDATE;
    WITH given AS (
        SELECT DISTINCT ON (u.join_seq, u.seq) u.join_seq, u.seq, u.outcome
        FROM unnest(joins, seqs, outcomes) AS u (join_seq, seq, outcome)
    ),
    ranked AS (
        SELECT m.join_seq, m.seq, g.outcome,
               row_number() OVER (PARTITION BY m.join_seq ORDER BY m.seq) AS place,
               j.expected - j.completed - j.failed AS places
        FROM given AS g
        JOIN {join_member} AS m ON m.join_seq = g.join_seq AND m.seq = g.seq AND m.status = 0
        JOIN {join} AS j ON j.seq = m.join_seq AND j.status = 0
    ),
    counted AS (
        UPDATE {join_member} AS m SET status = r.outcome, counted_at = now_us
        FROM ranked AS r
        WHERE m.join_seq = r.join_seq AND m.seq = r.seq AND r.place <= r.places
        RETURNING m.join_seq, m.status
    ),
    sums AS (
        SELECT c.join_seq, count(*) FILTER (WHERE c.status = 1) AS completed, count(*) FILTER (WHERE c.status = 2) AS failed
        FROM counted AS c GROUP BY c.join_seq
    ),
    added AS (
        UPDATE {join} AS j
        SET completed = j.completed + s.completed, failed = j.failed + s.failed,
            status = CASE WHEN j.completed + s.completed + j.failed + s.failed < j.expected THEN 0
                          WHEN j.fail_if_any = 1 AND j.failed + s.failed > 0 THEN 2 ELSE 1 END,
            ended_at = CASE WHEN j.completed + s.completed + j.failed + s.failed < j.expected THEN NULL ELSE now_us END
        FROM sums AS s
        WHERE j.seq = s.join_seq
        RETURNING s.completed + s.failed AS members
    )
    SELECT coalesce(sum(a.members), 0) INTO counts FROM added AS a;
    RETURN counts;
END
{end};

-- Messages that are finished count where they are members. Without members this is one look into an index for each.
CREATE FUNCTION {join_finished}() RETURNS trigger
LANGUAGE plpgsql SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS {body}
DECLARE
    joins bigint[];
    seqs bigint[];
    outcomes smallint[];
    ended_us bigint;
BEGIN
    SELECT array_agg(m.join_seq), array_agg(m.seq), array_agg(CAST(CASE e.status WHEN 2 THEN 1 ELSE 2 END AS smallint)), max(e.finished_at)
    INTO joins, seqs, outcomes, ended_us
    FROM ended AS e JOIN {join_member} AS m ON m.seq = e.seq
    WHERE m.status = 0;
    IF joins IS NOT NULL THEN
        PERFORM {join_count}(joins, seqs, outcomes, ended_us);
    END IF;
    RETURN NULL;
END
{end};
CREATE TRIGGER {name:outbox_joined} AFTER INSERT ON {outbox_finished}
REFERENCING NEW TABLE AS ended FOR EACH STATEMENT EXECUTE FUNCTION {join_finished}();

-- Messages that are finished already when they become members count at once. Their work is locked first: whoever
-- is finishing one waits and then sees the member, or is waited for and then seen. It is also written, so that a
-- transaction with an older snapshot fails instead of finishing it unseen; that of messages which this transaction
-- enqueued nobody else can see.
CREATE FUNCTION {join_attached}() RETURNS trigger
LANGUAGE plpgsql SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS {body}
DECLARE
    joins bigint[];
    seqs bigint[];
    outcomes smallint[];
    ended_us bigint;
BEGIN
    PERFORM 1 FROM {outbox_work} AS w
    WHERE w.seq IN (SELECT a.seq FROM added AS a) AND w.xmin <> CAST(pg_current_xact_id() AS xid)
    ORDER BY w.seq FOR UPDATE;
    UPDATE {outbox_work} AS w SET attempt = w.attempt
    WHERE w.seq IN (SELECT a.seq FROM added AS a) AND w.xmin <> CAST(pg_current_xact_id() AS xid);
    SELECT array_agg(a.join_seq), array_agg(a.seq), array_agg(CAST(CASE f.status WHEN 2 THEN 1 ELSE 2 END AS smallint)), max(a.attached_at)
    INTO joins, seqs, outcomes, ended_us
    FROM added AS a JOIN {outbox_finished} AS f ON f.seq = a.seq;
    IF joins IS NOT NULL THEN
        PERFORM {join_count}(joins, seqs, outcomes, ended_us);
    END IF;
    RETURN NULL;
END
{end};
CREATE TRIGGER {name:join_attached} AFTER INSERT ON {join_member}
REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION {join_attached}();

-- However a join ends: what is to be enqueued then is, and those that wait for it wait no more. A waiting message
-- that is locked is being claimed, and whoever claims it looks at the join.
CREATE FUNCTION {join_over}() RETURNS trigger
LANGUAGE plpgsql SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS {body}
BEGIN
    WITH m AS (
        INSERT INTO {outbox} (id, topic, payload, headers, correlation_id, ordering_key, created_at, due_at)
        SELECT n.id, n.topic, n.payload, n.headers, n.correlation_id, n.ordering_key, NEW.ended_at, NEW.ended_at
        FROM {join_next} AS n
        WHERE n.join_seq = NEW.seq AND n.status = NEW.status
        RETURNING seq, topic, due_at, ordering_key
    )
    INSERT INTO {outbox_work} (seq, topic, status, next_attempt_at, attempt, claim_number, ordering_key)
    SELECT m.seq, m.topic, 0, m.due_at, 0, 0, m.ordering_key FROM m;
    UPDATE {outbox_work} AS w SET next_attempt_at = NEW.ended_at
    WHERE w.seq IN (
        SELECT o.seq FROM {outbox_work} AS o
        WHERE o.seq IN (SELECT v.seq FROM {join_wait} AS v WHERE v.join_seq = NEW.seq) AND o.status = 0
        FOR UPDATE SKIP LOCKED);
    DELETE FROM {join_wait} AS v WHERE v.join_seq = NEW.seq;
    IF NEW.channel IS NOT NULL THEN
        PERFORM pg_notify(NEW.channel, '');
    END IF;
    RETURN NULL;
END
{end};
CREATE TRIGGER {name:join_over} AFTER UPDATE OF status ON {join}
FOR EACH ROW WHEN (OLD.status = 0 AND NEW.status <> 0) EXECUTE FUNCTION {join_over}();

-- What is known of a join goes with it.
CREATE FUNCTION {join_gone}() RETURNS trigger
LANGUAGE plpgsql SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS {body}
BEGIN
    DELETE FROM {join_next} AS n WHERE n.join_seq IN (SELECT g.seq FROM gone AS g);
    DELETE FROM {join_member} AS m WHERE m.join_seq IN (SELECT g.seq FROM gone AS g);
    DELETE FROM {join_wait} AS v WHERE v.join_seq IN (SELECT g.seq FROM gone AS g);
    RETURN NULL;
END
{end};
CREATE TRIGGER {name:join_gone} AFTER DELETE ON {join}
REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION {join_gone}();
