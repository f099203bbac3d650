"""Numbers of ours beside those that they are judged by: estimated, judged, shown and stored."""
