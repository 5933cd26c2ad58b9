"""Pattern and word files as data, with each mistake named by its line. Pure."""
