"""What a patch may not do: weaken tests or their configuration, look for tests, add secrets."""
