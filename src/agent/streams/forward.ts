import { once } from "node:events";
import { connect, type NetConnectOpts, type Socket } from "node:net";
import { untilDrained } from "../../lib/until-drained.ts";
import { EdgeError } from "../../protocol/errors.ts";
import { STREAM_CHANNELS } from "../../protocol/stream-data.ts";
import type { ContainerAddress } from "../engine/container-access.ts";
import { findRunningContainer } from "./find-container.ts";
import type { AppStream, StreamServices } from "./ports.ts";

/** The app is on this machine. */
const CONNECT_TIMEOUT_MS = 3_000;
/** Data of a connection that is kept until the link takes it. */
const BUFFER_BYTES = 16 * 1024;

/** Connects to a port of the app and passes data both ways until both are ended. */
export async function serveForward(stream: AppStream<"forward">, services: StreamServices): Promise<undefined> {
  const { port } = stream.params;
  const { signal } = stream;
  const { id } = await findRunningContainer(stream, services);
  const addresses = await services.access.addressesOf(id, port, signal);
  const socket = await connectToApp(stream, addresses, services);
  using _closed = closeOn(signal, socket);
  stream.opened();
  await Promise.all([sendToClient(stream, socket), sendToApp(stream, socket)]);
  return undefined;
}

async function sendToClient(stream: AppStream, socket: Socket): Promise<void> {
  try {
    // The other direction stays open after the end of this one.
    const bytesOfApp = socket.iterator({ destroyOnReturn: false }) as AsyncIterable<Uint8Array>;
    for await (const bytes of bytesOfApp) await stream.write(STREAM_CHANNELS.data, bytes);
  } catch (error) {
    stream.signal.throwIfAborted();
    throw brokenBy(stream.app, error);
  }
  await stream.write(STREAM_CHANNELS.end, new Uint8Array());
}

async function sendToApp(stream: AppStream, socket: Socket): Promise<void> {
  for await (const bytes of stream.input()) {
    // The app takes no more: the stream ends as soon as the client has what the app sent, before the client sends more.
    if (socket.destroyed) return;
    if (!socket.write(bytes)) await untilDrained(socket);
  }
  if (!socket.destroyed) socket.end();
}

async function connectToApp(
  { app, params: { port }, signal }: AppStream<"forward">,
  addresses: readonly ContainerAddress[],
  { clock }: StreamServices,
): Promise<Socket> {
  for (const address of addresses) {
    try {
      return await open(address, clock, signal);
    } catch (error) {
      signal.throwIfAborted();
      // The container is reachable and refuses: a port published elsewhere would lead to the same place.
      if (address.isOwn && (error as NodeJS.ErrnoException).code === "ECONNREFUSED") break;
    }
  }
  const reason =
    addresses.length === 0
      ? `${app} has no address that the agent can reach, and does not publish port ${port}.`
      : `Nothing listens on port ${port} of ${app}, or only on its own 127.0.0.1.`;
  throw new EdgeError("AppPortClosed", reason, { port });
}

async function open(
  { host, port }: ContainerAddress,
  clock: StreamServices["clock"],
  signal: AbortSignal,
): Promise<Socket> {
  const options = { host, port, noDelay: true, allowHalfOpen: true, highWaterMark: BUFFER_BYTES, signal };
  const socket = connect(options as NetConnectOpts);
  using _timeout = clock.timer(CONNECT_TIMEOUT_MS, () => socket.destroy(new Error("no answer")));
  await once(socket, "connect");
  return socket;
}

function closeOn(signal: AbortSignal, socket: Socket): Disposable {
  // Errors are seen by the reader. Those after its end are ignored.
  socket.on("error", () => undefined);
  const close = (): void => void socket.destroy();
  if (signal.aborted) close();
  signal.addEventListener("abort", close, { once: true });
  return {
    [Symbol.dispose]() {
      signal.removeEventListener("abort", close);
      close();
    },
  };
}

function brokenBy(app: string, error: unknown): EdgeError {
  return new EdgeError("AppPortClosed", `${app} has broken the connection.`, undefined, { cause: error });
}
