-- inbox_find: the id, number and state of a message.
SELECT HEX(m.id), m.seq,
       COALESCE(
           (SELECT f.status FROM {inbox_finished} AS f WHERE f.seq = m.seq),
           (SELECT CASE WHEN w.status = 1 AND w.locked_until IS NULL THEN 6 WHEN w.status = 4 THEN 0 ELSE w.status END
            FROM {inbox_work} AS w WHERE w.seq = m.seq),
           5)
FROM {inbox} AS m
WHERE m.source = :source AND m.message_id = :message_id AND m.consumer = :consumer
