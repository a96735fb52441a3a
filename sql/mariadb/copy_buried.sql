-- copy_buried: the dead ones of :seqs, which are dead letters again, count where they became members of joins meanwhile.
CALL {join_finished}((SELECT CONCAT('[', GROUP_CONCAT('[', w.seq, ']'), ']')
                      FROM JSON_TABLE(:seqs, '$[*]' COLUMNS (seq BIGINT PATH '$')) AS s STRAIGHT_JOIN {outbox_work} AS w FORCE INDEX (PRIMARY) ON w.seq = s.seq
                      WHERE w.joins IS NOT NULL),
                     COALESCE(:now, TIMESTAMPDIFF(MICROSECOND, DATE'1970-01-01', UTC_TIMESTAMP(6))))
