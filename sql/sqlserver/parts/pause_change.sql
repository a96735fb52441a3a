-- pause_change: the topic @Topic of the queue @Queue is paused or goes on, as @to says; no row: it was so. Who changes it at the same time is waited for, by the number that both would give; a client that gives up meanwhile leaves no transaction, as there is none of ours.
    WHILE @changed = 0
    BEGIN
        SELECT @last = 0, @is = 0;
        SELECT TOP (1) @last = p.ChangeNumber, @is = p.IsPaused
        FROM {PausedTopic} AS p WITH (READCOMMITTEDLOCK)
        WHERE p.Queue = @Queue AND p.TopicKey = @key
        ORDER BY p.ChangeNumber DESC;
        IF @is = @to
        BEGIN
            -- The transaction that was waited for may have put another row behind the one that was read.
            IF NOT EXISTS (SELECT 1 FROM {PausedTopic} AS n WITH (READCOMMITTEDLOCK) WHERE n.Queue = @Queue AND n.TopicKey = @key AND n.ChangeNumber > @last) BREAK;
            CONTINUE;
        END;
        BEGIN TRY
            INSERT INTO {PausedTopic} (Queue, TopicKey, ChangeNumber, Topic, IsPaused, PausedAt, PausedBy)
            VALUES (@Queue, @key, @last + 1, @Topic, @to, @now_at, @PausedBy);
            SET @changed = 1;
        END TRY
        BEGIN CATCH
            SET @tries = @tries + 1;
            IF ERROR_NUMBER() NOT IN (2601, 2627) OR XACT_STATE() = -1 OR @tries > 100
                THROW;
        END CATCH;
    END;
