-- queue_claim: lease up to :batch due messages of the JSON array :topics to :owner for :lease us.
CREATE OR REPLACE PROCEDURE {queue_claim}(
    IN p_topics LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin,
    IN p_owner VARCHAR(36) CHARACTER SET ascii COLLATE ascii_bin,
    IN p_now BIGINT,
    IN p_since BIGINT,
    IN p_after VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin,
    IN p_lease BIGINT,
    IN p_batch BIGINT,
    IN p_max_attempts BIGINT)
MODIFIES SQL DATA
BEGIN
    DECLARE v_alone BOOL DEFAULT @@in_transaction = 0 AND @@autocommit = 1;
    DECLARE v_now BIGINT DEFAULT COALESCE(p_now, TIMESTAMPDIFF(MICROSECOND, DATE'1970-01-01', UTC_TIMESTAMP(6)));
    DECLARE v_count BIGINT DEFAULT JSON_LENGTH(p_topics);
    DECLARE v_at BIGINT DEFAULT 0;
    DECLARE v_topic VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin;
    DECLARE v_share BIGINT DEFAULT p_batch;
    DECLARE v_seen LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin;
    DECLARE v_found LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin;
    DECLARE v_heads LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin;
    DECLARE v_keys BIGINT DEFAULT 0;
    DECLARE v_reached VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin;
    DECLARE v_left BIGINT;
    DECLARE v_keyed BOOL;
{call_begin}
    -- Without an ordering key: the first rows of each topic, as many as it has among the first of all topics.
    WHILE v_count > 1 AND v_at < v_count DO
        SET v_at = v_at + 1;
        SELECT t.topic INTO v_topic FROM JSON_TABLE(p_topics, '$[*]' COLUMNS (place FOR ORDINALITY, topic VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin PATH '$')) AS t WHERE t.place = v_at;
        SET STATEMENT group_concat_max_len = 1073741824 FOR
        SELECT NULLIF(CONCAT_WS(',', v_seen, GROUP_CONCAT('[', v_at, ',', c.next_attempt_at, ',', c.seq, ']')), '') INTO v_seen
        FROM (
            SELECT w.seq, w.next_attempt_at FROM {queue_work} AS w FORCE INDEX (ready)
            WHERE w.topic = v_topic AND w.status = 0 AND w.next_attempt_at >= p_since AND w.next_attempt_at <= v_now
              AND (w.expires_at IS NULL OR w.expires_at > v_now)
            ORDER BY w.next_attempt_at, w.seq
            LIMIT p_batch) AS c;
    END WHILE;
    SET v_at = 0;
    WHILE v_at < v_count DO
        SET v_at = v_at + 1;
        SELECT t.topic INTO v_topic FROM JSON_TABLE(p_topics, '$[*]' COLUMNS (place FOR ORDINALITY, topic VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin PATH '$')) AS t WHERE t.place = v_at;
        IF v_count > 1 THEN
            SELECT COUNT(*) INTO v_share
            FROM (SELECT j.at FROM JSON_TABLE(CONCAT('[', COALESCE(v_seen, ''), ']'), '$[*]' COLUMNS (
                      at BIGINT PATH '$[0]', next_attempt_at BIGINT PATH '$[1]', seq BIGINT PATH '$[2]')) AS j
                  ORDER BY j.next_attempt_at, j.seq
                  LIMIT p_batch) AS f
            WHERE f.at = v_at;
        END IF;
        IF v_share > 0 THEN
            SET STATEMENT group_concat_max_len = 1073741824 FOR
            SELECT NULLIF(CONCAT_WS(',', v_found, GROUP_CONCAT('[', c.seq, ',', c.next_attempt_at, ']')), '') INTO v_found
            FROM (
                SELECT w.seq, w.next_attempt_at FROM {queue_work} AS w FORCE INDEX (ready)
                WHERE w.topic = v_topic AND w.status = 0 AND w.next_attempt_at >= p_since AND w.next_attempt_at <= v_now
              AND (w.expires_at IS NULL OR w.expires_at > v_now)
                ORDER BY w.next_attempt_at, w.seq
                LIMIT v_share
                FOR UPDATE SKIP LOCKED) AS c;
        END IF;
    END WHILE;
    -- With one: the first unfinished row of each key that has none running; an index keeps a second one from running.
    -- 1,000 keys are looked at, those after the key p_after first.
    -- A condition with this in it would lock the rows: it is a statement.
    SELECT EXISTS (SELECT 1 FROM {queue_work} AS w WHERE w.ordering_key > '') INTO v_keyed;
    IF v_keyed THEN
        SELECT NULLIF(CONCAT_WS(',', v_heads, GROUP_CONCAT('[', h.seq, ']')), ''), v_keys + COUNT(*), COALESCE(MAX(h.ordering_key), v_reached)
        INTO v_heads, v_keys, v_reached
        FROM (SELECT w.ordering_key, MIN(w.seq) AS seq FROM {queue_work} AS w FORCE INDEX (keyed)
              WHERE w.ordering_key > p_after
              GROUP BY w.ordering_key
              ORDER BY w.ordering_key
              LIMIT 1000) AS h;
        SET v_left = 1000 - v_keys;
        IF v_left > 0 AND p_after <> '' THEN
            SELECT NULLIF(CONCAT_WS(',', v_heads, GROUP_CONCAT('[', h.seq, ']')), ''), v_keys + COUNT(*), COALESCE(MAX(h.ordering_key), v_reached)
            INTO v_heads, v_keys, v_reached
            FROM (SELECT w.ordering_key, MIN(w.seq) AS seq FROM {queue_work} AS w FORCE INDEX (keyed)
                  WHERE w.ordering_key > '' AND w.ordering_key <= p_after
                  GROUP BY w.ordering_key
                  ORDER BY w.ordering_key
                  LIMIT v_left) AS h;
        END IF;
        SELECT CONCAT('[', GROUP_CONCAT('[', f.seq, ']' ORDER BY f.seq), ']') INTO v_heads
        FROM (
            SELECT w.seq, w.next_attempt_at
            FROM JSON_TABLE(CONCAT('[', v_heads, ']'), '$[*]' COLUMNS (seq BIGINT PATH '$[0]', claim_number BIGINT PATH '$[1]')) AS h STRAIGHT_JOIN {queue_work} AS w FORCE INDEX (PRIMARY) ON w.seq = h.seq
            WHERE w.status = 4 AND w.next_attempt_at <= v_now AND (w.expires_at IS NULL OR w.expires_at > v_now)
          AND w.topic IN (SELECT t.topic FROM JSON_TABLE(p_topics, '$[*]' COLUMNS (place FOR ORDINALITY, topic VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin PATH '$')) AS t)
              AND NOT EXISTS (SELECT 1 FROM {queue_work} AS r WHERE r.running_key = w.ordering_key)
            ORDER BY w.next_attempt_at, w.seq
            LIMIT p_batch) AS f;
        SET STATEMENT group_concat_max_len = 1073741824 FOR
        SELECT NULLIF(CONCAT_WS(',', v_found, GROUP_CONCAT('[', w.seq, ',', w.next_attempt_at, ']')), '') INTO v_found
        FROM JSON_TABLE(v_heads, '$[*]' COLUMNS (seq BIGINT PATH '$[0]', claim_number BIGINT PATH '$[1]')) AS h STRAIGHT_JOIN {queue_work} AS w FORCE INDEX (PRIMARY) ON w.seq = h.seq
        WHERE w.status = 4 AND w.next_attempt_at <= v_now AND (w.expires_at IS NULL OR w.expires_at > v_now)
          AND w.topic IN (SELECT t.topic FROM JSON_TABLE(p_topics, '$[*]' COLUMNS (place FOR ORDINALITY, topic VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin PATH '$')) AS t)
        FOR UPDATE SKIP LOCKED;
    END IF;
    SET STATEMENT group_concat_max_len = 1073741824 FOR
    SELECT CONCAT('[', GROUP_CONCAT('[', p.seq, ']' ORDER BY p.next_attempt_at, p.seq), ']') INTO v_found
    FROM (
        SELECT j.seq, j.next_attempt_at
        FROM JSON_TABLE(CONCAT('[', v_found, ']'), '$[*]' COLUMNS (seq BIGINT PATH '$[0]', next_attempt_at BIGINT PATH '$[1]')) AS j
        ORDER BY j.next_attempt_at, j.seq
        LIMIT p_batch) AS p;
    UPDATE JSON_TABLE(v_found, '$[*]' COLUMNS (seq BIGINT PATH '$[0]', claim_number BIGINT PATH '$[1]')) AS c STRAIGHT_JOIN {queue_work} AS w FORCE INDEX (PRIMARY) ON w.seq = c.seq
    SET w.status = 1, w.running_key = w.ordering_key, w.owner_token = UNHEX(REPLACE(p_owner, '-', '')),
        w.locked_until = v_now + p_lease, w.claim_number = w.claim_number + 1, w.max_attempts = p_max_attempts;
    -- Where there are more keys, a row of nulls tells how far this went. The rows come in the order of v_found.
    IF v_keys >= 1000 THEN
        SET v_found = CONCAT('[[null]', COALESCE(CONCAT(',', SUBSTR(v_found, 2)), ']'));
    END IF;
    SELECT c.seq, w.attempt, w.claim_number, HEX(m.id), m.topic, m.payload, m.headers, m.correlation_id,
           CASE WHEN c.seq IS NULL THEN v_reached ELSE m.ordering_key END, m.created_at, m.due_at, m.expires_at,
           w.last_error, w.next_attempt_at, v_now{columns}
    FROM JSON_TABLE(COALESCE(v_found, '[]'), '$[*]' COLUMNS (seq BIGINT PATH '$[0]', claim_number BIGINT PATH '$[1]')) AS c
    LEFT JOIN {queue_work} AS w ON w.seq = c.seq
    LEFT JOIN {queue} AS m ON m.seq = w.seq;
{call_end}
END
