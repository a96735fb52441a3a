-- join_wait_hold: the claims [[join, message, claim number], ...] of @OwnerToken go back until their join is over, or for @Delay us; where the join is just being changed or was just over, for @Soon us.
IF OBJECT_ID(N{text:Join_WaitHold}) IS NULL EXEC (N{body}CREATE PROCEDURE {Join_WaitHold} AS RETURN{end});
GO
ALTER PROCEDURE {Join_WaitHold}
    @Messages NVARCHAR(MAX),
    @OwnerToken UNIQUEIDENTIFIER,
    @Delay BIGINT,
    @Soon BIGINT,
    @Now BIGINT = NULL
AS
BEGIN
{settings}
{now}
    DECLARE @wait TABLE (Seq BIGINT NOT NULL PRIMARY KEY, JoinSeq BIGINT NOT NULL, ClaimNumber BIGINT NOT NULL);
    DECLARE @open TABLE (JoinSeq BIGINT NOT NULL PRIMARY KEY);
    DECLARE @held TABLE (Seq BIGINT NOT NULL);
    INSERT INTO @wait (Seq, JoinSeq, ClaimNumber)
    SELECT j.Seq, MIN(j.JoinSeq), MAX(j.ClaimNumber) FROM OPENJSON(@Messages) WITH (JoinSeq BIGINT '$[0]', Seq BIGINT '$[1]', ClaimNumber BIGINT '$[2]') AS j GROUP BY j.Seq;
{call_begin}
    -- Who ends the join later finds those that wait. They are written as they were, for that locks everywhere.
    UPDATE j
    SET Completed = j.Completed
    OUTPUT inserted.Seq INTO @open
    FROM (SELECT DISTINCT w.JoinSeq FROM @wait AS w) AS d, {Join} AS j WITH (READPAST, ROWLOCK, READCOMMITTEDLOCK, FORCESEEK)
    WHERE j.Seq = d.JoinSeq AND j.Status = 0;
    INSERT INTO {JoinWait} (JoinSeq, Seq)
    SELECT w.JoinSeq, w.Seq
    FROM @wait AS w JOIN @open AS o ON o.JoinSeq = w.JoinSeq
    WHERE NOT EXISTS (SELECT 1 FROM {JoinWait} AS v WITH (READCOMMITTEDLOCK, FORCESEEK) WHERE v.JoinSeq = w.JoinSeq AND v.Seq = w.Seq);
    UPDATE m
    SET Status = 0, RunningKey = NULL, OwnerToken = NULL, LockedUntil = NULL,
        NextAttemptAt = {TimeOf}(@now_us + CASE WHEN EXISTS (SELECT 1 FROM @open AS o WHERE o.JoinSeq = w.JoinSeq) THEN @Delay ELSE @Soon END)
    OUTPUT inserted.Seq INTO @held
    FROM @wait AS w, {outbox} AS m WITH (ROWLOCK, READCOMMITTEDLOCK, FORCESEEK)
    WHERE m.Seq = w.Seq AND m.Status = 1 AND m.OwnerToken = @OwnerToken AND m.ClaimNumber = w.ClaimNumber;
{call_end}
    SELECT h.Seq FROM @held AS h;
END
