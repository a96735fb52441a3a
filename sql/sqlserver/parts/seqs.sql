-- seqs: @seq, from the JSON array @Seqs, with their places.
    DECLARE @seq TABLE (Place INT NOT NULL, Seq BIGINT NOT NULL PRIMARY KEY);
    INSERT INTO @seq (Place, Seq)
    SELECT MIN(CAST(j.[key] AS INT)), CAST(j.value AS BIGINT) FROM OPENJSON(@Seqs) AS j GROUP BY CAST(j.value AS BIGINT);
