-- queue_replay_end: those are not dead any more.
CREATE OR REPLACE PROCEDURE {queue_replay_end}(
    IN p_seqs LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin)
MODIFIES SQL DATA
BEGIN
    DECLARE v_alone BOOL DEFAULT @@in_transaction = 0 AND @@autocommit = 1;
    DECLARE v_held LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin;
{call_begin}
    SET STATEMENT group_concat_max_len = 1073741824 FOR
    SELECT CONCAT('[', GROUP_CONCAT('[', f.seq, ']' ORDER BY f.seq), ']') INTO v_held
    FROM JSON_TABLE(p_seqs, '$[*]' COLUMNS (seq BIGINT PATH '$')) AS s STRAIGHT_JOIN {queue_finished} AS f FORCE INDEX (PRIMARY) ON f.seq = s.seq
    WHERE f.status = 3
      AND (EXISTS (SELECT 1 FROM {queue_work} AS w WHERE w.seq = f.seq)
           OR EXISTS (SELECT 1 FROM {queue} AS m WHERE m.seq = f.seq AND m.topic IS NULL))
    FOR UPDATE;
    DELETE f FROM JSON_TABLE(v_held, '$[*]' COLUMNS (seq BIGINT PATH '$[0]', claim_number BIGINT PATH '$[1]')) AS c STRAIGHT_JOIN {queue_finished} AS f FORCE INDEX (PRIMARY) ON f.seq = c.seq;
{call_end}
    SELECT c.seq FROM JSON_TABLE(v_held, '$[*]' COLUMNS (seq BIGINT PATH '$[0]', claim_number BIGINT PATH '$[1]')) AS c;
END
