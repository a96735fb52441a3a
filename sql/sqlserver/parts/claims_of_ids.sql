-- claims_of_ids: @claims, [[seq, null], ...] of the messages @Ids: whatever their claim.
    DECLARE @claims NVARCHAR(MAX) = COALESCE(REPLACE(REPLACE((SELECT m.Seq AS s FROM @Ids AS i JOIN {queue} AS m WITH (FORCESEEK) ON m.Id = i.Id FOR JSON PATH), NCHAR(123) + N'"s":', N'['), N'}', N',null]'), N'[]');
