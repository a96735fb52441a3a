-- inbox_find_state: the state of the message :number.
SELECT coalesce(
           (SELECT f.status FROM {inbox_finished} AS f WHERE f.seq = m.seq),
           (SELECT CASE WHEN w.status = 1 AND w.locked_until IS NULL THEN 6 ELSE w.status END
            FROM {inbox_work} AS w WHERE w.seq = m.seq),
           5)
FROM {inbox} AS m
WHERE m.seq = :number
