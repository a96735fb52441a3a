-- queue_fail: the messages @Ids, which @OwnerToken has claimed, have failed for good. Made once: a change of it comes with a migration.
IF OBJECT_ID(N{text:queue_Fail}) IS NULL EXEC (N{body}
CREATE PROCEDURE {queue_Fail}
    @OwnerToken UNIQUEIDENTIFIER,
    @Ids {GuidIdList} READONLY,
    @Reason NVARCHAR(MAX) = NULL
AS
BEGIN
{settings}
{claims_of_ids}
    EXEC {queue_Finish} @OwnerToken = @OwnerToken, @Claims = @claims, @Status = 3, @Attempts = 1, @Reason = @Reason;
END
{end});
