-- join_expire: fail up to :batch joins that are past their deadline; their status then. One that a transaction has locked is for the next time.
CALL {join_expire}(:now, :reason, :batch)
