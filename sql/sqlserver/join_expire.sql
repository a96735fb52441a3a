-- join_expire: fail up to @BatchSize joins that are past their deadline; their status then. One that a transaction has locked is for the next time.
EXEC {Join_Expire} @BatchSize = :batch, @Reason = :reason, @Now = :now
