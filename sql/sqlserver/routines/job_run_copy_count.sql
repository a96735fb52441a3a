-- queue_copy_count: how many may be moved to the store @OwnerToken, are held (also for another store), are dead and have a job, and are on their way: unfinished and dead ones.
IF OBJECT_ID(N{text:JobRuns_CopyCount}) IS NULL EXEC (N{body}CREATE PROCEDURE {JobRuns_CopyCount} AS RETURN{end});
GO
ALTER PROCEDURE {JobRuns_CopyCount}
    @OwnerToken UNIQUEIDENTIFIER,
    @Queue NVARCHAR(20)
AS
BEGIN
{settings}
    -- By the indexes of what is unfinished or dead: the table itself has all that was ever done.
    SELECT (SELECT COUNT_BIG(*) FROM {queue} AS w WITH (INDEX (IX_WorkQueue)) WHERE w.Status = 0 AND w.OrderedKey IS NULL)
           + (SELECT COUNT_BIG(*) FROM {queue} AS o WITH (INDEX (IX_Ordered)) WHERE o.OrderedKey IS NOT NULL AND o.Status = 0),
           (SELECT COUNT_BIG(*) FROM {queue} AS h WITH (INDEX (IX_Leased)) WHERE h.Status = 1
               AND NOT EXISTS (SELECT 1 FROM {CopyItem} AS k WHERE k.Queue = @Queue AND k.Seq = h.Seq AND k.Peer = @OwnerToken)),
           (SELECT COUNT_BIG(*) FROM {queue} AS f WITH (INDEX (IX_Failed)) JOIN {Jobs} AS j ON j.Id = f.JobId WHERE f.Status = 3),
           (SELECT COUNT_BIG(*) FROM {CopyItem} AS i WHERE i.Queue = @Queue AND i.Peer = @OwnerToken AND i.IsDead = 0),
           (SELECT COUNT_BIG(*) FROM {CopyItem} AS d WHERE d.Queue = @Queue AND d.Peer = @OwnerToken AND d.IsDead = 1);
END
