"""Names of other libraries with the same meaning here, so that their users change one import."""
