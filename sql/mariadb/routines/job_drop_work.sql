-- job_drop_work: take pending runs of the job :name out of the queue, and forget them. The job is held, lest it is given others meanwhile.
CREATE OR REPLACE PROCEDURE {job_drop_work}(
    IN p_name VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin)
MODIFIES SQL DATA
BEGIN
    DECLARE v_alone BOOL DEFAULT @@in_transaction = 0 AND @@autocommit = 1;
    DECLARE v_id BINARY(16);
    DECLARE v_found LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin;
    DECLARE v_held LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin;
{call_begin}
    SELECT MAX(j.id) INTO v_id FROM {job} AS j WHERE j.name = p_name FOR UPDATE;
    SET STATEMENT group_concat_max_len = 1073741824 FOR
    SELECT CONCAT('[', GROUP_CONCAT('[', r.seq, ']'), ']') INTO v_found
    FROM {job_run} AS r JOIN {job_run_work} AS w ON w.seq = r.seq
    WHERE r.job_id = v_id;
    SET STATEMENT group_concat_max_len = 1073741824 FOR
    SELECT CONCAT('[', GROUP_CONCAT('[', w.seq, ']' ORDER BY w.seq), ']') INTO v_held
    FROM JSON_TABLE(v_found, '$[*]' COLUMNS (seq BIGINT PATH '$[0]', claim_number BIGINT PATH '$[1]')) AS c STRAIGHT_JOIN {job_run_work} AS w FORCE INDEX (PRIMARY) ON w.seq = c.seq
    WHERE w.status <> 1
    FOR UPDATE;
    DELETE w FROM JSON_TABLE(v_held, '$[*]' COLUMNS (seq BIGINT PATH '$[0]', claim_number BIGINT PATH '$[1]')) AS c STRAIGHT_JOIN {job_run_work} AS w FORCE INDEX (PRIMARY) ON w.seq = c.seq;
    DELETE r FROM JSON_TABLE(v_held, '$[*]' COLUMNS (seq BIGINT PATH '$[0]', claim_number BIGINT PATH '$[1]')) AS c STRAIGHT_JOIN {job_run} AS r FORCE INDEX (PRIMARY) ON r.seq = c.seq;
    DELETE p FROM JSON_TABLE(v_held, '$[*]' COLUMNS (seq BIGINT PATH '$[0]', claim_number BIGINT PATH '$[1]')) AS c STRAIGHT_JOIN {job_run_replayed} AS p FORCE INDEX (seq) ON p.seq = c.seq;
{call_end}
END
