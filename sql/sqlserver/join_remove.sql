-- join_remove: up to @BatchSize joins that were over at least @Age us ago go, with all that is known of them.
EXEC {Join_Remove} @Age = :lease, @BatchSize = :batch, @Now = :now
