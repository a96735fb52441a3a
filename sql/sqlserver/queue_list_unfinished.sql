-- queue_list_unfinished: up to @BatchSize unfinished messages after the one @Number, of a topic or of all, in the order in which they came.
EXEC {queue_ListUnfinished} @Number = :number, @BatchSize = :batch, @Topic = :topic, @Payloads = :payloads
