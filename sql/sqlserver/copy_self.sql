-- copy_self: the id of this store, if it has one yet.
EXEC {CopySelf_Get}
