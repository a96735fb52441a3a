-- 0011_semaphores: who takes or frees a slot has its semaphore locked before he looks at the holders; what messages
-- pay that are members of no join; and members that are replayed while they are attached.
-- What stands between body and end is a function's text, as a literal.

-- Give a slot of a semaphore to who asks, or tell when the first holder is over. Two requests of one owner come one
-- after the other, and each sees what the one before it did. Who is refused waits for nobody.
CREATE FUNCTION {semaphore_take}(wanted text, who text, lease_us bigint, told_us bigint)
RETURNS TABLE (granted bigint, holder text, token bigint, until_us bigint, now_us bigint, places bigint, taken bigint)
LANGUAGE plpgsql AS {body}
DECLARE
    gone bigint;
    his bigint;
BEGIN
    now_us := coalesce(told_us, CAST(extract(epoch FROM clock_timestamp()) * 1000000 AS bigint));
    granted := 0;
    token := 0;
    SELECT s.slots, f.first_us, f.count INTO places, until_us, taken
    FROM {semaphore} AS s
    CROSS JOIN LATERAL (SELECT coalesce(min(h.held_until), 0) AS first_us, count(*) AS count
                        FROM {semaphore_holder} AS h
                        WHERE s.held >= s.slots AND h.name = s.name AND h.held_until > now_us) AS f
    WHERE s.name = wanted AND s.held >= s.slots AND f.count = s.held
      AND NOT EXISTS (SELECT 1 FROM {semaphore_holder} AS o WHERE o.name = wanted AND o.owner = who);
    IF FOUND THEN
        RETURN NEXT;
        RETURN;
    END IF;
    SELECT s.slots, s.held INTO places, taken FROM {semaphore} AS s WHERE s.name = wanted FOR NO KEY UPDATE;
    IF NOT FOUND THEN
        RETURN;
    END IF;
    now_us := coalesce(told_us, CAST(extract(epoch FROM clock_timestamp()) * 1000000 AS bigint));
    WITH g AS (
        DELETE FROM {semaphore_holder} AS h
        WHERE h.name = wanted AND (h.held_until <= now_us OR h.owner = who)
        RETURNING h.held_until
    )
    SELECT count(*), count(*) FILTER (WHERE g.held_until > now_us) INTO gone, his FROM g;
    taken := taken - gone;
    IF taken < places OR his > 0 THEN
        granted := 1;
        holder := who;
        until_us := now_us + lease_us;
        taken := taken + 1;
        INSERT INTO {semaphore_holder} AS h (fence, name, owner, held_until, acquired_at)
        VALUES (nextval({text:lease_fence}), wanted, who, until_us, now_us)
        RETURNING h.fence INTO token;
    END IF;
    IF granted = 1 OR gone > 0 THEN
        UPDATE {semaphore} AS s SET held = taken, granted = holder WHERE s.name = wanted;
    END IF;
    IF granted = 0 THEN
        SELECT coalesce(min(h.held_until), 0) INTO until_us FROM {semaphore_holder} AS h WHERE h.name = wanted;
    END IF;
    RETURN NEXT;
END
{end};

-- Free the slot that somebody holds; with a fence, that very one. Gives its fence.
CREATE FUNCTION {semaphore_free}(wanted text, who text, which bigint, told_us bigint) RETURNS SETOF bigint
LANGUAGE plpgsql AS {body}
DECLARE
    freed bigint;
BEGIN
    PERFORM 1 FROM {semaphore} AS s WHERE s.name = wanted FOR NO KEY UPDATE;
    DELETE FROM {semaphore_holder} AS h
    WHERE h.name = wanted AND h.owner = who AND h.fence = coalesce(which, h.fence)
      AND h.held_until > coalesce(told_us, CAST(extract(epoch FROM clock_timestamp()) * 1000000 AS bigint))
    RETURNING h.fence INTO freed;
    IF FOUND THEN
        UPDATE {semaphore} AS s SET held = s.held - 1 WHERE s.name = wanted;
        RETURN NEXT freed;
    END IF;
END
{end};

-- As before, but who finishes members of no join pays for one look, and not for the sums.
CREATE OR REPLACE FUNCTION {join_finished}() RETURNS trigger
LANGUAGE plpgsql SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS {body}
DECLARE
    joins bigint[];
    seqs bigint[];
    outcomes smallint[];
    ended_us bigint;
BEGIN
    IF NOT EXISTS (SELECT 1 FROM {join_member} AS m WHERE m.seq = ANY (ARRAY(SELECT e.seq FROM ended AS e)) AND m.status = 0) THEN
        RETURN NULL;
    END IF;
    SELECT array_agg(m.join_seq), array_agg(m.seq), array_agg(CAST(CASE e.status WHEN 2 THEN 1 ELSE 2 END AS smallint)), max(e.finished_at)
    INTO joins, seqs, outcomes, ended_us
    FROM ended AS e JOIN {join_member} AS m ON m.seq = e.seq
    WHERE m.status = 0;
    PERFORM {join_count}(joins, seqs, outcomes, ended_us);
    RETURN NULL;
END
{end};

-- As before, but until there is a snapshot in which each message is finished or locked here: one may be replayed
-- between the two looks.
CREATE OR REPLACE FUNCTION {join_attached}() RETURNS trigger
LANGUAGE plpgsql SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS {body}
DECLARE
    locked bigint[] := CAST(ARRAY[] AS bigint[]);
    missed bigint := 1;
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
                WHERE w.seq IN (SELECT o.seq FROM added AS o) AND w.xmin <> CAST(pg_current_xact_id() AS xid) AND w.seq <> ALL (locked))
        INTO joins, seqs, outcomes, ended_us, missed
        FROM added AS a JOIN {outbox_finished} AS f ON f.seq = a.seq;
    END LOOP;
    IF joins IS NOT NULL THEN
        PERFORM {join_count}(joins, seqs, outcomes, ended_us);
    END IF;
    RETURN NULL;
END
{end};
