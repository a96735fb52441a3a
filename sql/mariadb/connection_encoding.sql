-- connection_encoding: the text :name, which is U+00E9, if it arrives as that, and any other text would, too.
SELECT CASE WHEN HEX(CONVERT(:name USING utf8mb4)) = 'C3A9' AND @@character_set_client = 'utf8mb4'
             AND @@character_set_connection = 'utf8mb4' AND @@character_set_results = 'utf8mb4'
            THEN :name END
