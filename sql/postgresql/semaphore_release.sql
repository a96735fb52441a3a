-- semaphore_release: free the slot that :owner holds; with :fence, that very one.
SELECT f.fence
FROM {semaphore_free}(CAST(:name AS text), CAST(:owner AS text), CAST(:fence AS bigint), CAST(:now AS bigint)) AS f (fence)
