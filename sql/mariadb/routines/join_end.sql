-- join_end: what is to be enqueued when the joins [[join, status], ...] are over now is, and those that wait for them wait no more. A waiting message that is locked is being claimed, and whoever claims it looks at the join.
CREATE OR REPLACE PROCEDURE {join_end}(
    IN p_ended LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin,
    IN p_now BIGINT)
MODIFIES SQL DATA
BEGIN
    DECLARE v_waiting LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin;
    DECLARE v_free LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin;
    INSERT INTO {outbox} (id, topic, payload, headers, correlation_id, ordering_key, created_at, due_at)
    SELECT n.id, n.topic, n.payload, n.headers, n.correlation_id, n.ordering_key, p_now, p_now
    FROM JSON_TABLE(p_ended, '$[*]' COLUMNS (seq BIGINT PATH '$[0]', status BIGINT PATH '$[1]')) AS e STRAIGHT_JOIN {join_next} AS n FORCE INDEX (PRIMARY) ON n.join_seq = e.seq AND n.status = e.status;
    SET STATEMENT group_concat_max_len = 1073741824 FOR
    SELECT CONCAT('[', GROUP_CONCAT('[', v.join_seq, ',', v.seq, ']' ORDER BY v.join_seq, v.seq), ']') INTO v_waiting
    FROM JSON_TABLE(p_ended, '$[*]' COLUMNS (seq BIGINT PATH '$[0]', status BIGINT PATH '$[1]')) AS e STRAIGHT_JOIN {join_wait} AS v FORCE INDEX (PRIMARY) ON v.join_seq = e.seq;
    IF v_waiting IS NOT NULL THEN
    SET STATEMENT group_concat_max_len = 1073741824 FOR
        SELECT CONCAT('[', GROUP_CONCAT(w.seq), ']') INTO v_free
        FROM JSON_TABLE(v_waiting, '$[*]' COLUMNS (join_seq BIGINT PATH '$[0]', seq BIGINT PATH '$[1]', outcome BIGINT PATH '$[2]')) AS k STRAIGHT_JOIN {outbox_work} AS w FORCE INDEX (PRIMARY) ON w.seq = k.seq
        WHERE w.status <> 1
        FOR UPDATE SKIP LOCKED;
        UPDATE JSON_TABLE(v_free, '$[*]' COLUMNS (seq BIGINT PATH '$')) AS s STRAIGHT_JOIN {outbox_work} AS w FORCE INDEX (PRIMARY) ON w.seq = s.seq
        SET w.next_attempt_at = p_now;
        DELETE v FROM JSON_TABLE(v_waiting, '$[*]' COLUMNS (join_seq BIGINT PATH '$[0]', seq BIGINT PATH '$[1]', outcome BIGINT PATH '$[2]')) AS k STRAIGHT_JOIN {join_wait} AS v FORCE INDEX (PRIMARY) ON v.join_seq = k.join_seq AND v.seq = k.seq;
    END IF;
END
