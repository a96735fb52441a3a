-- job_run_cancel: end a run that nobody has, as cancelled.
CREATE OR REPLACE PROCEDURE {job_run_cancel}(
    IN p_id VARCHAR(36) CHARACTER SET ascii COLLATE ascii_bin,
    IN p_now BIGINT,
    IN p_reason LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin)
MODIFIES SQL DATA
BEGIN
    DECLARE v_alone BOOL DEFAULT @@in_transaction = 0 AND @@autocommit = 1;
    DECLARE v_now BIGINT DEFAULT COALESCE(p_now, TIMESTAMPDIFF(MICROSECOND, DATE'1970-01-01', UTC_TIMESTAMP(6)));
    DECLARE v_seq BIGINT;
    DECLARE v_attempt BIGINT;
    DECLARE v_claim_number BIGINT;
{call_begin}
    SELECT MAX(r.seq) INTO v_seq FROM {job_run} AS r WHERE r.id = UNHEX(REPLACE(p_id, '-', ''));
    SELECT MAX(w.seq), MAX(w.attempt), MAX(w.claim_number) INTO v_seq, v_attempt, v_claim_number
    FROM {job_run_work} AS w WHERE w.seq = v_seq AND w.status <> 1
    FOR UPDATE;
    IF v_seq IS NOT NULL THEN
        DELETE FROM {job_run_work} WHERE seq = v_seq;
        INSERT INTO {job_run_finished} (seq, status, attempt, claim_number, finished_at, last_error)
        VALUES (v_seq, 6, v_attempt, v_claim_number, v_now, p_reason);
    END IF;
{call_end}
    SELECT v_seq FROM DUAL WHERE v_seq IS NOT NULL;
END
