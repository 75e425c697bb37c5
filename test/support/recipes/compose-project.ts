import { cp, mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { run, succeed } from "../command.ts";
import { freePort } from "../free-port.ts";
import { uniqueName } from "../images.ts";
import { haproxyImage } from "../images/applications/haproxy.ts";
import { natsImage } from "../images/applications/nats.ts";
import { postgresqlImage } from "../images/applications/postgresql.ts";
import { loadImageAs } from "../images/load-image.ts";
import { CertificateAuthority } from "../link/certificates.ts";
import { PrivateEngine } from "../private-engine.ts";
import { controlPlaneImage } from "../system/agent-image.ts";
import { tempDir } from "../temp-dir.ts";
import { waitFor } from "../wait-for.ts";

const RECIPE = "packaging/recipes/compose";
const CONFIG = "/etc/edge-control/config.json";

/** Images of Debian's packages, in the place of the ones that the recipe pulls. */
const IMAGES = {
  HAPROXY_IMAGE: ["localhost/haproxy:test", haproxyImage],
  NATS_IMAGE: ["localhost/nats:test", natsImage],
  POSTGRES_IMAGE: ["localhost/postgres:test", postgresqlImage],
} as const;

/** The recipe `compose.yaml` as it is, in an engine of its own. Disposing it removes both. */
export class ComposeProject implements AsyncDisposable {
  readonly engine: PrivateEngine;
  /** Port of the proxy, on loopback. */
  readonly port: number;
  /** File with the authority of the proxy's certificate. */
  readonly caFile: string;
  /** A directory for the test's files. */
  readonly directory: string;
  readonly #recipe: string;
  #env: Readonly<Record<string, string>>;
  readonly #owned: AsyncDisposableStack;

  private constructor(parts: ProjectParts, owned: AsyncDisposableStack) {
    this.engine = parts.engine;
    this.port = parts.port;
    this.caFile = parts.caFile;
    this.directory = parts.directory;
    this.#recipe = parts.recipe;
    this.#env = parts.env;
    this.#owned = owned;
  }

  /** Prepares a copy of the recipe, and starts nothing yet. */
  static async prepare(): Promise<ComposeProject> {
    await using owned = new AsyncDisposableStack();
    const { path: directory } = owned.use(await tempDir());
    const recipe = join(directory, "recipe");
    await cp(RECIPE, recipe, { recursive: true });
    const caFile = await writeCertificate(directory, join(recipe, "secrets"));
    await succeed(join(recipe, "prepare"), []);
    const engine = owned.use(await PrivateEngine.start({ connectsContainers: true }));
    const control = owned.use(await controlPlaneImage(engine.socketPath));
    for (const [reference, build] of Object.values(IMAGES)) {
      await loadImageAs(engine.socketPath, await build(), reference);
    }
    const port = await freePort();
    const env = {
      DOCKER_HOST: `unix://${engine.socketPath}`,
      COMPOSE_PROJECT_NAME: uniqueName("recipe"),
      PUBLISH: `127.0.0.1:${port}`,
      EDGE_CONTROL_IMAGE: control.reference,
      ...Object.fromEntries(Object.entries(IMAGES).map(([variable, [reference]]) => [variable, reference])),
    };
    return new ComposeProject({ engine, port, caFile, directory, recipe, env }, owned.move());
  }

  /** Runs a command of docker-compose and returns its output. */
  async compose(...args: readonly string[]): Promise<string> {
    return await succeed("docker-compose", args, { cwd: this.#recipe, env: this.#env });
  }

  /** Waits until a service is healthy. */
  async untilHealthy(service: string): Promise<void> {
    await waitFor(
      `${service} to be healthy`,
      async () => (await this.#state(service, "{{.State.Health.Status}}")) === "healthy",
      { intervalMs: 250 },
    );
  }

  /** Kills a service's container as the out-of-memory killer does. */
  async kill(service: string): Promise<void> {
    await this.compose("kill", "-s", "SIGKILL", service);
  }

  /** Stops the processes of a service's container, which stay, and waits until it runs anew. */
  async freezeUntilRestarted(service: string): Promise<void> {
    const startedAt = (): Promise<string> => this.#state(service, "{{.State.StartedAt}}");
    const before = await startedAt();
    await this.compose("exec", "-T", service, "/opt/edge-control/node", "--eval", 'process.kill(-1, "SIGSTOP")');
    const look = async (): Promise<boolean> => (await startedAt()) !== before;
    await waitFor(`${service} to be restarted`, look, { intervalMs: 250 });
  }

  /** Runs an administration command in an instance and returns the printed JSON. */
  async administer(...args: readonly string[]): Promise<Record<string, string>> {
    const command = ["edge-control", ...args, "--config", CONFIG, "--json"];
    return JSON.parse(await this.compose("exec", "-T", "edge-control-1", ...command)) as Record<string, string>;
  }

  /** Gives the instances another image from their next `up` on, as a new release does. */
  async changeImage(): Promise<void> {
    const next = "localhost/edge-control:next";
    await succeed("docker", ["tag", this.#env["EDGE_CONTROL_IMAGE"] ?? "", next], { env: this.#env });
    this.#env = { ...this.#env, EDGE_CONTROL_IMAGE: next };
  }

  async logs(): Promise<string> {
    const { stdout } = await run("docker-compose", ["logs", "--no-color", "--tail", "40"], {
      cwd: this.#recipe,
      env: this.#env,
    });
    return stdout;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await run("docker-compose", ["kill"], { cwd: this.#recipe, env: this.#env });
    await run("docker-compose", ["down", "--volumes"], { cwd: this.#recipe, env: this.#env });
    await this.#owned.disposeAsync();
  }

  async #state(service: string, format: string): Promise<string> {
    const id = (await this.compose("ps", "--quiet", service)).trim();
    return (await succeed("docker", ["inspect", "--format", format, id], { env: this.#env })).trim();
  }
}

interface ProjectParts {
  readonly engine: PrivateEngine;
  readonly port: number;
  readonly caFile: string;
  readonly directory: string;
  readonly recipe: string;
  readonly env: Readonly<Record<string, string>>;
}

/** Writes the proxy's certificate and returns the file of its authority. */
async function writeCertificate(directory: string, secrets: string): Promise<string> {
  const authority = await CertificateAuthority.create(directory, "proxy-ca");
  const caFile = join(directory, "proxy-ca.pem");
  await writeFile(caFile, authority.cert);
  const { cert, key } = await authority.issue("IP:127.0.0.1");
  await mkdir(secrets, { mode: 0o700 });
  await writeFile(join(secrets, "tls.pem"), cert + key);
  return caFile;
}
