-- claims: @claim, from @Claims [[seq, claim number or null], ...].
    DECLARE @claim TABLE (Seq BIGINT NOT NULL, ClaimNumber BIGINT NULL);
    INSERT INTO @claim (Seq, ClaimNumber)
    SELECT j.Seq, j.ClaimNumber FROM OPENJSON(@Claims) WITH (Seq BIGINT '$[0]', ClaimNumber BIGINT '$[1]') AS j;
