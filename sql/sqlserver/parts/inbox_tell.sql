-- inbox_tell: the arrival.
    SELECT CONVERT(CHAR(36), a.Id), a.Seq, LOWER(CONVERT(NVARCHAR(2048), a.Hash, 2)), a.HashAlgorithm, CASE WHEN a.Id = @Id THEN NULL WHEN a.Status = 1 AND a.LockedUntil IS NULL THEN 6 ELSE CAST(a.Status AS INT) END
    FROM @arrived AS a;
