-- outbox_joined: what was just finished counts where it is a member of a join.
    DECLARE @members NVARCHAR(MAX), @counted BIGINT;
    SET @members = (
        SELECT k.JoinSeq AS j, k.Seq AS m, CASE o.Status WHEN 2 THEN 1 ELSE 2 END AS o
        FROM @held AS h
        JOIN {JoinMember} AS k WITH (READCOMMITTEDLOCK, INDEX (IX_Message), FORCESEEK) ON k.Seq = h.Seq
        JOIN {outbox} AS o WITH (READCOMMITTEDLOCK, FORCESEEK) ON o.Seq = h.Seq
        FOR JSON PATH);
    IF @members IS NOT NULL
        EXEC {Join_Count} @Members = @members, @Now = @now_us, @Counted = @counted OUTPUT;
