import { appendFile, chmod, chown, readFile, readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import pg from "pg";
import { findPostgresFolder } from "../../scripts/setup/programs.ts";
import type { PostgresOptions } from "../../src/control-plane/store/postgres/options.ts";
import { type RunningCommand, run, start, succeed } from "./command.ts";
import { freePort } from "./free-port.ts";
import { CertificateAuthority } from "./link/certificates.ts";
import { tempDir } from "./temp-dir.ts";
import { waitFor } from "./wait-for.ts";

interface PostgresServerOptions {
  /** Lines of `postgresql.conf`, such as `max_connections = 20`. */
  readonly settings?: readonly string[];
  /** Whether every commit is synced to disk, as for tests of power cuts and benches. Default: no, which is quicker. */
  readonly isDurable?: boolean;
  /** The server offers TLS, and refuses connections without it. */
  readonly tls?: boolean;
  /** Password of the user `postgres`. Default: it needs none. */
  readonly password?: string;
  /** Port to listen on. Default: a free one. */
  readonly port?: number;
}

const USER = "postgres";

/** Returns why a PostgreSQL server cannot be started here; `undefined` if it can. */
export async function postgresUnavailableReason(): Promise<string | undefined> {
  if (findPostgresFolder() === undefined) return "PostgreSQL is not installed";
  if (process.getuid?.() !== 0) return undefined;
  if ((await findUser()) === undefined) return "there is no user postgres, as whom PostgreSQL runs";
  const setpriv = await run("setpriv", ["--version"]).catch(() => undefined);
  return setpriv?.code === 0 ? undefined : "setpriv is not installed";
}

/**
 * A PostgreSQL server of its own on a loopback port, from Debian's package postgresql. Text sorts by the rules of English
 * unless a column says otherwise, as on many servers. Disposing it stops it and removes its data.
 */
export class PostgresServer implements AsyncDisposable {
  readonly port: number;
  /** Where it listens. */
  readonly address: string;
  /** Certificate of the authority that the server's certificate is from; with `tls` only. */
  readonly caFile: string | undefined;
  readonly #parts: ServerParts;
  readonly #password: string | undefined;
  #process: RunningCommand;
  #databases = 0;

  private constructor(parts: ServerParts, { tls = false, password }: PostgresServerOptions) {
    this.port = parts.port;
    this.address = parts.address;
    this.caFile = tls ? join(parts.directory.path, "postgres-ca.pem") : undefined;
    this.#parts = parts;
    this.#password = password;
    this.#process = this.#serve();
  }

  /** Starts a server with an empty database and waits until it accepts connections. */
  static async start(options: PostgresServerOptions = {}): Promise<PostgresServer> {
    await using owner = new AsyncDisposableStack();
    const directory = owner.use(await tempDir());
    const port = options.port ?? (await freePort());
    const parts = { directory, address: "127.0.0.1", port, user: await findUser() };
    await initialize(parts, options);
    owner.move();
    return PostgresServer.#started(new PostgresServer(parts, options));
  }

  /** Starts a copy of a server that has neither TLS nor a password, which follows it, at the same port of another address. */
  static async copyOf(original: PostgresServer, address: string): Promise<PostgresServer> {
    await using owner = new AsyncDisposableStack();
    const directory = owner.use(await tempDir());
    const { port, user } = original.#parts;
    await ownedBy(user, directory.path);
    const data = join(directory.path, "data");
    const source = ["--host", original.#parts.directory.path, "--port", String(port), "--username", USER];
    const how = ["--pgdata", data, "--write-recovery-conf", "--checkpoint=fast", "--no-sync"];
    await succeed(...as(user, program("pg_basebackup"), [...source, ...how]));
    // Of two lines for the same setting the later one counts.
    const own = [`listen_addresses = '${address}'`, `unix_socket_directories = '${directory.path}'`];
    await appendFile(join(data, "postgresql.auto.conf"), `${own.join("\n")}\n`);
    owner.move();
    return PostgresServer.#started(new PostgresServer({ directory, address, port, user }, {}));
  }

  static async #started(server: PostgresServer): Promise<PostgresServer> {
    try {
      await server.#ready();
    } catch (error) {
      await server[Symbol.asyncDispose]();
      throw error;
    }
    return server;
  }

  /** Process id of the server's first process. */
  get pid(): number {
    return this.#process.pid;
  }

  /** Everything the server has logged since its last start. */
  get log(): string {
    return this.#process.stderr();
  }

  /** Options of a store on the given database of this server. A user other than its owner has no password. */
  options(database: string, user = USER): PostgresOptions {
    const tls = this.caFile === undefined ? undefined : { caFile: this.caFile };
    const passwordFile = this.#password === undefined ? undefined : join(this.#parts.directory.path, "password");
    return { host: this.address, port: this.port, database, user, passwordFile, tls };
  }

  /** Creates a database, which is a copy of the template, and returns its name. The template must not be in use. */
  async createDatabase(template = "template0", owner = USER): Promise<string> {
    const name = `test_${process.pid}_${++this.#databases}`;
    await this.execute(`CREATE DATABASE ${name} OWNER ${owner} TEMPLATE ${template}`);
    return name;
  }

  /** Runs SQL as the owner of the server, and returns the rows, a line each, with `|` between the values. */
  async execute(sql: string, database = USER): Promise<string> {
    const types = { getTypeParser: () => (text: string) => text };
    const client = new pg.Client({ host: this.#parts.directory.path, port: this.port, user: USER, database, types });
    // Errors of the connection are those of the query.
    client.on("error", () => {});
    try {
      await client.connect();
      const results = [await client.query<(string | null)[]>({ text: sql, rowMode: "array" })].flat();
      const rows = results.flatMap((result) => result.rows);
      return rows.map((values) => values.join("|")).join("\n");
    } finally {
      await client.end().catch(() => {});
    }
  }

  /** Answers commits only once they are stored by a copy as well. To be called when there is one. */
  async requireCopy(): Promise<void> {
    await this.execute("ALTER SYSTEM SET synchronous_standby_names = '*'");
    await this.execute("SELECT pg_reload_conf()");
    await waitFor("a synchronous copy", async () => {
      return (await this.execute("SELECT sync_state FROM pg_stat_replication")) === "sync";
    });
  }

  /** Makes a copy a server of its own. */
  async promote(): Promise<void> {
    await this.execute("SELECT pg_promote()");
  }

  /** Stops every process of the server, so that it answers nothing, but its connections stay. */
  async pause(): Promise<void> {
    // The first process first, so that it cannot start more of them.
    this.#process.kill("SIGSTOP");
    for (const pid of await childrenOf(this.pid)) signal(pid, "SIGSTOP");
  }

  async resume(): Promise<void> {
    for (const pid of await childrenOf(this.pid)) signal(pid, "SIGCONT");
    this.#process.kill("SIGCONT");
  }

  /** `fast`: open transactions are rolled back. `immediate`: as in a crash, without losing what was committed. */
  async stop(mode: "fast" | "immediate" = "fast"): Promise<void> {
    await this.resume();
    this.#process.kill(mode === "fast" ? "SIGINT" : "SIGQUIT");
    const timer = setTimeout(() => this.#process.kill("SIGKILL"), 20_000);
    await this.#process.exited;
    clearTimeout(timer);
  }

  /** Starts again at the same port after `stop`. */
  async restart(): Promise<void> {
    this.#process = this.#serve();
    await this.#ready();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop("immediate");
    await this.#parts.directory[Symbol.asyncDispose]();
  }

  #serve(): RunningCommand {
    const { directory, user } = this.#parts;
    return start(...as(user, program("postgres"), ["-D", join(directory.path, "data")]));
  }

  #ready(): Promise<void> {
    return this.#process.waitUntil("a response to a query", () =>
      this.execute("SELECT 1").then(
        () => true,
        () => false,
      ),
    );
  }
}

interface ServerParts {
  readonly directory: { readonly path: string } & AsyncDisposable;
  readonly address: string;
  readonly port: number;
  /** User to run as; `undefined`: the one of this process. */
  readonly user: { readonly uid: number; readonly gid: number } | undefined;
}

async function initialize(parts: ServerParts, options: PostgresServerOptions): Promise<void> {
  const { path } = parts.directory;
  const data = join(path, "data");
  const own = (file: string): Promise<void> => ownedBy(parts.user, file);
  await own(path);
  const { password } = options;
  if (password !== undefined) await writeFile(join(path, "password"), password);
  // Entered through the socket as root, whatever the password.
  const hosts = `local all,replication all trust\nhost${options.tls === true ? "ssl" : ""} all all all ${password === undefined ? "trust" : "scram-sha-256"}\n`;
  const locale = ["--encoding=UTF8", "--locale=C.UTF-8", "--locale-provider=icu", "--icu-locale=en"];
  const access = password === undefined ? ["--auth=trust"] : ["--auth=trust", `--pwfile=${join(path, "password")}`];
  if (password !== undefined) await own(join(path, "password"));
  const init = ["--pgdata", data, "--username", USER, "--no-sync", "--no-instructions", ...locale, ...access];
  await succeed(...as(parts.user, program("initdb"), init));
  const settings = [
    `port = ${parts.port}`,
    `listen_addresses = '${parts.address}'`,
    `unix_socket_directories = '${path}'`,
    "unix_socket_permissions = 0777",
    "shared_buffers = 32MB",
    ...(options.isDurable === true ? [] : ["fsync = off", "full_page_writes = off"]),
    ...(options.tls === true ? await tlsSettings(path, own) : []),
    ...(options.settings ?? []),
  ];
  await writeFile(join(data, "postgresql.auto.conf"), `${settings.join("\n")}\n`);
  await writeFile(join(data, "pg_hba.conf"), hosts);
}

async function ownedBy(user: ServerParts["user"], file: string): Promise<void> {
  if (user) await chown(file, user.uid, user.gid);
}

async function tlsSettings(path: string, own: (file: string) => Promise<void>): Promise<string[]> {
  const authority = await CertificateAuthority.create(path, "postgres-ca");
  const { key, cert } = await authority.issue("IP:127.0.0.1");
  const [certFile, keyFile] = [join(path, "server.pem"), join(path, "server.key")];
  await writeFile(join(path, "postgres-ca.pem"), authority.cert);
  await writeFile(certFile, cert);
  await writeFile(keyFile, key);
  await chmod(keyFile, 0o600);
  await own(certFile);
  await own(keyFile);
  return ["ssl = on", `ssl_cert_file = '${certFile}'`, `ssl_key_file = '${keyFile}'`];
}

/**
 * The command as this user. It becomes the command itself, so that its process id is the one of the server, and is told
 * to stop when the process of the test ends.
 */
function as(user: ServerParts["user"], command: string, args: readonly string[]): [string, readonly string[]] {
  if (!user) return [command, args];
  const ids = [`--reuid=${user.uid}`, `--regid=${user.gid}`, "--clear-groups", "--pdeathsig=QUIT"];
  return ["setpriv", [...ids, command, ...args]];
}

function program(name: string): string {
  const folder = findPostgresFolder();
  if (folder === undefined) throw new Error("PostgreSQL is not installed");
  return join(folder, name);
}

/** The user `postgres` if this process is root, as whom PostgreSQL refuses to run. */
async function findUser(): Promise<ServerParts["user"]> {
  if (process.getuid?.() !== 0) return undefined;
  const line = (await readFile("/etc/passwd", "utf8")).split("\n").find((entry) => entry.startsWith(`${USER}:`));
  const [, , uid, gid] = line?.split(":") ?? [];
  return uid === undefined ? undefined : { uid: Number(uid), gid: Number(gid) };
}

/** Does nothing if the process has ended: one that served a connection ends with it. */
function signal(pid: number, name: "SIGSTOP" | "SIGCONT"): void {
  try {
    process.kill(pid, name);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
  }
}

async function childrenOf(pid: number): Promise<number[]> {
  const processes = (await readdir("/proc")).filter((name) => /^\d+$/.test(name));
  const parents = await Promise.all(processes.map((name) => readFile(`/proc/${name}/stat`, "utf8").catch(() => "")));
  // The name of the program, in parentheses, may contain spaces.
  return processes.map(Number).filter((_, index) => parents[index]?.split(") ")[1]?.split(" ")[1] === String(pid));
}
