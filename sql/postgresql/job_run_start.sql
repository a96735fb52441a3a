-- job_run_start: note that the runs :seqs begin; what is needed to run them. end: 1 if their job is gone, 2 if whoever had them was asked to end them.
UPDATE {job_run} AS r SET started_at = coalesce(CAST(:now AS bigint), CAST(extract(epoch FROM statement_timestamp()) * 1000000 AS bigint))
WHERE r.seq IN (SELECT CAST(s.seq AS bigint) FROM json_array_elements_text(CAST(CAST(:seqs AS text) AS json)) AS s (seq))
RETURNING r.seq, r.job_name, r.options,
          CASE WHEN NOT EXISTS (SELECT 1 FROM {job} AS j WHERE j.id = r.job_id) THEN 1
               WHEN r.cancel_at IS NOT NULL
                    AND NOT EXISTS (SELECT 1 FROM {job_run_replayed} AS p WHERE p.seq = r.seq AND p.replayed_at >= r.cancel_at) THEN 2
               ELSE 0 END
