import { request } from "node:http";
import { isIP } from "node:net";
import type { Duplex } from "node:stream";
import { connect, type TLSSocket } from "node:tls";
import { controlPlaneEndpoint, formatEndpoint } from "../net/endpoint.ts";
import { verifyHost } from "../net/connect-options.ts";
import { openControlPlaneStream, openSocket } from "../net/open-stream.ts";
import { proxyFor } from "../net/proxy.ts";
import { createTrustContext } from "../net/trust.ts";
import { type ProbeContext, settingsOf } from "./probe.ts";

/** Bytes of a response that are read at most. */
const MAX_HEAD_BYTES = 4096;
const SMALL_REQUEST = "GET / HTTP/1.0\r\n\r\n";

/**
 * Opens an encrypted connection by the link's route. An untrusted certificate is no error: the caller must send no
 * secrets.
 */
export async function openTls(context: ProbeContext, signal: AbortSignal): Promise<TLSSocket & Disposable> {
  const { control_plane_url: address } = settingsOf(context);
  const extraCa = context.config instanceof Error ? undefined : context.config.extraCa;
  const { host } = controlPlaneEndpoint(address);
  const stream = await openControlPlaneStream(address, extraCa, signal);
  const socket = connect({
    socket: stream,
    rejectUnauthorized: false,
    checkServerIdentity: verifyHost(host),
    ...(isIP(host) === 0 && { servername: host }),
    ...(extraCa !== undefined && { secureContext: createTrustContext(extraCa) }),
  });
  signal.addEventListener("abort", () => socket.destroy(new Error("no answer")), { once: true });
  await new Promise<void>((resolve, reject) => {
    socket.once("secureConnect", resolve);
    socket.on("error", reject);
  });
  return Object.assign(socket, { [Symbol.dispose]: () => void socket.destroy() });
}

/** Asks an HTTP server for its time. Returns `undefined` if it does not tell. Resolves when the signal aborts. */
export async function readServerTime(stream: Duplex, host: string, signal: AbortSignal): Promise<number | undefined> {
  stream.write(`HEAD / HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`);
  const head = await readHead(stream, signal);
  const time = Date.parse(/^date: (.+)$/im.exec(head)?.[1] ?? "");
  return Number.isNaN(time) ? undefined : time;
}

/** Whether the control plane's host answers to a request that fits into one small packet. Not through a proxy. */
export async function answersSmallRequest(address: string, signal: AbortSignal): Promise<boolean> {
  if (proxyFor(address)) return false;
  try {
    const socket = await openSocket(controlPlaneEndpoint(address), signal);
    socket.write(SMALL_REQUEST);
    const isAnswered = new Promise<boolean>((resolve) => {
      socket.once("data", () => resolve(true));
      socket.once("end", () => resolve(true));
      socket.once("close", () => resolve(!signal.aborted));
    });
    const answered = await isAnswered;
    socket.destroy();
    return answered;
  } catch {
    return false;
  }
}

/**
 * Returns the host of this network's login page: a captive portal answers an unencrypted request in the place of the
 * control plane's host, with a redirect to itself.
 */
export async function findPortal(address: string, signal: AbortSignal): Promise<string | undefined> {
  const { host } = controlPlaneEndpoint(address);
  if (proxyFor(address)) return undefined;
  return await new Promise((resolve) => {
    const path = "/generate_204";
    const call = request({ host, port: 80, path, agent: false, signal }, ({ statusCode = 0, headers, socket }) => {
      socket.destroy();
      const target = URL.parse(headers.location ?? "", `http://${formatEndpoint({ host, port: 80 })}`)?.hostname;
      const isElsewhere = statusCode >= 300 && statusCode < 400 && target !== undefined && target !== host;
      resolve(isElsewhere || statusCode === 511 ? (target ?? host) : undefined);
    });
    call.on("error", () => resolve(undefined));
    call.end();
  });
}

/** Reads the head of a response, or what came of it. */
function readHead(stream: Duplex, signal: AbortSignal): Promise<string> {
  return new Promise((resolve) => {
    let head = "";
    const finish = (): void => resolve(head);
    stream.on("data", (chunk: Buffer) => {
      head += chunk.toString("latin1");
      if (head.includes("\r\n\r\n") || head.length > MAX_HEAD_BYTES) finish();
    });
    for (const event of ["end", "close", "error"]) stream.once(event, finish);
    signal.addEventListener("abort", finish, { once: true });
  });
}
