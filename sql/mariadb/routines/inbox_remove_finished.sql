-- inbox_remove_finished: the messages of the JSON array :seqs go, unless they are unfinished or, if they are done, have arrived since; which do. Whoever is storing one keeps it; who comes later waits.
CREATE OR REPLACE PROCEDURE {inbox_remove_finished}(
    IN p_seqs LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin,
    IN p_status BIGINT,
    IN p_now BIGINT,
    IN p_delay BIGINT)
MODIFIES SQL DATA
BEGIN
    DECLARE v_alone BOOL DEFAULT @@in_transaction = 0 AND @@autocommit = 1;
    DECLARE v_now BIGINT DEFAULT COALESCE(p_now, TIMESTAMPDIFF(MICROSECOND, DATE'1970-01-01', UTC_TIMESTAMP(6)));
    DECLARE v_held LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin;
{call_begin}
    SET STATEMENT group_concat_max_len = 1073741824 FOR
    SELECT CONCAT('[', GROUP_CONCAT('[', f.seq, ']' ORDER BY f.seq), ']') INTO v_held
    FROM JSON_TABLE(p_seqs, '$[*]' COLUMNS (seq BIGINT PATH '$')) AS s STRAIGHT_JOIN {inbox} AS m FORCE INDEX (PRIMARY) ON m.seq = s.seq STRAIGHT_JOIN {inbox_finished} AS f FORCE INDEX (PRIMARY) ON f.seq = s.seq
    WHERE (f.status = 3) = (p_status = 3) AND (p_status = 3 OR m.last_seen_at <= v_now - p_delay)
    FOR UPDATE SKIP LOCKED;
    DELETE f FROM JSON_TABLE(v_held, '$[*]' COLUMNS (seq BIGINT PATH '$[0]', claim_number BIGINT PATH '$[1]')) AS c STRAIGHT_JOIN {inbox_finished} AS f FORCE INDEX (PRIMARY) ON f.seq = c.seq;
{call_end}
    SELECT c.seq FROM JSON_TABLE(v_held, '$[*]' COLUMNS (seq BIGINT PATH '$[0]', claim_number BIGINT PATH '$[1]')) AS c;
END
