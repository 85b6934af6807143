"""The running controller: reconciling, journal, control socket, metrics."""
