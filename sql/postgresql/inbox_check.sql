-- inbox_check: note that a message has arrived, as seen if it is new; its id, number, hash and, unless
-- it is new, its state. Waits for a transaction that is storing the same message.
INSERT INTO {inbox} AS m (id, source, message_id, consumer, hash, hash_algorithm, created_at, last_seen_at, due_at)
SELECT CAST(CAST(:id AS text) AS uuid), CAST(:source AS text), CAST(:message_id AS text), CAST(:consumer AS text),
       CAST(:hash AS text), CAST(:hash_algorithm AS text), n.now, n.now, n.now
FROM (SELECT coalesce(CAST(:now AS bigint), CAST(extract(epoch FROM statement_timestamp()) * 1000000 AS bigint)) AS now) AS n
ON CONFLICT (source, message_id, consumer) DO UPDATE
SET last_seen_at = excluded.last_seen_at, hash = coalesce(m.hash, excluded.hash),
    hash_algorithm = CASE WHEN m.hash IS NULL THEN excluded.hash_algorithm ELSE m.hash_algorithm END
RETURNING CAST(id AS text), seq, hash, hash_algorithm,
          CASE WHEN id <> CAST(CAST(:id AS text) AS uuid) THEN {inbox_state}(seq) END
