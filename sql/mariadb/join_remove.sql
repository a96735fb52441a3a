-- join_remove: up to :batch joins that were over at least :lease us ago go, with all that is known of them.
CALL {join_remove}(:now, :lease, :batch)
