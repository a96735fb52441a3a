-- audit_list: up to :batch notes before :number, the latest first.
SELECT seq, at, actor, action, queue, subject, detail FROM {audit} WHERE seq < CAST(:number AS bigint)
ORDER BY seq DESC LIMIT CAST(:batch AS bigint)
