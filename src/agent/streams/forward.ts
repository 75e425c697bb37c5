import { once } from "node:events";
import { connect, type NetConnectOpts, type Socket } from "node:net";
import { untilDrained } from "../../lib/until-drained.ts";
import { EdgeError } from "../../protocol/errors/errors.ts";
import { STREAM_CHANNELS } from "../../protocol/link/stream-data.ts";
import type { ContainerAddress } from "../engine/container-access.ts";
import { EngineError } from "../engine/engine-error.ts";
import { findRunningContainer } from "./find-container.ts";
import type { AppStream, StreamServices } from "./app-stream.ts";

/** Short, since the app is on this machine. */
const CONNECT_TIMEOUT_MS = 3_000;
/** Data of a connection that is kept until the link takes it. */
const BUFFER_BYTES = 16 * 1024;

/** Connects to a port of the app and passes data both ways until both are ended. */
export async function serveForward(stream: AppStream<"forward">, services: StreamServices): Promise<undefined> {
  const { id } = await findRunningContainer(stream, services);
  const socket = await connectToApp(stream, id, services);
  using _closed = closeOn(stream.signal, socket);
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

async function connectToApp(stream: AppStream<"forward">, id: string, services: StreamServices): Promise<Socket> {
  const { app, params, signal } = stream;
  const { port } = params;
  const addresses = await services.access.addressesOf(id, port, signal);
  for (const address of addresses) {
    try {
      return await open(address, stream, id, services);
    } catch (error) {
      signal.throwIfAborted();
      if (error instanceof EdgeError || error instanceof EngineError) throw error;
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
  { app, params, signal }: AppStream<"forward">,
  id: string,
  { access, clock }: StreamServices,
): Promise<Socket> {
  const options = { host, port, noDelay: true, allowHalfOpen: true, highWaterMark: BUFFER_BYTES, signal };
  const socket = connect(options as NetConnectOpts);
  // Errors are seen by the reader. Those before its start and after its end are ignored.
  socket.on("error", () => undefined);
  try {
    using _timeout = clock.timer(CONNECT_TIMEOUT_MS, () => socket.destroy(new Error("no answer")));
    await once(socket, "connect");
    // When a container ends, its address and its port can be taken by another one, which has answered in its place.
    const now = await access.addressesOf(id, params.port, signal);
    if (now.some((address) => address.host === host && address.port === port)) return socket;
    throw new EdgeError("AppNotRunning", `${app} stopped running while it was connected to.`);
  } catch (error) {
    socket.destroy();
    throw error;
  }
}

function closeOn(signal: AbortSignal, socket: Socket): Disposable {
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
