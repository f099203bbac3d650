"""A QUIC client that asks a server for a number of bytes, and counts them."""

from __future__ import annotations

import asyncio
import ssl
import sys
from socket import SO_RCVBUF, SOL_SOCKET
from typing import Any

from aioquic.asyncio import QuicConnectionProtocol, connect
from aioquic.quic.configuration import QuicConfiguration
from aioquic.quic.events import ConnectionTerminated, QuicEvent, StreamDataReceived

WINDOW = 1 << 26
BUFFER = 1 << 22
"""Receive buffer of the socket, bytes; the kernel's limit is net.core.rmem_max."""


class Taker(QuicConnectionProtocol):
    """Counts the bytes of a response."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:  # noqa: ANN401
        super().__init__(*args, **kwargs)
        self.taken = 0
        self.done = asyncio.get_running_loop().create_future()

    def quic_event_received(self, event: QuicEvent) -> None:
        """Counts data, and notes the end."""
        if isinstance(event, StreamDataReceived):
            self.taken += len(event.data)
        ended = isinstance(event, ConnectionTerminated) or getattr(event, "end_stream", False)
        if ended and not self.done.done():
            self.done.set_result(None)


async def main(address: str, port: int, size: str) -> None:
    """Takes `size` bytes; the exit code is 1 if fewer come."""
    configuration = QuicConfiguration(
        is_client=True,
        alpn_protocols=["hq-interop"],
        verify_mode=ssl.CERT_NONE,
        server_name="fullpipe.test",
        max_data=WINDOW,
        max_stream_data=WINDOW,
    )
    async with connect(
        address, port, configuration=configuration, create_protocol=Taker
    ) as connection:
        socket = connection._transport.get_extra_info("socket")
        socket.setsockopt(SOL_SOCKET, SO_RCVBUF, BUFFER)
        connection._quic.send_stream_data(
            connection._quic.get_next_available_stream_id(), size.encode(), end_stream=True
        )
        connection.transmit()
        await connection.done
        if connection.taken < int(size):
            sys.exit(f"{connection.taken} bytes came, and not {size}")


asyncio.run(main(sys.argv[1], int(sys.argv[2]), sys.argv[3]))
