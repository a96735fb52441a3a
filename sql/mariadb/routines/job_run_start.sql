-- job_run_start: note that the runs of the JSON array :seqs begin; what is needed to run them. end: 1 if their job is gone, 2 if whoever had them was asked to end them.
CREATE OR REPLACE PROCEDURE {job_run_start}(
    IN p_seqs LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin,
    IN p_now BIGINT)
MODIFIES SQL DATA
BEGIN
    DECLARE v_alone BOOL DEFAULT @@in_transaction = 0 AND @@autocommit = 1;
    DECLARE v_now BIGINT DEFAULT COALESCE(p_now, TIMESTAMPDIFF(MICROSECOND, DATE'1970-01-01', UTC_TIMESTAMP(6)));
{call_begin}
    UPDATE JSON_TABLE(p_seqs, '$[*]' COLUMNS (seq BIGINT PATH '$')) AS s STRAIGHT_JOIN {job_run} AS r FORCE INDEX (PRIMARY) ON r.seq = s.seq SET r.started_at = v_now;
    SELECT r.seq, r.job_name, r.options,
           CASE WHEN NOT EXISTS (SELECT 1 FROM {job} AS j WHERE j.id = r.job_id) THEN 1
                WHEN r.cancel_at IS NOT NULL
                     AND NOT EXISTS (SELECT 1 FROM {job_run_replayed} AS p WHERE p.seq = r.seq AND p.replayed_at >= r.cancel_at) THEN 2
                ELSE 0 END
    FROM JSON_TABLE(p_seqs, '$[*]' COLUMNS (seq BIGINT PATH '$')) AS s STRAIGHT_JOIN {job_run} AS r FORCE INDEX (PRIMARY) ON r.seq = s.seq;
{call_end}
END
