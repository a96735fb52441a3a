-- call_end: ends what call_begin began.
    IF @scope = 0 COMMIT TRANSACTION;
    END TRY
    BEGIN CATCH
        IF @scope = 1 AND XACT_STATE() = 1
            ROLLBACK TRANSACTION waypost_call;
        IF @scope <> 1 AND XACT_STATE() <> 0
            ROLLBACK TRANSACTION;
        THROW;
    END CATCH
