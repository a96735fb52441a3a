-- join_expire: fail up to :batch joins that are past their deadline; their status then. One that a transaction has locked is for the next time.
CREATE OR REPLACE PROCEDURE {join_expire}(
    IN p_now BIGINT,
    IN p_reason LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin,
    IN p_batch BIGINT)
MODIFIES SQL DATA
BEGIN
    DECLARE v_alone BOOL DEFAULT @@in_transaction = 0 AND @@autocommit = 1;
    DECLARE v_now BIGINT DEFAULT COALESCE(p_now, TIMESTAMPDIFF(MICROSECOND, DATE'1970-01-01', UTC_TIMESTAMP(6)));
    DECLARE v_late LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin;
    DECLARE v_ended LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin;
{call_begin}
    SET STATEMENT group_concat_max_len = 1073741824 FOR
    SELECT CONCAT('[', GROUP_CONCAT(o.seq ORDER BY o.deadline_at, o.seq), ']') INTO v_late
    FROM (SELECT j.seq, j.deadline_at FROM {join} AS j FORCE INDEX (deadline)
          WHERE j.status = 0 AND j.deadline_at <= v_now
          ORDER BY j.deadline_at, j.seq
          LIMIT p_batch) AS o;
    SET STATEMENT group_concat_max_len = 1073741824 FOR
    SELECT CONCAT('[', GROUP_CONCAT('[', j.seq, ',2]' ORDER BY j.seq), ']') INTO v_ended
    FROM JSON_TABLE(v_late, '$[*]' COLUMNS (seq BIGINT PATH '$')) AS s STRAIGHT_JOIN {join} AS j FORCE INDEX (PRIMARY) ON j.seq = s.seq
    WHERE j.status = 0
    FOR UPDATE SKIP LOCKED;
    IF v_ended IS NOT NULL THEN
        UPDATE JSON_TABLE(v_ended, '$[*]' COLUMNS (seq BIGINT PATH '$[0]', status BIGINT PATH '$[1]')) AS e STRAIGHT_JOIN {join} AS j FORCE INDEX (PRIMARY) ON j.seq = e.seq
        SET j.status = e.status, j.ended_at = v_now, j.reason = p_reason;
        CALL {join_end}(v_ended, v_now);
    END IF;
{call_end}
    SELECT e.status FROM JSON_TABLE(v_ended, '$[*]' COLUMNS (seq BIGINT PATH '$[0]', status BIGINT PATH '$[1]')) AS e;
END
