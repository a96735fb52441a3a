-- inbox_arrived: @arrived, the message that has arrived, as it was if it is not new.
    DECLARE @arrived TABLE (Id UNIQUEIDENTIFIER NOT NULL, Seq BIGINT NOT NULL, Hash VARBINARY(MAX) NULL, HashAlgorithm NVARCHAR(255) NULL, Status TINYINT NOT NULL, LockedUntil DATETIME2(3) NULL);
    DECLARE @tries INT = 0;
