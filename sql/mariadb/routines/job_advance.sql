-- job_advance: from the occurrence :since on to the next, if nobody else has done it.
CREATE OR REPLACE PROCEDURE {job_advance}(
    IN p_number BIGINT,
    IN p_version BIGINT,
    IN p_since BIGINT,
    IN p_due_at BIGINT,
    IN p_fired_at BIGINT)
MODIFIES SQL DATA
BEGIN
    DECLARE v_alone BOOL DEFAULT @@in_transaction = 0 AND @@autocommit = 1;
    DECLARE v_moved BOOL;
{call_begin}
    UPDATE {job} AS j FORCE INDEX (PRIMARY) SET j.next_due_at = p_due_at, j.fired_at = p_fired_at, j.version = j.version + 1
    WHERE j.seq = p_number AND j.version = p_version AND j.next_due_at <=> p_since;
    SET v_moved = ROW_COUNT() = 1;
{call_end}
    SELECT p_number FROM DUAL WHERE v_moved;
END
