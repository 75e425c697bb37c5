import { writeFile } from "node:fs/promises";
import { connect } from "node:net";
import { join } from "node:path";
import type { NatsCredentials, NatsOptions, NatsTls } from "../../../src/control-plane/bus/nats/options.ts";
import { type RunningCommand, start } from "../command.ts";
import { freePort } from "../free-port.ts";
import { CertificateAuthority } from "../link/certificates.ts";
import { tempDir } from "../temp-dir.ts";

interface NatsServerOptions {
  /** Lines of the configuration file, such as `authorization { token: t }`. */
  readonly config?: readonly string[];
  /** `client`: clients need a certificate of the same authority. */
  readonly tls?: "server" | "client";
}

/** Files for clients of a server with TLS. */
interface TlsFiles {
  readonly caFile: string;
  readonly certFile: string;
  readonly keyFile: string;
}

/** A NATS server on a loopback port, from Debian's package nats-server. Disposing it stops it and removes its directory. */
export class NatsServer implements AsyncDisposable {
  readonly port: number;
  readonly folder: string;
  /** With `tls` only. */
  readonly tls: TlsFiles | undefined;
  readonly #configFile: string;
  readonly #directory: AsyncDisposable;
  #process: RunningCommand;

  private constructor(port: number, folder: string, tls: TlsFiles | undefined, directory: AsyncDisposable) {
    this.port = port;
    this.folder = folder;
    this.tls = tls;
    this.#configFile = join(folder, "nats.conf");
    this.#directory = directory;
    this.#process = this.#serve();
  }

  static async start({ config = [], tls }: NatsServerOptions = {}): Promise<NatsServer> {
    await using owner = new AsyncDisposableStack();
    const directory = owner.use(await tempDir());
    const { path } = directory;
    const port = await freePort();
    const files = tls && (await writeCertificates(path));
    const lines = [`listen: "127.0.0.1:${port}"`, ...(files ? [tlsBlock(files, tls === "client")] : []), ...config];
    await writeFile(join(path, "nats.conf"), lines.join("\n"));
    owner.move();
    const server = new NatsServer(port, path, files, directory);
    try {
      await server.#ready();
    } catch (error) {
      await server[Symbol.asyncDispose]();
      throw error;
    }
    return server;
  }

  /** Options of a client with the right authority, and with the given credentials. */
  options(credentials: NatsCredentials = { kind: "none" }, tls: NatsTls = {}): NatsOptions {
    const scheme = this.tls ? "tls" : "nats";
    const trusted = this.tls ? { caFile: this.tls.caFile } : {};
    return { urls: [`${scheme}://127.0.0.1:${this.port}`], prefix: "test", credentials, tls: { ...trusted, ...tls } };
  }

  /** The server takes and sends nothing, but its connections stay. */
  pause(): void {
    this.#process.kill("SIGSTOP");
  }

  resume(): void {
    this.#process.kill("SIGCONT");
  }

  async stop(): Promise<void> {
    await this.#process[Symbol.asyncDispose]();
  }

  /** Starts again at the same port after `stop`. */
  async restart(): Promise<void> {
    this.#process = this.#serve();
    await this.#ready();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
    await this.#directory[Symbol.asyncDispose]();
  }

  #serve(): RunningCommand {
    return start("nats-server", ["--config", this.#configFile]);
  }

  #ready(): Promise<void> {
    return this.#process.waitUntil("a greeting", () => hasGreeting(this.port));
  }
}

async function writeCertificates(folder: string): Promise<TlsFiles> {
  const authority = await CertificateAuthority.create(folder, "nats-ca");
  const { key, cert } = await authority.issue("IP:127.0.0.1");
  const files = {
    caFile: join(folder, "nats-ca.pem"),
    certFile: join(folder, "nats.pem"),
    keyFile: join(folder, "nats.key"),
  };
  await Promise.all([
    writeFile(files.caFile, authority.cert),
    writeFile(files.certFile, cert),
    writeFile(files.keyFile, key),
  ]);
  return files;
}

function tlsBlock({ caFile, certFile, keyFile }: TlsFiles, mustVerify: boolean): string {
  const verify = mustVerify ? `verify: true, ca_file: "${caFile}"` : "";
  return `tls { cert_file: "${certFile}", key_file: "${keyFile}", ${verify} }`;
}

/** Whether the server sends the first line of its protocol. */
function hasGreeting(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, "127.0.0.1");
    const end = (isReady: boolean): void => {
      socket.destroy();
      resolve(isReady);
    };
    socket.once("data", () => end(true)).on("error", () => end(false));
  });
}
