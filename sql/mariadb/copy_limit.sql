-- copy_limit: how many bytes a message may have, at most, with all that belongs to it.
SELECT @@max_allowed_packet
