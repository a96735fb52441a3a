-- inbox_settle: the message :number is done or dead, whoever has claimed it; no row: it is done already.
CALL {inbox_settle}(:number, :now, :status, :worker, :reason)
