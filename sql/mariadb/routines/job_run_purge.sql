-- job_run_purge: forget runs that were finished :delay us ago or earlier; how, not what.
CREATE OR REPLACE PROCEDURE {job_run_purge}(
    IN p_now BIGINT,
    IN p_delay BIGINT,
    IN p_batch BIGINT)
MODIFIES SQL DATA
BEGIN
    DECLARE v_alone BOOL DEFAULT @@in_transaction = 0 AND @@autocommit = 1;
    DECLARE v_now BIGINT DEFAULT COALESCE(p_now, TIMESTAMPDIFF(MICROSECOND, DATE'1970-01-01', UTC_TIMESTAMP(6)));
    DECLARE v_held LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin;
{call_begin}
    SET STATEMENT group_concat_max_len = 1073741824 FOR
    SELECT CONCAT('[', GROUP_CONCAT('[', o.seq, ']' ORDER BY o.seq), ']') INTO v_held
    FROM (SELECT f.seq FROM {job_run_finished} AS f FORCE INDEX (ended)
          WHERE f.finished_at <= v_now - p_delay
          ORDER BY f.finished_at, f.seq
          LIMIT p_batch
          FOR UPDATE SKIP LOCKED) AS o;
    DELETE f FROM JSON_TABLE(v_held, '$[*]' COLUMNS (seq BIGINT PATH '$[0]', claim_number BIGINT PATH '$[1]')) AS c STRAIGHT_JOIN {job_run_finished} AS f FORCE INDEX (PRIMARY) ON f.seq = c.seq;
{call_end}
    SELECT c.seq FROM JSON_TABLE(v_held, '$[*]' COLUMNS (seq BIGINT PATH '$[0]', claim_number BIGINT PATH '$[1]')) AS c;
END
