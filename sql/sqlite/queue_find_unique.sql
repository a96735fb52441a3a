-- queue_find_unique: the unfinished message with a unique key.
SELECT +m.id
FROM {queue_work} AS w CROSS JOIN {queue} AS m
WHERE w.unique_key = :unique_key AND m.seq = w.seq
