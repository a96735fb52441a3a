-- lease_make: a row for :name, free. Apart from the acquire, which draws its fence while it holds the
-- row: one drawn before the insert could come late, behind a greater one that is forgotten already.
INSERT INTO {lease} (name, fence, held_until, acquired_at)
VALUES (CAST(:name AS text), nextval({text:lease_fence}), 0, 0)
ON CONFLICT (name) DO NOTHING
