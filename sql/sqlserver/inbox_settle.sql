-- inbox_settle: the message @Number is done or dead, whoever has claimed it; no row: it is done already.
EXEC {inbox_Settle} @Number = :number, @Now = :now, @Status = :status, @Worker = :worker, @Reason = :reason
