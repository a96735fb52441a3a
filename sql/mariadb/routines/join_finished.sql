-- join_finished: the messages [[message, ...], ...] were just finished, and their work rows are still there and held: they count where they are members.
CREATE OR REPLACE PROCEDURE {join_finished}(
    IN p_held LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin,
    IN p_now BIGINT)
MODIFIES SQL DATA
BEGIN
    DECLARE v_members LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin;
    DECLARE v_count BIGINT;
    SET STATEMENT group_concat_max_len = 1073741824 FOR
    SELECT CONCAT('[', GROUP_CONCAT('[', k.join_seq, ',', w.seq, ',', CASE f.status WHEN 2 THEN 1 ELSE 2 END, ']' ORDER BY k.join_seq, w.seq), ']') INTO v_members
    FROM JSON_TABLE(p_held, '$[*]' COLUMNS (seq BIGINT PATH '$[0]', status BIGINT PATH '$[1]')) AS h STRAIGHT_JOIN {outbox_work} AS w FORCE INDEX (PRIMARY) ON w.seq = h.seq AND w.joins IS NOT NULL
    STRAIGHT_JOIN {outbox_finished} AS f FORCE INDEX (PRIMARY) ON f.seq = w.seq
    STRAIGHT_JOIN JSON_TABLE(CONCAT('[', w.joins, ']'), '$[*]' COLUMNS (join_seq BIGINT PATH '$')) AS k
    FOR UPDATE;
    IF v_members IS NOT NULL THEN
        CALL {join_count}(v_members, p_now, v_count);
    END IF;
END
