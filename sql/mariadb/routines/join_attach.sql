-- join_attach: make the messages of the JSON array :seqs members of the join :number, if it is open; those that were none; none that is just coming from another store. Those that are finished count.
CREATE OR REPLACE PROCEDURE {join_attach}(
    IN p_number BIGINT,
    IN p_seqs LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin,
    IN p_now BIGINT)
MODIFIES SQL DATA
BEGIN
    DECLARE v_alone BOOL DEFAULT @@in_transaction = 0 AND @@autocommit = 1;
    DECLARE v_now BIGINT DEFAULT COALESCE(p_now, TIMESTAMPDIFF(MICROSECOND, DATE'1970-01-01', UTC_TIMESTAMP(6)));
    DECLARE v_status BIGINT;
    DECLARE v_count BIGINT;
    DECLARE v_tries BIGINT DEFAULT 0;
    DECLARE v_join BIGINT;
    DECLARE v_far BIGINT;
    DECLARE v_there LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin;
    DECLARE v_working LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin;
    DECLARE v_done LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin;
    DECLARE v_new LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin;
{call_begin}
    -- The join is not deleted meanwhile: its entry in an index is held, which those that count do not want.
    SELECT MAX(j.seq) INTO v_join FROM {join} AS j FORCE INDEX (id)
    WHERE j.id = (SELECT s.id FROM {join} AS s WHERE s.seq = p_number)
    LOCK IN SHARE MODE;
    SELECT j.status INTO v_status FROM {join} AS j WHERE j.seq = p_number;
    IF v_status = 0 AND v_join IS NOT NULL THEN
        -- Whoever is finishing one waits and then sees the member, or is waited for and then seen; again, if one was replayed
        -- between the two looks.
        REPEAT
    SET STATEMENT group_concat_max_len = 1073741824 FOR
            SELECT CONCAT('[', GROUP_CONCAT(w.seq), ']'), COUNT(*), COALESCE(SUM(w.locked_until > v_now + 31536000000000), 0)
            INTO v_working, v_count, v_far
            FROM JSON_TABLE(p_seqs, '$[*]' COLUMNS (seq BIGINT PATH '$')) AS s STRAIGHT_JOIN {outbox_work} AS w FORCE INDEX (PRIMARY) ON w.seq = s.seq
            FOR UPDATE;
    SET STATEMENT group_concat_max_len = 1073741824 FOR
            SELECT CONCAT('[', GROUP_CONCAT('[', p_number, ',', f.seq, ',', CASE f.status WHEN 2 THEN 1 ELSE 2 END, ']' ORDER BY f.seq), ']'), v_count + COUNT(*)
            INTO v_done, v_count
            FROM JSON_TABLE(p_seqs, '$[*]' COLUMNS (seq BIGINT PATH '$')) AS s STRAIGHT_JOIN {outbox_finished} AS f FORCE INDEX (PRIMARY) ON f.seq = s.seq
            WHERE s.seq NOT IN (SELECT w.seq FROM JSON_TABLE(COALESCE(v_working, '[]'), '$[*]' COLUMNS (seq BIGINT PATH '$')) AS w)
            FOR UPDATE;
            SET v_tries = v_tries + 1;
        UNTIL v_count >= JSON_LENGTH(p_seqs) OR v_tries >= 20 END REPEAT;
        -- Those that are there, and are not just coming from another store.
        IF v_far > 0 OR v_count < JSON_LENGTH(p_seqs) THEN
    SET STATEMENT group_concat_max_len = 1073741824 FOR
            SELECT CONCAT('[', GROUP_CONCAT(s.seq ORDER BY s.seq), ']') INTO v_there
            FROM JSON_TABLE(p_seqs, '$[*]' COLUMNS (seq BIGINT PATH '$')) AS s
            WHERE (s.seq IN (SELECT w.seq FROM JSON_TABLE(COALESCE(v_working, '[]'), '$[*]' COLUMNS (seq BIGINT PATH '$')) AS w)
                   OR s.seq IN (SELECT d.seq FROM JSON_TABLE(COALESCE(v_done, '[]'), '$[*]' COLUMNS (seq BIGINT PATH '$[1]')) AS d))
              AND NOT EXISTS (SELECT 1 FROM {copy_item} AS c WHERE c.queue IN ('outbox', 'join') AND c.seq = s.seq AND c.arrived = 1);
            SET p_seqs = COALESCE(v_there, '[]');
        END IF;
    SET STATEMENT group_concat_max_len = 1073741824 FOR
        SELECT CONCAT('[', GROUP_CONCAT(s.seq ORDER BY s.seq), ']') INTO v_new
        FROM JSON_TABLE(p_seqs, '$[*]' COLUMNS (seq BIGINT PATH '$')) AS s LEFT JOIN {join_member} AS m FORCE INDEX (PRIMARY) ON m.join_seq = p_number AND m.seq = s.seq
        WHERE m.seq IS NULL
          AND NOT EXISTS (SELECT 1 FROM {outbox} AS o FORCE INDEX (PRIMARY) STRAIGHT_JOIN {join_member} AS x FORCE INDEX (PRIMARY) ON x.join_seq = p_number AND x.seq < 0 AND x.id = o.id
                          WHERE o.seq = s.seq);
        INSERT INTO {join_member} (join_seq, seq, id, status, attached_at)
        SELECT p_number, m.seq, m.id, 0, v_now
        FROM JSON_TABLE(v_new, '$[*]' COLUMNS (seq BIGINT PATH '$')) AS s STRAIGHT_JOIN {outbox} AS m FORCE INDEX (PRIMARY) ON m.seq = s.seq
        ON DUPLICATE KEY UPDATE attached_at = VALUE(attached_at);
        UPDATE JSON_TABLE(v_working, '$[*]' COLUMNS (seq BIGINT PATH '$')) AS s STRAIGHT_JOIN {outbox_work} AS w FORCE INDEX (PRIMARY) ON w.seq = s.seq
        SET w.joins = CONCAT_WS(',', w.joins, p_number)
        WHERE s.seq IN (SELECT n.seq FROM JSON_TABLE(v_new, '$[*]' COLUMNS (seq BIGINT PATH '$')) AS n);
        IF v_done IS NOT NULL THEN
            CALL {join_count}(v_done, v_now, v_count);
        END IF;
    END IF;
{call_end}
    SELECT s.seq FROM JSON_TABLE(v_new, '$[*]' COLUMNS (seq BIGINT PATH '$')) AS s;
END
