"""The text of a module with an algorithm that others derive from: a fixed window."""

PLAIN = """\
import fullpipe

class Plain:
    def __init__(self, config):
        self.cwnd = config.initial_cwnd

    def on_ack(self, cx, ack): ...

    def decision(self):
        return fullpipe.Decision(self.cwnd)

"""
