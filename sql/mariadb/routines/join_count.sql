-- join_count: count the members [[join, message, 1 completed or 2 failed], ...], in the order of their joins, and end the joins whose last one is among them; how many counted. The joins are locked first, all in one order; what is read then is what is true.
CREATE OR REPLACE PROCEDURE {join_count}(
    IN p_members LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin,
    IN p_now BIGINT,
    OUT p_counted BIGINT)
MODIFIES SQL DATA
BEGIN
    DECLARE v_joins LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin;
    DECLARE v_open LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin;
    DECLARE v_counted LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin;
    DECLARE v_sums LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin;
    DECLARE v_ended LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin;
    SET p_counted = 0;
    SET STATEMENT group_concat_max_len = 1073741824 FOR
    SELECT CONCAT('[', GROUP_CONCAT(JSON_ARRAY(j.seq, j.expected, j.completed, j.failed, j.fail_if_any) ORDER BY j.seq), ']') INTO v_joins
    FROM (SELECT DISTINCT k.join_seq FROM JSON_TABLE(p_members, '$[*]' COLUMNS (join_seq BIGINT PATH '$[0]', seq BIGINT PATH '$[1]', outcome BIGINT PATH '$[2]')) AS k) AS d
    STRAIGHT_JOIN {join} AS j FORCE INDEX (PRIMARY) ON j.seq = d.join_seq
    WHERE j.status = 0
    FOR UPDATE;
    SET STATEMENT group_concat_max_len = 1073741824 FOR
    SELECT CONCAT('[', GROUP_CONCAT(DISTINCT '[', m.join_seq, ',', m.seq, ',', k.outcome, ']' ORDER BY m.join_seq, m.seq), ']') INTO v_open
    FROM JSON_TABLE(p_members, '$[*]' COLUMNS (join_seq BIGINT PATH '$[0]', seq BIGINT PATH '$[1]', outcome BIGINT PATH '$[2]')) AS k STRAIGHT_JOIN {join_member} AS m FORCE INDEX (PRIMARY) ON m.join_seq = k.join_seq AND m.seq = k.seq
    WHERE m.status = 0 AND m.join_seq IN (SELECT j.seq FROM JSON_TABLE(v_joins, '$[*]' COLUMNS (seq BIGINT PATH '$[0]', expected BIGINT PATH '$[1]', completed BIGINT PATH '$[2]', failed BIGINT PATH '$[3]', fail_if_any BIGINT PATH '$[4]')) AS j)
    FOR UPDATE;
    IF v_open IS NOT NULL THEN
    SET STATEMENT group_concat_max_len = 1073741824 FOR
        SELECT CONCAT('[', GROUP_CONCAT('[', r.join_seq, ',', r.seq, ',', r.outcome, ']' ORDER BY r.join_seq, r.seq), ']'), COUNT(*) INTO v_counted, p_counted
        FROM (SELECT o.join_seq, o.seq, o.outcome, ROW_NUMBER() OVER (PARTITION BY o.join_seq ORDER BY o.seq) AS place,
                     j.expected - j.completed - j.failed AS places
              FROM JSON_TABLE(v_open, '$[*]' COLUMNS (join_seq BIGINT PATH '$[0]', seq BIGINT PATH '$[1]', outcome BIGINT PATH '$[2]')) AS o JOIN JSON_TABLE(v_joins, '$[*]' COLUMNS (seq BIGINT PATH '$[0]', expected BIGINT PATH '$[1]', completed BIGINT PATH '$[2]', failed BIGINT PATH '$[3]', fail_if_any BIGINT PATH '$[4]')) AS j ON j.seq = o.join_seq) AS r
        WHERE r.place <= r.places;
        UPDATE JSON_TABLE(v_counted, '$[*]' COLUMNS (join_seq BIGINT PATH '$[0]', seq BIGINT PATH '$[1]', outcome BIGINT PATH '$[2]')) AS c STRAIGHT_JOIN {join_member} AS m FORCE INDEX (PRIMARY) ON m.join_seq = c.join_seq AND m.seq = c.seq
        SET m.status = c.outcome, m.counted_at = p_now;
    SET STATEMENT group_concat_max_len = 1073741824 FOR
        SELECT CONCAT('[', GROUP_CONCAT('[', s.seq, ',', s.completed, ',', s.failed, ',',
                                           CASE WHEN s.completed + s.failed < s.expected THEN 0 WHEN s.fail_if_any = 1 AND s.failed > 0 THEN 2 ELSE 1 END, ']'
                                           ORDER BY s.seq), ']')
        INTO v_sums
        FROM (SELECT j.seq, j.expected, j.fail_if_any, j.completed + SUM(c.outcome = 1) AS completed, j.failed + SUM(c.outcome = 2) AS failed
              FROM JSON_TABLE(v_counted, '$[*]' COLUMNS (join_seq BIGINT PATH '$[0]', seq BIGINT PATH '$[1]', outcome BIGINT PATH '$[2]')) AS c JOIN JSON_TABLE(v_joins, '$[*]' COLUMNS (seq BIGINT PATH '$[0]', expected BIGINT PATH '$[1]', completed BIGINT PATH '$[2]', failed BIGINT PATH '$[3]', fail_if_any BIGINT PATH '$[4]')) AS j ON j.seq = c.join_seq
              GROUP BY j.seq, j.expected, j.fail_if_any, j.completed, j.failed) AS s;
        UPDATE JSON_TABLE(v_sums, '$[*]' COLUMNS (seq BIGINT PATH '$[0]', completed BIGINT PATH '$[1]', failed BIGINT PATH '$[2]', status BIGINT PATH '$[3]')) AS s STRAIGHT_JOIN {join} AS j FORCE INDEX (PRIMARY) ON j.seq = s.seq
        SET j.completed = s.completed, j.failed = s.failed, j.status = s.status, j.ended_at = CASE WHEN s.status <> 0 THEN p_now END;
    SET STATEMENT group_concat_max_len = 1073741824 FOR
        SELECT CONCAT('[', GROUP_CONCAT('[', s.seq, ',', s.status, ']' ORDER BY s.seq), ']') INTO v_ended
        FROM JSON_TABLE(v_sums, '$[*]' COLUMNS (seq BIGINT PATH '$[0]', completed BIGINT PATH '$[1]', failed BIGINT PATH '$[2]', status BIGINT PATH '$[3]')) AS s WHERE s.status <> 0;
        IF v_ended IS NOT NULL THEN
            CALL {join_end}(v_ended, p_now);
        END IF;
    END IF;
END
