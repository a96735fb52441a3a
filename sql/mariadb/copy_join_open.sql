-- copy_join_open: the joins that came from the store :owner are joins here.
CALL {copy_join_open}(:owner)
