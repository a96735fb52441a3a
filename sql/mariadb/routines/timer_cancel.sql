-- timer_cancel: end a timer that was never claimed, as cancelled.
CREATE OR REPLACE PROCEDURE {timer_cancel}(
    IN p_id VARCHAR(36) CHARACTER SET ascii COLLATE ascii_bin,
    IN p_now BIGINT,
    IN p_status BIGINT)
MODIFIES SQL DATA
BEGIN
    DECLARE v_alone BOOL DEFAULT @@in_transaction = 0 AND @@autocommit = 1;
    DECLARE v_now BIGINT DEFAULT COALESCE(p_now, TIMESTAMPDIFF(MICROSECOND, DATE'1970-01-01', UTC_TIMESTAMP(6)));
    DECLARE v_seq BIGINT;
    DECLARE v_claim_number BIGINT;
{call_begin}
    SELECT MAX(w.seq), MAX(w.claim_number) INTO v_seq, v_claim_number
    FROM {timer} AS m STRAIGHT_JOIN {timer_work} AS w FORCE INDEX (PRIMARY) ON w.seq = m.seq
    WHERE m.id = UNHEX(REPLACE(p_id, '-', '')) AND w.status <> 1 AND w.attempt = 0
    FOR UPDATE;
    IF v_seq IS NOT NULL THEN
        DELETE FROM {timer_work} WHERE seq = v_seq;
        INSERT INTO {timer_finished} (seq, status, attempt, claim_number, finished_at) VALUES (v_seq, p_status, 0, v_claim_number, v_now);
    END IF;
{call_end}
    SELECT v_seq FROM DUAL WHERE v_seq IS NOT NULL;
END
