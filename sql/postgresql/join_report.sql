-- join_report: count members of the join :number as :status; how many did, -1 if the join is gone, and 0.
WITH c AS MATERIALIZED (
    SELECT {join_count}(ARRAY(SELECT CAST(:number AS bigint) FROM json_array_elements_text(CAST(CAST(:seqs AS text) AS json))),
           ARRAY(SELECT CAST(s.seq AS bigint) FROM json_array_elements_text(CAST(CAST(:seqs AS text) AS json)) AS s (seq)),
           ARRAY(SELECT CAST(:status AS smallint) FROM json_array_elements_text(CAST(CAST(:seqs AS text) AS json))),
           coalesce(CAST(:now AS bigint), CAST(extract(epoch FROM statement_timestamp()) * 1000000 AS bigint))) AS counted
)
SELECT CASE WHEN c.counted > 0 OR EXISTS (SELECT 1 FROM {join} AS j WHERE j.seq = CAST(:number AS bigint) FOR KEY SHARE) THEN c.counted ELSE -1 END, 0
FROM c
