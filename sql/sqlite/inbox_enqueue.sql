-- inbox_enqueue: store a message unless it is known; its id, number, hash and, unless it is new, its state.
INSERT INTO {inbox} (seq, id, source, message_id, consumer, topic, payload, headers, correlation_id, ordering_key, hash, hash_algorithm, created_at, last_seen_at, due_at, expires_at)
VALUES ((SELECT n.seq FROM {inbox_next} AS n), :id, :source, :message_id, :consumer, :topic, :payload, :headers, :correlation_id, :ordering_key, :hash, :hash_algorithm, :now, :now, coalesce(:due_at, :now + :delay), :expires_at)
ON CONFLICT (source, message_id, consumer) DO UPDATE
SET last_seen_at = excluded.last_seen_at
RETURNING +id, +seq, +hash, +hash_algorithm,
       CASE WHEN id <> :id THEN coalesce(
           (SELECT f.status FROM {inbox_finished} AS f WHERE f.seq = {name:inbox}.seq),
           (SELECT CASE WHEN w.status = 1 AND w.locked_until IS NULL THEN 6 ELSE w.status END
            FROM {inbox_work} AS w WHERE w.seq = {name:inbox}.seq),
           5) END
