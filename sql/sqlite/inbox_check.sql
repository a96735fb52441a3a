-- inbox_check: note that a message has arrived, as seen if it is new; its id, number, hash and, unless it is new, its state.
INSERT INTO {inbox} (seq, id, source, message_id, consumer, hash, hash_algorithm, created_at, last_seen_at, due_at)
VALUES ((SELECT n.seq FROM {inbox_next} AS n), :id, :source, :message_id, :consumer, :hash, :hash_algorithm, :now, :now, :now)
ON CONFLICT (source, message_id, consumer) DO UPDATE
SET last_seen_at = excluded.last_seen_at, hash = coalesce(hash, excluded.hash),
    hash_algorithm = CASE WHEN hash IS NULL THEN excluded.hash_algorithm ELSE hash_algorithm END
RETURNING +id, +seq, +hash, +hash_algorithm,
       CASE WHEN id <> :id THEN coalesce(
           (SELECT f.status FROM {inbox_finished} AS f WHERE f.seq = {name:inbox}.seq),
           (SELECT CASE WHEN w.status = 1 AND w.locked_until IS NULL THEN 6 ELSE w.status END
            FROM {inbox_work} AS w WHERE w.seq = {name:inbox}.seq),
           5) END
