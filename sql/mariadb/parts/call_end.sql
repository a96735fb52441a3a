-- call_end: ends what call_begin began.
    IF v_alone THEN
        COMMIT;
    ELSE
        RELEASE SAVEPOINT waypost_call;
    END IF;
