"""Documents that a run is given: files are read, checked and named before any model is asked."""
