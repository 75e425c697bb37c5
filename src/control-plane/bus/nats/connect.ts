import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { connect as connectSocket } from "node:net";
import {
  type Authenticator,
  connect,
  credsAuthenticator,
  NatsConnectionImpl,
  nkeyAuthenticator,
  type NodeConnectionOptions,
} from "@nats-io/transport-node";
import { MAX_MESSAGE_BYTES } from "../message-link.ts";
import { type NatsCredentials, type NatsOptions, type NatsTls, requiresTls } from "./options.ts";

const DEFAULT_PORT = 4222;
/** How long connecting may take, and a server's greeting, in milliseconds. */
const CONNECT_TIMEOUT_MS = 5_000;
/** A server that does not answer two of these in a row is gone. */
const PING_INTERVAL_MS = 3_000;

/** Connects to a server. The connection does not come back by itself. */
export async function openConnection(url: string, options: NatsOptions): Promise<NatsConnectionImpl> {
  await awaitGreeting(url);
  const connection = await connect({
    servers: [url],
    name: "edge-control",
    reconnect: false,
    noEcho: true,
    timeout: CONNECT_TIMEOUT_MS,
    pingInterval: PING_INTERVAL_MS,
    maxPingOut: 2,
    ignoreClusterUpdates: true,
    noAsyncTraces: true,
    ...(await readAuthenticator(options.credentials)),
    ...(requiresTls(options) && { tls: await readTls(url, options.tls) }),
  });
  if (!(connection instanceof NatsConnectionImpl)) throw new Error("unexpected class of a connection");
  const maxPayload = connection.info?.max_payload ?? 0;
  if (maxPayload >= MAX_MESSAGE_BYTES) return connection;
  await connection.close();
  throw new Error(`the server's max_payload is ${maxPayload}; set it to ${MAX_MESSAGE_BYTES} or more`);
}

/** The library would leave its socket open, once with each attempt, when a server accepts connections and never answers. */
async function awaitGreeting(url: string): Promise<void> {
  const { port } = new URL(url);
  const socket = connectSocket({ host: hostOf(url), port: Number(port || DEFAULT_PORT) });
  const timeout = AbortSignal.timeout(CONNECT_TIMEOUT_MS);
  try {
    await once(socket, "data", { signal: timeout });
  } catch (error) {
    throw timeout.aborted ? new Error("the server does not answer") : error;
  } finally {
    socket.on("error", () => undefined).destroy();
  }
}

/** Closes a connection at once, also if the server takes nothing any more: `close` alone would wait for it. */
export function cutConnection(connection: NatsConnectionImpl): void {
  connection.protocol.transport.discard();
  // The connection is gone already.
  connection.close().catch(() => undefined);
}

async function readAuthenticator(
  credentials: NatsCredentials,
): Promise<Pick<NodeConnectionOptions, "user" | "pass" | "token" | "authenticator">> {
  switch (credentials.kind) {
    case "none":
      return {};
    case "password":
      return { user: credentials.user, pass: await readSecret(credentials.passwordFile) };
    case "token":
      return { token: await readSecret(credentials.tokenFile) };
    case "creds":
      return {
        authenticator: checked(credsAuthenticator(await readFile(credentials.credsFile)), credentials.credsFile),
      };
    case "nkey": {
      const seed = Buffer.from(await readSecret(credentials.seedFile));
      return { authenticator: checked(nkeyAuthenticator(seed), credentials.seedFile) };
    }
  }
}

/** The library calls the authenticator while it reads from the server, where an error would end nothing. */
function checked(authenticator: Authenticator, file: string): Authenticator {
  try {
    authenticator("nonce");
    return authenticator;
  } catch {
    // The library's message may contain the secret.
    throw new Error(`${file} contains no valid credentials for NATS`);
  }
}

async function readSecret(file: string): Promise<string> {
  const secret = (await readFile(file, "utf8")).trim();
  if (secret === "") throw new Error(`${file} is empty`);
  return secret;
}

async function readTls(
  url: string,
  { caFile, certFile, keyFile }: NatsTls,
): Promise<NonNullable<NodeConnectionOptions["tls"]>> {
  // Read by Node.js: the library gives it the name to check in the certificate, but not an address.
  const checked = { host: hostOf(url) };
  return {
    ...checked,
    ...(caFile !== undefined && { ca: await readFile(caFile, "utf8") }),
    ...(certFile !== undefined && { cert: await readFile(certFile, "utf8") }),
    ...(keyFile !== undefined && { key: await readFile(keyFile, "utf8") }),
  };
}

function hostOf(url: string): string {
  return new URL(url).hostname.replaceAll(/[[\]]/g, "");
}
