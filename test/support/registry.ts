import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { RunningCommand } from "./command.ts";
import { start, succeed } from "./command.ts";
import { freePort } from "./free-port.ts";
import type { Image } from "./images/image.ts";
import { MANIFEST_LIST, pushImage } from "./images/push-image.ts";
import { tempDir } from "./temp-dir.ts";

interface RegistryOptions {
  /** The only user that may pull and push. */
  readonly user?: { readonly name: string; readonly password: string };
}

/** A registry on a loopback port, from Debian's package docker-registry. Disposing it stops it and removes its data. */
export class Registry implements AsyncDisposable {
  /** `127.0.0.1:PORT`, the first part of its image references. */
  readonly host: string;
  readonly #user: RegistryOptions["user"];
  readonly #config: string;
  readonly #directory: AsyncDisposable;
  #process: RunningCommand;

  private constructor(host: string, config: string, directory: AsyncDisposable, options: RegistryOptions) {
    this.host = host;
    this.#config = config;
    this.#directory = directory;
    this.#user = options.user;
    this.#process = serve(config);
  }

  static async start(options: RegistryOptions = {}): Promise<Registry> {
    const directory = await tempDir();
    const host = `127.0.0.1:${await freePort()}`;
    const config = await writeConfig(directory.path, host, options);
    const registry = new Registry(host, config, directory, options);
    await registry.#ready();
    return registry;
  }

  get port(): number {
    return Number(this.host.split(":")[1]);
  }

  /** Pushes an image and returns the reference to pull it by. @param name such as `team/app:1.0` */
  async push(image: Image, name: string): Promise<string> {
    const [repository = "", tag = "latest"] = name.split(":");
    await pushImage(`http://${this.host}`, image, { repository, tag, headers: this.#authorization() });
    return `${this.host}/${repository}:${tag}`;
  }

  /** Returns the digest of a name such as `team/app:1.0`. */
  async digest(name: string): Promise<string> {
    const [repository = "", tag = "latest"] = name.split(":");
    const headers = { ...this.#authorization(), Accept: MANIFEST_LIST };
    const response = await fetch(`http://${this.host}/v2/${repository}/manifests/${tag}`, { method: "HEAD", headers });
    const digest = response.headers.get("Docker-Content-Digest");
    if (digest === null) throw new Error(`the registry has no ${name}: ${response.status}`);
    return digest;
  }

  /** Stops the process; pushed images stay for `resume`. */
  async stop(): Promise<void> {
    await this.#process[Symbol.asyncDispose]();
  }

  /** Starts again at the same address after `stop`. */
  async resume(): Promise<void> {
    this.#process = serve(this.#config);
    await this.#ready();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
    await this.#directory[Symbol.asyncDispose]();
  }

  async #ready(): Promise<void> {
    await this.#process.waitUntil("a ping response", async () => {
      const response = await fetch(`http://${this.host}/v2/`, { headers: this.#authorization() }).catch(
        () => undefined,
      );
      return response?.status === 200;
    });
  }

  #authorization(): Record<string, string> {
    if (!this.#user) return {};
    const credentials = Buffer.from(`${this.#user.name}:${this.#user.password}`).toString("base64");
    return { Authorization: `Basic ${credentials}` };
  }
}

function serve(config: string): RunningCommand {
  return start("docker-registry", ["serve", config]);
}

/** Writes the configuration as JSON, which is valid YAML. */
async function writeConfig(directory: string, host: string, { user }: RegistryOptions): Promise<string> {
  const passwords = join(directory, "htpasswd");
  if (user) await writeFile(passwords, await htpasswdLine(user.name, user.password));
  const storage = join(directory, "data");
  await mkdir(storage);
  const config = {
    version: "0.1",
    log: { level: "warn", accesslog: { disabled: true } },
    storage: { filesystem: { rootdirectory: storage } },
    http: { addr: host },
    ...(user ? { auth: { htpasswd: { realm: "test", path: passwords } } } : {}),
  };
  const path = join(directory, "config.yml");
  await writeFile(path, JSON.stringify(config));
  return path;
}

// The registry accepts only bcrypt; perl calls the system's crypt(3).
const BCRYPT = "my $password = <STDIN>; print crypt($password, q($2y$05$) . $ARGV[0]);";

async function htpasswdLine(name: string, password: string): Promise<string> {
  const salt = "testtesttesttesttesteu";
  const hash = await succeed("perl", ["-e", BCRYPT, salt], { input: password });
  return `${name}:${hash}\n`;
}
