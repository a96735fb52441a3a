-- queue_copy_list: what is on its way to the store @OwnerToken, or from it: its number here, id, state, size, its job's id; 1: it is held, 2: it is done or had by others; 1: it came from there.
IF OBJECT_ID(N{text:JobRuns_CopyList}) IS NULL EXEC (N{body}CREATE PROCEDURE {JobRuns_CopyList} AS RETURN{end});
GO
ALTER PROCEDURE {JobRuns_CopyList}
    @OwnerToken UNIQUEIDENTIFIER,
    @Queue NVARCHAR(20)
AS
BEGIN
{settings}
    SELECT m.Seq, CONVERT(CHAR(36), m.Id), CASE WHEN i.IsDead = 1 THEN 3 ELSE 0 END, {BytesOf}(m.Payload), CONVERT(CHAR(36), m.JobId),
           CASE WHEN m.Status = 1 AND m.OwnerToken = i.Peer THEN 1 WHEN m.Status = 5 THEN 0 ELSE 2 END, CAST(i.IsArrived AS INT)
    FROM {CopyItem} AS i JOIN {queue} AS m WITH (FORCESEEK) ON m.Seq = i.Seq
    WHERE i.Queue = @Queue AND i.Peer = @OwnerToken
    ORDER BY i.Seq;
END
