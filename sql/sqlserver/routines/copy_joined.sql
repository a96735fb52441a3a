-- copy_joined: what stays since it belongs to joins that are not over: messages that are not with a worker, and the joins. Messages of the topic @Topic wait for one.
IF OBJECT_ID(N{text:CopyItem_Joined}) IS NULL EXEC (N{body}CREATE PROCEDURE {CopyItem_Joined} AS RETURN{end});
GO
ALTER PROCEDURE {CopyItem_Joined}
    @Topic NVARCHAR(255)
AS
BEGIN
{settings}
    SELECT (SELECT COUNT_BIG(*) FROM {outbox} AS w
            WHERE w.Status = 0 AND ((w.Topic = @Topic AND DATALENGTH(w.Topic) = DATALENGTH(@Topic))
               OR w.Seq IN (SELECT k.Seq FROM {JoinMember} AS k JOIN {Join} AS j ON j.Seq = k.JoinSeq WHERE j.Status = 0))),
           (SELECT COUNT_BIG(*) FROM {Join} AS o WHERE o.Status = 0);
END
