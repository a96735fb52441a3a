-- claims_of_ids: @claims, [[seq, null], ...] of the messages @Ids: whatever their claim.
    DECLARE @claims NVARCHAR(MAX) = N'[' + COALESCE(STUFF((
        SELECT N',[' + CAST(m.Seq AS NVARCHAR(20)) + N',null]' FROM @Ids AS i JOIN {queue} AS m ON m.Id = i.Id FOR XML PATH('')), 1, 1, N''), N'') + N']';
