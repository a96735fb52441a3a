-- connection_encoding: the text :name, which is U+00E9, if it arrives as that; no server knows what SQL_ASCII is.
SELECT CASE WHEN ascii(CAST(:name AS text)) = 233 OR current_setting('server_encoding') = 'SQL_ASCII'
            THEN CAST(:name AS text) END
