-- inbox_find_state: the state of the message :number, as it is now.
CREATE OR REPLACE PROCEDURE {inbox_find_state}(
    IN p_number BIGINT)
MODIFIES SQL DATA
BEGIN
    DECLARE v_alone BOOL DEFAULT @@in_transaction = 0 AND @@autocommit = 1;
    DECLARE v_state BIGINT;
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
    CALL {inbox_state}(p_number, TRUE, v_state);
    IF v_alone THEN
        COMMIT;
    ELSE
        RELEASE SAVEPOINT waypost_call;
    END IF;
    SELECT v_state;
END
