-- copy_join_put: store a join that comes from the store :owner. It is none here until it is let go.
INSERT INTO {copy_join} (id, peer, arrived, status, expected, completed, failed, fail_if_any, grouping_key, metadata, created_at, deadline_at, ended_at, reason)
VALUES (CAST(CAST(:id AS text) AS uuid), CAST(CAST(:owner AS text) AS uuid), 1, CAST(:status AS smallint), CAST(:number AS bigint), CAST(:attempts AS bigint), CAST(:version AS bigint), CAST(:count AS smallint),
        CAST(:name AS text), CAST(:payload AS text), CAST(:since AS bigint), CAST(:expires_at AS bigint), CAST(:until AS bigint), CAST(:reason AS text))
