-- inbox_columns: what a message of the inbox has besides, wherever one is read.
, m.Source, m.MessageId, m.Consumer, LOWER(CONVERT(NVARCHAR(2048), m.Hash, 2)), m.HashAlgorithm, DATEDIFF_BIG(MICROSECOND, CAST('1970-01-01' AS DATETIME2(6)), m.LastSeenUtc)
