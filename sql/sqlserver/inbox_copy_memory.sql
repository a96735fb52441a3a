-- inbox_copy_memory: the next @BatchSize messages behind the one @Number that were done, at @Since or later, as queue_copy_read gives others; without topic, payload and headers.
EXEC {inbox_CopyMemory} @Number = :number, @Since = :since, @BatchSize = :batch
