-- join_report: count members of the join :number as :status; how many did, and 0.
SELECT {join_count}(ARRAY(SELECT CAST(:number AS bigint) FROM json_array_elements_text(CAST(CAST(:seqs AS text) AS json))),
       ARRAY(SELECT CAST(s.seq AS bigint) FROM json_array_elements_text(CAST(CAST(:seqs AS text) AS json)) AS s (seq)),
       ARRAY(SELECT CAST(:status AS smallint) FROM json_array_elements_text(CAST(CAST(:seqs AS text) AS json))),
       coalesce(CAST(:now AS bigint), CAST(extract(epoch FROM statement_timestamp()) * 1000000 AS bigint))), 0
