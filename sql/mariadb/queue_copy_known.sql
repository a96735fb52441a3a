-- queue_copy_known: whether there is a message with the id of one that comes from another store, or an unfinished one with its unique key.
SELECT 1 FROM {queue} AS o WHERE o.id = UNHEX(REPLACE(:id, '-', ''))
UNION ALL
SELECT 1 FROM {queue_work} AS u WHERE u.unique_key = :unique_key AND :status = 0
