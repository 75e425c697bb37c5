import { once } from "node:events";
import { createServer, type AddressInfo, type Server, type Socket } from "node:net";
import { untilDrained } from "../../lib/until-drained.ts";
import { STREAM_CHANNELS } from "../../protocol/stream-data.ts";
import { Failure, usageFailure } from "../failure.ts";
import type { ClientStream } from "./client-stream.ts";
import type { StreamConnection } from "./connection.ts";

export interface ForwardOptions {
  /** Returns an open connection. Called for each local connection. */
  readonly connection: () => Promise<StreamConnection>;
  /** Port of the app. */
  readonly port: number;
  readonly address: string;
  /** Local port; without one the app's if it is free, or any. */
  readonly localPort: number | undefined;
  /** Called with the bytes that were passed on. */
  readonly onBytes: (direction: "sent" | "received", bytes: number) => void;
  /** Called when a local connection fails. */
  readonly onFailure: (failure: Failure) => void;
}

/** A local port that leads to a port of an app. Dispose it to close it with all its connections. */
export interface Forward extends AsyncDisposable {
  readonly address: AddressInfo;
}

/** Listens on the local port. Errors: `Failure` with exit code 2 if the port cannot be used. */
export async function startForward(options: ForwardOptions): Promise<Forward> {
  const sockets = new Set<Socket>();
  const server = createServer({ allowHalfOpen: true, noDelay: true }, (socket) => {
    sockets.add(socket);
    socket.on("close", () => sockets.delete(socket));
    // Whoever reads or writes sees errors.
    socket.on("error", () => undefined);
    passOn(socket, options).catch((error: unknown) => {
      socket.resetAndDestroy();
      if (error instanceof Failure) options.onFailure(error);
    });
  });
  const { address, port, localPort } = options;
  try {
    if (localPort !== undefined) await listen(server, localPort, address);
    // A port below 1024 may not be used by everybody.
    else await listen(server, port, address).catch(() => listen(server, 0, address));
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    const where = `${address}:${localPort ?? "(any port)"}`;
    const why = code === "EADDRINUSE" ? "it is in use" : (code ?? "unknown reason");
    throw usageFailure(`Cannot listen on ${where}: ${why}.`, "Choose another port with --local.");
  }
  return {
    address: server.address() as AddressInfo,
    async [Symbol.asyncDispose]() {
      const closed = once(server, "close");
      server.close();
      for (const socket of sockets) socket.destroy();
      await closed;
    },
  };
}

async function listen(server: Server, port: number, host: string): Promise<void> {
  const listening = once(server, "listening");
  server.listen({ port, host, exclusive: true });
  await listening;
}

async function passOn(socket: Socket, { connection: connect, port, onBytes }: ForwardOptions): Promise<void> {
  const connection = await connect();
  using stream = connection.open("forward", { port });
  socket.once("close", () => stream[Symbol.dispose]());
  await stream.opened;
  await Promise.all([toApp(socket, stream, onBytes), fromApp(socket, stream, onBytes)]);
  const failure = connection.failureOf(await settled(stream));
  if (failure) throw failure;
}

/** Both directions have ended; the device confirms it. */
function settled(stream: ClientStream): ClientStream["ended"] {
  stream[Symbol.dispose]();
  return stream.ended;
}

async function toApp(socket: Socket, stream: ClientStream, onBytes: ForwardOptions["onBytes"]): Promise<void> {
  try {
    // The other direction stays open after the end of this one.
    for await (const bytes of socket.iterator({ destroyOnReturn: false }) as AsyncIterable<Uint8Array>) {
      if (!(await stream.write(bytes))) return;
      onBytes("sent", bytes.length);
    }
  } catch {
    // The local program has broken the connection.
    return stream[Symbol.dispose]();
  }
  await stream.end();
}

async function fromApp(socket: Socket, stream: ClientStream, onBytes: ForwardOptions["onBytes"]): Promise<void> {
  // The app or the device has broken the connection.
  void stream.ended.then(({ code }) => code !== undefined && socket.resetAndDestroy());
  for await (const { channel, bytes } of stream.read()) {
    if (channel !== STREAM_CHANNELS.data || socket.destroyed) continue;
    onBytes("received", bytes.length);
    if (!socket.write(bytes)) await untilDrained(socket);
  }
  if (!socket.destroyed) socket.end();
  // Nobody takes what the local program still sends.
  void stream.ended.then(() => socket.destroySoon());
}
