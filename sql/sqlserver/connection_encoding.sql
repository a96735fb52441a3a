-- connection_encoding: the text :name, which is U+00E9, if it arrives as that, and any other text would, too.
SELECT CASE WHEN t.text = NCHAR(233) AND DATALENGTH(t.text) = 2 THEN t.text END FROM (SELECT CAST(:name AS NVARCHAR(255)) AS text) AS t
