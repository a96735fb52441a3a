-- queue_find_unique: the unfinished message with a unique key, as it is now, whatever the transaction has seen before.
SELECT HEX(m.id)
FROM {queue_work} AS w STRAIGHT_JOIN {queue} AS m FORCE INDEX (PRIMARY) ON m.seq = w.seq
WHERE w.unique_key = :unique_key
LOCK IN SHARE MODE
