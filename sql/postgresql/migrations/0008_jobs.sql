-- 0008_jobs: jobs whose last occurrence is in the future: the clock was ahead.

CREATE INDEX {name:job_fired} ON {job} (fired_at) WHERE fired_at IS NOT NULL;
