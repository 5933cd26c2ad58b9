"""What a run is given to read: taken in, kept in its folder, and put into its plan."""
