-- queue_abandon: give the messages @Ids, which @OwnerToken has claimed, back after a failed attempt, to be tried again in @Delay us. Made once: a change of it comes with a migration.
IF OBJECT_ID(N{text:queue_Abandon}) IS NULL EXEC (N{body}
CREATE PROCEDURE {queue_Abandon}
    @OwnerToken UNIQUEIDENTIFIER,
    @Ids {GuidIdList} READONLY,
    @Delay BIGINT = 0,
    @Reason NVARCHAR(MAX) = NULL
AS
BEGIN
{settings}
{claims_of_ids}
    EXEC {queue_Retry} @OwnerToken = @OwnerToken, @Claims = @claims, @Delay = @Delay, @Reason = @Reason;
END
{end});
