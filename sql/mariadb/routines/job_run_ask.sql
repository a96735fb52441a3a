-- job_run_ask: ask whoever runs it, or will, to end a run.
CREATE OR REPLACE PROCEDURE {job_run_ask}(
    IN p_id VARCHAR(36) CHARACTER SET ascii COLLATE ascii_bin,
    IN p_now BIGINT)
MODIFIES SQL DATA
BEGIN
    DECLARE v_alone BOOL DEFAULT @@in_transaction = 0 AND @@autocommit = 1;
    DECLARE v_now BIGINT DEFAULT COALESCE(p_now, TIMESTAMPDIFF(MICROSECOND, DATE'1970-01-01', UTC_TIMESTAMP(6)));
    DECLARE v_seq BIGINT;
{call_begin}
    SELECT MAX(w.seq) INTO v_seq
    FROM {job_run} AS r STRAIGHT_JOIN {job_run_work} AS w FORCE INDEX (PRIMARY) ON w.seq = r.seq
    WHERE r.id = UNHEX(REPLACE(p_id, '-', ''));
    UPDATE {job_run} AS r SET r.cancel_at = v_now WHERE r.seq = v_seq;
{call_end}
    SELECT v_seq FROM DUAL WHERE v_seq IS NOT NULL;
END
