-- inbox_settle: the message :number is done or dead, whoever has claimed it; no row: it is done already.
CREATE OR REPLACE PROCEDURE {inbox_settle}(
    IN p_number BIGINT,
    IN p_now BIGINT,
    IN p_status BIGINT,
    IN p_worker LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin,
    IN p_reason LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin)
MODIFIES SQL DATA
BEGIN
    DECLARE v_alone BOOL DEFAULT @@in_transaction = 0 AND @@autocommit = 1;
    DECLARE v_now BIGINT DEFAULT COALESCE(p_now, TIMESTAMPDIFF(MICROSECOND, DATE'1970-01-01', UTC_TIMESTAMP(6)));
    DECLARE v_worked BOOL;
    DECLARE v_was BIGINT;
    DECLARE v_seq BIGINT;
    DECLARE v_attempt BIGINT;
    DECLARE v_claim_number BIGINT;
    DECLARE v_error LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin;
{call_begin}
    -- A message that never had a work row is not looked for: under REPEATABLE READ that locks others' inserts out.
    SELECT MAX(m.worked) INTO v_worked FROM {inbox} AS m WHERE m.seq = p_number;
    IF v_worked THEN
        SELECT MAX(w.seq), MAX(w.attempt), MAX(w.claim_number), MAX(w.last_error) INTO v_seq, v_attempt, v_claim_number, v_error
        FROM {inbox_work} AS w WHERE w.seq = p_number
        FOR UPDATE;
    END IF;
    BEGIN
        DECLARE CONTINUE HANDLER FOR 1062
            SELECT MAX(f.status) INTO v_was FROM {inbox_finished} AS f WHERE f.seq = p_number FOR UPDATE;
        INSERT INTO {inbox_finished} (seq, status, attempt, claim_number, finished_at, finished_by, last_error)
        VALUES (p_number, p_status, COALESCE(v_attempt, 0), COALESCE(v_claim_number, 0), v_now, p_worker, COALESCE(p_reason, v_error));
    END;
    IF v_was = 3 THEN
        UPDATE {inbox_finished} AS f
        SET f.status = p_status, f.finished_at = v_now, f.finished_by = p_worker, f.last_error = COALESCE(p_reason, v_error, f.last_error)
        WHERE f.seq = p_number;
    END IF;
    DELETE FROM {inbox_work} WHERE seq = v_seq;
{call_end}
    SELECT p_number FROM DUAL WHERE COALESCE(v_was, 3) = 3;
END
