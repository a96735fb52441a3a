-- copy_joined: what stays since it belongs to joins that are not over: messages that are not with a worker, and the joins. Messages of the topic @Topic wait for one.
IF OBJECT_ID(N{text:CopyItem_Joined}) IS NULL EXEC (N{body}CREATE PROCEDURE {CopyItem_Joined} AS RETURN{end});
GO
ALTER PROCEDURE {CopyItem_Joined}
    @Topic NVARCHAR(255)
AS
BEGIN
{settings}
    SELECT (SELECT COUNT_BIG(*)
            FROM (SELECT a.Seq, a.Topic FROM {outbox} AS a WITH (INDEX (IX_WorkQueue)) WHERE a.Status = 0 AND a.OrderedKey IS NULL
                  UNION ALL
                  SELECT b.Seq, b.Topic FROM {outbox} AS b WITH (INDEX (IX_Ordered)) WHERE b.OrderedKey IS NOT NULL AND b.Status = 0) AS w
            WHERE ((w.Topic = @Topic AND DATALENGTH(w.Topic) = DATALENGTH(@Topic))
               OR w.Seq IN (SELECT k.Seq FROM {JoinMember} AS k JOIN {Join} AS j ON j.Seq = k.JoinSeq WHERE j.Status = 0))),
           (SELECT COUNT_BIG(*) FROM {Join} AS o WHERE o.Status = 0);
END
