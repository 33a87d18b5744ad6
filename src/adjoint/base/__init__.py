"""What every other folder stands on: errors, source lines, scopes, settings, progress."""
