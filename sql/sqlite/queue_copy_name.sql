-- queue_copy_name: the dead letter :number has a unique key.
UPDATE {queue} SET unique_key = :unique_key WHERE seq = :number
