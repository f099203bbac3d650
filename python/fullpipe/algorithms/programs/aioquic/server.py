"""A QUIC server that sends as many bytes as a client asks for, and writes a qlog of each connection."""

from __future__ import annotations

import argparse
import asyncio
import signal
from typing import Any

import aioquic
from aioquic.asyncio import QuicConnectionProtocol, serve
from aioquic.quic.configuration import QuicConfiguration
from aioquic.quic.events import QuicEvent, StreamDataReceived
from aioquic.quic.logger import QuicFileLogger

ALPN = ["hq-interop"]
AHEAD = 1 << 20
ALL: list[Sender] = []


class Sender(QuicConnectionProtocol):
    """Keeps some data ready to be sent on the stream of each request."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:  # noqa: ANN401
        super().__init__(*args, **kwargs)
        self.left: dict[int, int] = {}
        ALL.append(self)

    def quic_event_received(self, event: QuicEvent) -> None:
        """Reads the number of bytes to send."""
        if isinstance(event, StreamDataReceived) and event.end_stream:
            self.left[event.stream_id] = int(event.data)

    def transmit(self) -> None:
        """Adds data to streams that have little left to send."""
        for stream_id, left in list(self.left.items()):
            waiting = len(self._quic._streams[stream_id].sender._buffer)
            more = min(left, AHEAD - waiting)
            if left and more < AHEAD // 2 and more < left:
                continue
            self.left[stream_id] = left - more
            self._quic.send_stream_data(stream_id, bytes(more), end_stream=more == left)
            if more == left:
                del self.left[stream_id]
        super().transmit()


async def main(options: argparse.Namespace) -> None:
    """Serves until SIGTERM."""
    configuration = QuicConfiguration(
        is_client=False,
        alpn_protocols=ALPN,
        congestion_control_algorithm=options.cc,
        quic_logger=QuicFileLogger("."),
    )
    configuration.load_cert_chain(options.cert, options.key)
    over = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, over.set)
    server = await serve(
        "0.0.0.0", options.port, configuration=configuration, create_protocol=Sender
    )
    await over.wait()
    server.close()
    for each in ALL:  # a connection that is not over yet has not written its qlog
        if each._quic._quic_logger is not None:
            configuration.quic_logger.end_trace(each._quic._quic_logger)
            each._quic._quic_logger = None


parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--port", type=int)
parser.add_argument("--cert")
parser.add_argument("--key")
parser.add_argument("--cc", default="cubic")
parser.add_argument("--version", action="version", version=f"aioquic {aioquic.__version__}")
asyncio.run(main(parser.parse_args()))
