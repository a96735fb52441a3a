-- job_retire: switch off the jobs of a registrar whose names are not in the JSON array :topics.
CREATE OR REPLACE PROCEDURE {job_retire}(
    IN p_registrar VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin,
    IN p_topics LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin)
MODIFIES SQL DATA
BEGIN
    DECLARE v_alone BOOL DEFAULT @@in_transaction = 0 AND @@autocommit = 1;
    DECLARE v_held LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin;
{call_begin}
    SET STATEMENT group_concat_max_len = 1073741824 FOR
    SELECT CONCAT('[', GROUP_CONCAT('[', j.seq, ']' ORDER BY j.seq), ']') INTO v_held
    FROM {job} AS j FORCE INDEX (registrar)
    WHERE j.registrar = p_registrar AND j.absent = 0
      AND j.name NOT IN (SELECT t.name FROM JSON_TABLE(p_topics, '$[*]' COLUMNS (place FOR ORDINALITY, name VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin PATH '$')) AS t)
    FOR UPDATE;
    UPDATE JSON_TABLE(v_held, '$[*]' COLUMNS (seq BIGINT PATH '$[0]', claim_number BIGINT PATH '$[1]')) AS c STRAIGHT_JOIN {job} AS j FORCE INDEX (PRIMARY) ON j.seq = c.seq
    SET j.absent = 1, j.version = j.version + 1, j.next_due_at = NULL;
{call_end}
    SELECT c.seq FROM JSON_TABLE(v_held, '$[*]' COLUMNS (seq BIGINT PATH '$[0]', claim_number BIGINT PATH '$[1]')) AS c;
END
