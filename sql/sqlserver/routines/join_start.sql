-- join_start: start a join, with what is to be enqueued at its end in the JSON array @Messages.
IF OBJECT_ID(N{text:Join_Start}) IS NULL EXEC (N{body}CREATE PROCEDURE {Join_Start} AS RETURN{end});
GO
ALTER PROCEDURE {Join_Start}
    @Id UNIQUEIDENTIFIER,
    @Expected BIGINT,
    @FailIfAny TINYINT,
    @GroupingKey NVARCHAR(255) = NULL,
    @Metadata NVARCHAR(MAX) = NULL,
    @DeadlineAt BIGINT = NULL,
    @Delay BIGINT = NULL,
    @Messages NVARCHAR(MAX) = NULL,
    @Now BIGINT = NULL
AS
BEGIN
{settings}
{now}
    DECLARE @seq BIGINT = NEXT VALUE FOR {Join_Sequence};
{call_begin}
    INSERT INTO {Join} (Seq, Id, Status, Expected, Completed, Failed, FailIfAny, GroupingKey, Metadata, CreatedAt, DeadlineAt)
    VALUES (@seq, @Id, 0, @Expected, 0, 0, @FailIfAny, @GroupingKey, @Metadata, @now_at, {TimeOf}(COALESCE(@DeadlineAt, @now_us + @Delay)));
    INSERT INTO {JoinNext} (JoinSeq, Status, Id, Topic, Payload, Headers, CorrelationId, OrderingKey)
    SELECT @seq, m.Status, CAST(m.Id AS UNIQUEIDENTIFIER), m.Topic, m.Payload, m.Headers, m.CorrelationId, m.OrderingKey
    FROM OPENJSON(@Messages) WITH (
        Status TINYINT '$.status', Id NVARCHAR(36) '$.id', Topic NVARCHAR(255) '$.topic', Payload NVARCHAR(MAX) '$.payload', Headers NVARCHAR(MAX) '$.headers',
        CorrelationId NVARCHAR(255) '$.correlation_id', OrderingKey NVARCHAR(255) '$.ordering_key') AS m;
{call_end}
END
