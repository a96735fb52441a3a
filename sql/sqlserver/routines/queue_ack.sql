-- queue_ack: the messages @Ids, which @OwnerToken has claimed, are done. Made once: a change of it comes with a migration.
IF OBJECT_ID(N{text:queue_Ack}) IS NULL EXEC (N{body}
CREATE PROCEDURE {queue_Ack}
    @OwnerToken UNIQUEIDENTIFIER,
    @Ids {GuidIdList} READONLY
AS
BEGIN
{settings}
{claims_of_ids}
    EXEC {queue_Finish} @OwnerToken = @OwnerToken, @Claims = @claims, @Status = 2;
END
{end});
