-- join_report: count members of the join :number as :status; how many did, -1 if the join is gone, and 0.
CREATE OR REPLACE PROCEDURE {join_report}(
    IN p_number BIGINT,
    IN p_seqs LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin,
    IN p_status BIGINT,
    IN p_now BIGINT)
MODIFIES SQL DATA
BEGIN
    DECLARE v_alone BOOL DEFAULT @@in_transaction = 0 AND @@autocommit = 1;
    DECLARE v_now BIGINT DEFAULT COALESCE(p_now, TIMESTAMPDIFF(MICROSECOND, DATE'1970-01-01', UTC_TIMESTAMP(6)));
    DECLARE v_members LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin;
    DECLARE v_count BIGINT;
    DECLARE v_there BIGINT;
{call_begin}
    SET STATEMENT group_concat_max_len = 1073741824 FOR
    SELECT CONCAT('[', GROUP_CONCAT('[', p_number, ',', s.seq, ',', p_status, ']' ORDER BY s.seq), ']') INTO v_members
    FROM JSON_TABLE(p_seqs, '$[*]' COLUMNS (seq BIGINT PATH '$')) AS s;
    CALL {join_count}(COALESCE(v_members, '[]'), v_now, v_count);
    -- It may have gone to another store since it was looked for.
    IF v_count = 0 THEN
        SELECT COUNT(*) INTO v_there FROM {join} AS j WHERE j.seq = p_number LOCK IN SHARE MODE;
        IF v_there = 0 THEN
            SET v_count = -1;
        END IF;
    END IF;
{call_end}
    SELECT v_count, 0;
END
