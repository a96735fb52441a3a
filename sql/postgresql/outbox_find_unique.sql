-- outbox_find_unique: the unfinished message with a unique key.
SELECT CAST(m.id AS text)
FROM {outbox_work} AS w JOIN {outbox} AS m ON m.seq = w.seq
WHERE w.unique_key = CAST(:unique_key AS text)
