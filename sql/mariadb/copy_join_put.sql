-- copy_join_put: store a join that comes from the store :owner. It is none here until it is let go.
INSERT INTO {copy_join} (id, peer, arrived, status, expected, completed, failed, fail_if_any, grouping_key, metadata, created_at, deadline_at, ended_at, reason)
VALUES (UNHEX(REPLACE(:id, '-', '')), UNHEX(REPLACE(:owner, '-', '')), 1, :status, :number, :attempts, :version, :count,
        :name, :payload, :since, :expires_at, :until, :reason)
