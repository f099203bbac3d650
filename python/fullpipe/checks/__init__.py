"""`fullpipe check`: whether scenarios come to what they say in `expect`."""
