// A QUIC server that sends as many bytes as a client asks for, and its client.
//
//	fullpipe-quic-go server PORT CERT KEY
//	fullpipe-quic-go client ADDRESS PORT BYTES
package main

import (
	"context"
	"crypto/tls"
	"embed"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"net"
	"os"
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	"github.com/quic-go/quic-go"
	"github.com/quic-go/quic-go/qlog"
)

const alpn = "hq-interop"

// Windows that do not limit a transfer, bytes.
const window = 1 << 26

// The files that the recipe names as its sources.
//
//go:embed main.go go.mod go.sum
var sources embed.FS

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(words []string) error {
	switch {
	case len(words) == 1 && words[0] == "--version":
		fmt.Printf("fullpipe-quic-go with quic-go %s, source %016x\n", version(), source())
		return nil
	case len(words) == 4 && words[0] == "server":
		return serve(words[1], words[2], words[3])
	case len(words) == 4 && words[0] == "client":
		return take(net.JoinHostPort(words[1], words[2]), words[3])
	}
	return errors.New("arguments: server PORT CERT KEY, or client ADDRESS PORT BYTES")
}

func version() string {
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, each := range info.Deps {
			if each.Path == "github.com/quic-go/quic-go" {
				return each.Version
			}
		}
	}
	return "of an unknown version"
}

// source returns a hash of the sources, by which fullpipe notices that the recipe has changed since the build.
func source() uint64 {
	hash := fnv.New64a()
	for _, name := range []string{"main.go", "go.mod", "go.sum"} {
		if data, err := sources.ReadFile(name); err == nil {
			hash.Write(data)
		}
	}
	return hash.Sum64()
}

func serve(port, cert, key string) error {
	pair, err := tls.LoadX509KeyPair(cert, key)
	if err != nil {
		return err
	}
	listener, err := quic.ListenAddr(
		"0.0.0.0:"+port,
		&tls.Config{Certificates: []tls.Certificate{pair}, NextProtos: []string{alpn}},
		// The directory for qlogs is the variable QLOGDIR.
		&quic.Config{Tracer: qlog.DefaultConnectionTracer},
	)
	if err != nil {
		return err
	}
	for {
		conn, err := listener.Accept(context.Background())
		if err != nil {
			return err
		}
		go func() {
			if err := answer(conn); err != nil {
				fmt.Fprintln(os.Stderr, err)
			}
		}()
	}
}

func answer(conn *quic.Conn) error {
	stream, err := conn.AcceptStream(context.Background())
	if err != nil {
		return err
	}
	asked, err := io.ReadAll(io.LimitReader(stream, 64))
	if err != nil {
		return err
	}
	size, err := strconv.ParseInt(strings.TrimSpace(string(asked)), 10, 64)
	if err != nil {
		return err
	}
	if _, err := io.CopyN(stream, zeros{}, size); err != nil {
		return err
	}
	return stream.Close()
}

// zeros reads as bytes of 0 without an end.
type zeros struct{}

func (zeros) Read(into []byte) (int, error) {
	clear(into)
	return len(into), nil
}

func take(server, size string) error {
	asked, err := strconv.ParseInt(size, 10, 64)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	conn, err := quic.DialAddr(
		ctx,
		server,
		&tls.Config{InsecureSkipVerify: true, NextProtos: []string{alpn}},
		&quic.Config{
			InitialStreamReceiveWindow: window, MaxStreamReceiveWindow: window,
			InitialConnectionReceiveWindow: window, MaxConnectionReceiveWindow: window,
		},
	)
	if err != nil {
		return err
	}
	stream, err := conn.OpenStreamSync(ctx)
	if err != nil {
		return err
	}
	if _, err := io.WriteString(stream, size); err != nil {
		return err
	}
	if err := stream.Close(); err != nil {
		return err
	}
	taken, err := io.Copy(io.Discard, stream)
	if err != nil {
		return err
	}
	if taken < asked {
		return fmt.Errorf("%d bytes came, and not %d", taken, asked)
	}
	return conn.CloseWithError(0, "done")
}
