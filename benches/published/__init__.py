"""Plans and questions that others published, as small files with their licences."""
