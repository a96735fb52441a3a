-- call_begin: a call is a transaction of its own, or a savepoint in the app's, and what fails leaves nothing. Before it: v_alone.
    DECLARE EXIT HANDLER FOR SQLEXCEPTION
    BEGIN
        IF v_alone THEN
            ROLLBACK;
        ELSE
            BEGIN
                DECLARE CONTINUE HANDLER FOR SQLEXCEPTION BEGIN END;
                ROLLBACK TO SAVEPOINT waypost_call;
            END;
        END IF;
        RESIGNAL;
    END;
    IF v_alone THEN
        SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
        START TRANSACTION;
    ELSE
        SAVEPOINT waypost_call;
    END IF;
