-- queue_find_unique: the unfinished message with a unique key.
SELECT CAST(m.id AS text)
FROM {queue_work} AS w JOIN {queue} AS m ON m.seq = w.seq
WHERE w.unique_key = CAST(:unique_key AS text)
