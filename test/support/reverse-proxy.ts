import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type RunningCommand, start } from "./command.ts";
import { blocksOf, fill } from "./documentation.ts";
import { freePort, isPortFree } from "./free-port.ts";
import { CertificateAuthority } from "./link/certificates.ts";
import { tempDir } from "./temp-dir.ts";

const PORT = "8080";
/** Directories for bodies that nginx keeps on disk. */
const TEMPORARY = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"];

/** nginx from Debian's package, with the server that docs/service-setup.md prints, in front of a service on loopback. */
export class ReverseProxy implements AsyncDisposable {
  readonly port: number;
  /** PEM of the authority that has issued its certificate, for `localhost`. */
  readonly authority: string;
  readonly authorityFile: string;
  readonly #process: RunningCommand;
  readonly #directory: AsyncDisposable;

  private constructor(
    port: number,
    { authority, authorityFile }: Pick<ReverseProxy, "authority" | "authorityFile">,
    process: RunningCommand,
    directory: AsyncDisposable,
  ) {
    this.port = port;
    this.authority = authority;
    this.authorityFile = authorityFile;
    this.#process = process;
    this.#directory = directory;
  }

  get url(): string {
    return `https://localhost:${this.port}`;
  }

  /** @param servicePort where the service listens */
  static async start(servicePort: number): Promise<ReverseProxy> {
    await using owner = new AsyncDisposableStack();
    const directory = owner.use(await tempDir());
    const { path } = directory;
    const authority = await CertificateAuthority.create(path, "authority");
    const { cert, key } = await authority.issue("DNS:localhost");
    const authorityFile = join(path, "authority.pem");
    await writeFile(authorityFile, authority.cert);
    await writeFile(join(path, "cert.pem"), cert);
    await writeFile(join(path, "key.pem"), key);
    const port = await freePort();
    const printed = blocksOf("docs/service-setup.md").find(({ language }) => language === "nginx")?.text ?? "";
    const server = fill(printed, {
      "listen 443": `listen 127.0.0.1:${port}`,
      "/etc/ssl/control.example.com.pem": join(path, "cert.pem"),
      "/etc/ssl/control.example.com.key": join(path, "key.pem"),
      [`http://127.0.0.1:${PORT}`]: `http://127.0.0.1:${servicePort}`,
    });
    const folders = TEMPORARY.map((name) => `${name}_temp_path ${join(path, name)};`);
    for (const name of TEMPORARY) await mkdir(join(path, name));
    // What the package's own configuration has around a server, and one process that is ended as any other.
    const own = `pid ${join(path, "pid")}; daemon off; master_process off; events {}`;
    await writeFile(join(path, "nginx.conf"), `${own} http { access_log off; ${folders.join(" ")}\n${server}\n}`);
    const nginx = start("nginx", ["-e", "stderr", "-p", path, "-c", join(path, "nginx.conf")]);
    owner.use(nginx);
    await nginx.waitUntil("nginx to listen", async () => !(await isPortFree(port)));
    owner.move();
    return new ReverseProxy(port, { authority: authority.cert, authorityFile }, nginx, directory);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#process[Symbol.asyncDispose]();
    await this.#directory[Symbol.asyncDispose]();
  }
}
