-- inbox_find_state: the state of the message :number, as it is now.
CREATE OR REPLACE PROCEDURE {inbox_find_state}(
    IN p_number BIGINT)
MODIFIES SQL DATA
BEGIN
    DECLARE v_alone BOOL DEFAULT @@in_transaction = 0 AND @@autocommit = 1;
    DECLARE v_state BIGINT;
{call_begin}
    CALL {inbox_state}(p_number, TRUE, v_state);
{call_end}
    SELECT v_state;
END
