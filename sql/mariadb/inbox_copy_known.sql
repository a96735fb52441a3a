-- queue_copy_known: whether the key or the id of a message that comes from another store is known here.
SELECT 1 FROM {queue} AS o WHERE o.id = UNHEX(REPLACE(:id, '-', ''))
UNION ALL
SELECT 1 FROM {queue} AS k WHERE k.source = :source AND k.message_id = :message_id AND k.consumer = :consumer
