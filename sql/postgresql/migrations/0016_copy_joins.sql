-- 0016_copy_joins: joins on their way to another store, or from it; and messages that go there while they are attached.
-- Times are microseconds UTC since 1970. Names compare byte for byte (collation "C").

-- arrived: 0: it goes there; seq is its number, and it stays a join here until it is deleted. 1: it came from there, and is
-- none here until it is let go: all that is known of it is in these three tables.
CREATE TABLE {copy_join} (
    id uuid PRIMARY KEY,
    peer uuid NOT NULL,
    arrived smallint NOT NULL,
    seq bigint,
    status smallint,
    expected bigint,
    completed bigint,
    failed bigint,
    fail_if_any smallint,
    grouping_key text COLLATE "C",
    metadata text,
    created_at bigint,
    deadline_at bigint,
    ended_at bigint,
    reason text
);

CREATE TABLE {copy_join_next} (
    id uuid NOT NULL,
    status smallint NOT NULL,
    next_id uuid NOT NULL,
    topic text COLLATE "C" NOT NULL,
    payload text NOT NULL,
    headers text,
    correlation_id text,
    ordering_key text COLLATE "C",
    PRIMARY KEY (id, status)
);

-- status: how the member counted; 3: no member, but a message that waits for the join.
CREATE TABLE {copy_join_member} (
    id uuid NOT NULL,
    place bigint NOT NULL,
    message uuid NOT NULL,
    status smallint NOT NULL,
    attached_at bigint NOT NULL,
    counted_at bigint,
    PRIMARY KEY (id, place)
);

-- As before, but a message that goes meanwhile, moved to another store or cleaned up, becomes no member: the transaction
-- fails as one that is to be tried again. Members whose messages are elsewhere have numbers below 0.
CREATE OR REPLACE FUNCTION {join_attached}() RETURNS trigger
LANGUAGE plpgsql SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS {body}
DECLARE
    locked bigint[] := CAST(ARRAY[] AS bigint[]);
    missed bigint := 1;
    gone bigint;
    joins bigint[];
    seqs bigint[];
    outcomes smallint[];
    ended_us bigint;
BEGIN
    WHILE missed > 0 LOOP
        PERFORM 1 FROM {outbox_work} AS w
        WHERE w.seq IN (SELECT a.seq FROM added AS a) AND w.xmin <> CAST(pg_current_xact_id() AS xid)
        ORDER BY w.seq FOR UPDATE;
        WITH u AS (
            UPDATE {outbox_work} AS w SET attempt = w.attempt
            WHERE w.seq IN (SELECT a.seq FROM added AS a) AND w.xmin <> CAST(pg_current_xact_id() AS xid)
            RETURNING w.seq
        )
        SELECT locked || coalesce(array_agg(u.seq), CAST(ARRAY[] AS bigint[])) INTO locked FROM u;
        SELECT array_agg(a.join_seq), array_agg(a.seq), array_agg(CAST(CASE f.status WHEN 2 THEN 1 ELSE 2 END AS smallint)), max(a.attached_at),
               (SELECT count(*) FROM {outbox_work} AS w
                WHERE w.seq IN (SELECT o.seq FROM added AS o) AND w.xmin <> CAST(pg_current_xact_id() AS xid) AND w.seq <> ALL (locked)),
               (SELECT count(*) FROM added AS g WHERE g.seq >= 0 AND NOT EXISTS (SELECT 1 FROM {outbox} AS m WHERE m.seq = g.seq))
        INTO joins, seqs, outcomes, ended_us, missed, gone
        FROM added AS a JOIN {outbox_finished} AS f ON f.seq = a.seq;
    END LOOP;
    IF gone > 0 THEN
        RAISE EXCEPTION USING ERRCODE = 'serialization_failure', MESSAGE = 'a message was moved or cleaned up while it was made a member of a join';
    END IF;
    IF joins IS NOT NULL THEN
        PERFORM {join_count}(joins, seqs, outcomes, ended_us);
    END IF;
    RETURN NULL;
END
{end};
