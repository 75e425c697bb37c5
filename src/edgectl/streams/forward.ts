import { once } from "node:events";
import { type AddressInfo, createServer, type Server, type Socket } from "node:net";
import { untilDrained } from "../../lib/until-drained.ts";
import { STREAM_CHANNELS } from "../../protocol/link/stream-data.ts";
import { Failure, usageFailure } from "../failure.ts";
import type { ClientStream } from "./client-stream.ts";
import { CookieScreen } from "./cookie-screen.ts";
import type { StreamConnection } from "./connection.ts";

export interface ForwardOptions {
  /** Returns an open connection. Called for each local connection. */
  readonly connection: () => Promise<StreamConnection>;
  /** Port of the app. */
  readonly port: number;
  /** Addresses to listen on, with the same port. Those after the first are left out where this machine does not have them. */
  readonly addresses: readonly [string, ...string[]];
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
  const accept = (socket: Socket): void => {
    sockets.add(socket);
    socket.on("close", () => sockets.delete(socket));
    // The reader and the writer handle errors.
    socket.on("error", () => undefined);
    passOn(socket, options).catch((error: unknown) => {
      socket.resetAndDestroy();
      if (error instanceof Failure) options.onFailure(error);
    });
  };
  const { addresses, port, localPort } = options;
  let servers: readonly Server[];
  try {
    if (localPort !== undefined) servers = await listen(accept, localPort, addresses);
    // Not every user may use a port below 1024.
    else servers = await listen(accept, port, addresses).catch(() => listen(accept, 0, addresses));
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    const where = `${addresses[0]}:${localPort ?? "(any port)"}`;
    const why = code === "EADDRINUSE" ? "it is in use" : (code ?? "unknown reason");
    throw usageFailure(`Cannot listen on ${where}: ${why}.`, "Choose another port with --local.");
  }
  return {
    address: addressOf(servers[0]),
    async [Symbol.asyncDispose]() {
      const closed = servers.map(close);
      for (const socket of sockets) socket.destroy();
      await Promise.all(closed);
    },
  };
}

/** Addresses that this machine does not have. */
const ABSENT: ReadonlySet<string | undefined> = new Set(["EADDRNOTAVAIL", "EAFNOSUPPORT"]);

async function listen(
  accept: (socket: Socket) => void,
  port: number,
  addresses: ForwardOptions["addresses"],
): Promise<readonly Server[]> {
  const servers: Server[] = [];
  try {
    for (const host of addresses) {
      const server = createServer({ allowHalfOpen: true, noDelay: true }, accept);
      const listening = once(server, "listening");
      server.listen({ port: servers.length === 0 ? port : addressOf(servers[0]).port, host, exclusive: true });
      const isThere = await listening.then(
        () => true,
        (error: NodeJS.ErrnoException) =>
          servers.length > 0 && ABSENT.has(error.code) ? false : Promise.reject(error),
      );
      if (isThere) servers.push(server);
    }
    return servers;
  } catch (error) {
    await Promise.all(servers.map(close));
    throw error;
  }
}

function addressOf(server: Server | undefined): AddressInfo {
  return server?.address() as AddressInfo;
}

async function close(server: Server): Promise<void> {
  const closed = once(server, "close");
  server.close();
  await closed;
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
    const cookies = new CookieScreen();
    for await (const bytes of socket.iterator({ destroyOnReturn: false }) as AsyncIterable<Uint8Array>) {
      cookies.screen(bytes);
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
  // What the local program still sends has no reader.
  void stream.ended.then(() => socket.destroySoon());
}
