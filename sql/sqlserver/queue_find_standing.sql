-- queue_find_standing: where the messages of the claims [[seq, claim number], ...] stand now, and by which claim.
EXEC {queue_FindStanding} @Claims = :claims
