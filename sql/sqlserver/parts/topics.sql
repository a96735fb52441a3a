-- topics: @topic, from the JSON array @Topics.
    DECLARE @topic TABLE (Place INT NOT NULL PRIMARY KEY, Topic NVARCHAR(255) COLLATE Latin1_General_BIN2 NOT NULL);
    INSERT INTO @topic (Place, Topic)
    SELECT CAST(j.[key] AS INT), CAST(j.value AS NVARCHAR(255)) FROM OPENJSON(@Topics) AS j;
