-- inbox_move: the unfinished message :number has come again, with another topic and due time; no row: it is finished.
CREATE OR REPLACE PROCEDURE {inbox_move}(
    IN p_number BIGINT,
    IN p_topic VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin,
    IN p_now BIGINT,
    IN p_due_at BIGINT,
    IN p_delay BIGINT,
    IN p_expires_at BIGINT)
MODIFIES SQL DATA
BEGIN
    DECLARE v_alone BOOL DEFAULT @@in_transaction = 0 AND @@autocommit = 1;
    DECLARE v_due BIGINT DEFAULT COALESCE(p_due_at, COALESCE(p_now, TIMESTAMPDIFF(MICROSECOND, DATE'1970-01-01', UTC_TIMESTAMP(6))) + p_delay);
    DECLARE v_was_due BIGINT;
    DECLARE v_seq BIGINT;
{call_begin}
    SELECT MAX(m.due_at) INTO v_was_due FROM {inbox} AS m WHERE m.seq = p_number;
    SELECT MAX(w.seq) INTO v_seq FROM {inbox_work} AS w WHERE w.seq = p_number FOR UPDATE;
    UPDATE {inbox_work} AS w
    SET w.topic = p_topic, w.expires_at = p_expires_at,
        w.next_attempt_at = CASE WHEN w.attempt = 0 OR w.next_attempt_at = v_was_due THEN v_due ELSE GREATEST(w.next_attempt_at, v_due) END
    WHERE w.seq = v_seq;
{call_end}
    SELECT v_seq, v_due FROM DUAL WHERE v_seq IS NOT NULL;
END
