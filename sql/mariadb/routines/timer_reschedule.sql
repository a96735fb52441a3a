-- timer_reschedule: set the next attempt of a timer that was never claimed; returns it.
CREATE OR REPLACE PROCEDURE {timer_reschedule}(
    IN p_id VARCHAR(36) CHARACTER SET ascii COLLATE ascii_bin,
    IN p_now BIGINT,
    IN p_due_at BIGINT,
    IN p_delay BIGINT)
MODIFIES SQL DATA
BEGIN
    DECLARE v_alone BOOL DEFAULT @@in_transaction = 0 AND @@autocommit = 1;
    DECLARE v_due BIGINT DEFAULT COALESCE(p_due_at, COALESCE(p_now, TIMESTAMPDIFF(MICROSECOND, DATE'1970-01-01', UTC_TIMESTAMP(6))) + p_delay);
    DECLARE v_seq BIGINT;
{call_begin}
    SELECT MAX(w.seq) INTO v_seq
    FROM {timer} AS m STRAIGHT_JOIN {timer_work} AS w FORCE INDEX (PRIMARY) ON w.seq = m.seq
    WHERE m.id = UNHEX(REPLACE(p_id, '-', '')) AND w.status <> 1 AND w.attempt = 0
    FOR UPDATE;
    UPDATE {timer_work} AS w SET w.next_attempt_at = v_due WHERE w.seq = v_seq;
{call_end}
    SELECT v_seq, v_due FROM DUAL WHERE v_seq IS NOT NULL;
END
