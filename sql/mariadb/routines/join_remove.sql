-- join_remove: up to :batch joins that were over at least :lease us ago go, with all that is known of them.
CREATE OR REPLACE PROCEDURE {join_remove}(
    IN p_now BIGINT,
    IN p_lease BIGINT,
    IN p_batch BIGINT)
MODIFIES SQL DATA
BEGIN
    DECLARE v_alone BOOL DEFAULT @@in_transaction = 0 AND @@autocommit = 1;
    DECLARE v_until BIGINT DEFAULT COALESCE(p_now, TIMESTAMPDIFF(MICROSECOND, DATE'1970-01-01', UTC_TIMESTAMP(6))) - p_lease;
    DECLARE v_old LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin;
    DECLARE v_gone LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin;
{call_begin}
    SET STATEMENT group_concat_max_len = 1073741824 FOR
    SELECT CONCAT('[', GROUP_CONCAT(o.seq ORDER BY o.seq), ']') INTO v_old
    FROM (SELECT j.seq FROM {join} AS j FORCE INDEX (ended)
          WHERE j.ended_at <= v_until
          ORDER BY j.ended_at, j.seq
          LIMIT p_batch) AS o;
    SET STATEMENT group_concat_max_len = 1073741824 FOR
    SELECT CONCAT('[', GROUP_CONCAT(j.seq ORDER BY j.seq), ']') INTO v_gone
    FROM JSON_TABLE(v_old, '$[*]' COLUMNS (seq BIGINT PATH '$')) AS s STRAIGHT_JOIN {join} AS j FORCE INDEX (PRIMARY) ON j.seq = s.seq
    FOR UPDATE SKIP LOCKED;
    DELETE n FROM JSON_TABLE(v_gone, '$[*]' COLUMNS (seq BIGINT PATH '$')) AS s STRAIGHT_JOIN {join_next} AS n FORCE INDEX (PRIMARY) ON n.join_seq = s.seq;
    DELETE m FROM JSON_TABLE(v_gone, '$[*]' COLUMNS (seq BIGINT PATH '$')) AS s STRAIGHT_JOIN {join_member} AS m FORCE INDEX (PRIMARY) ON m.join_seq = s.seq;
    DELETE v FROM JSON_TABLE(v_gone, '$[*]' COLUMNS (seq BIGINT PATH '$')) AS s STRAIGHT_JOIN {join_wait} AS v FORCE INDEX (PRIMARY) ON v.join_seq = s.seq;
    DELETE j FROM JSON_TABLE(v_gone, '$[*]' COLUMNS (seq BIGINT PATH '$')) AS s STRAIGHT_JOIN {join} AS j FORCE INDEX (PRIMARY) ON j.seq = s.seq;
{call_end}
    SELECT s.seq FROM JSON_TABLE(v_gone, '$[*]' COLUMNS (seq BIGINT PATH '$')) AS s;
END
