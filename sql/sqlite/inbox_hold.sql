-- inbox_hold: the same, to change it in this transaction.
SELECT +m.id, +m.seq,
       coalesce(
           (SELECT f.status FROM {inbox_finished} AS f WHERE f.seq = m.seq),
           (SELECT CASE WHEN w.status = 1 AND w.locked_until IS NULL THEN 6 ELSE w.status END
            FROM {inbox_work} AS w WHERE w.seq = m.seq),
           5)
FROM {inbox} AS m
WHERE m.source = :source AND m.message_id = :message_id AND m.consumer = :consumer
