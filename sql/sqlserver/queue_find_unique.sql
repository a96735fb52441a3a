-- queue_find_unique: the unfinished message with a unique key, as it is now, whatever the transaction has seen before.
EXEC {queue_FindUnique} @UniqueKey = :unique_key
