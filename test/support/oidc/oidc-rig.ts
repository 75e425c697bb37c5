import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect } from "vitest";
import type { ConfigInput } from "../../../src/control-plane/config/config.ts";
import type { User } from "../../../src/control-plane/core/people/user.ts";
import { type Clock, systemClock } from "../../../src/lib/clock.ts";
import { type CapturedLog, captureLogText } from "../captured-log.ts";
import { type ControlPlane, startControlPlane } from "../control-plane.ts";
import { someAudit, someUser } from "../control-plane/people.ts";
import { freePort } from "../free-port.ts";
import { tempDir } from "../temp-dir.ts";
import { type Claims, Person } from "./person.ts";
import { CLIENT_SECRET, type RunningProvider, startProvider } from "./provider-process.ts";

export const JANE: Claims = {
  sub: "jane",
  email: "jane@example.com",
  email_verified: true,
  name: "Jane",
  groups: ["staff"],
};

/** Where a sign-in that fails leads to. */
export const failure = (code: string, reason: string): string => `/sign-in?failure=${code}&reason=${reason}`;

/** A provider in a process of its own, and one service after the other at the address that the provider knows. */
export class OidcRig implements AsyncDisposable {
  readonly base: string;
  readonly provider: RunningProvider;
  /** Of the service that runs. */
  control!: ControlPlane;
  accountId!: string;
  log!: CapturedLog;
  readonly #resources: AsyncDisposableStack;
  readonly #secretFile: string;

  constructor(base: string, provider: RunningProvider, resources: AsyncDisposableStack, secretFile: string) {
    this.base = base;
    this.provider = provider;
    this.#resources = resources;
    this.#secretFile = secretFile;
  }

  static async start(): Promise<OidcRig> {
    await using resources = new AsyncDisposableStack();
    const base = `http://127.0.0.1:${await freePort()}`;
    const directory = resources.use(await tempDir());
    const secretFile = join(directory.path, "secret");
    await writeFile(secretFile, `${CLIENT_SECRET}\n`);
    const provider = resources.use(await startProvider(`${base}/v1/oidc/callback`));
    return new OidcRig(base, provider, resources.move(), secretFile);
  }

  configOf(fields: ConfigInput = {}): ConfigInput {
    return {
      listen: new URL(this.base).host,
      public_url: this.base,
      oidc_issuer: this.provider.issuer,
      oidc_client_id: "edge-control",
      oidc_client_secret_file: this.#secretFile,
      oidc_name: "Example ID",
      ...fields,
    };
  }

  /** Starts a service with an account, for one test. */
  async serve(fields?: ConfigInput, clock: Clock = systemClock): Promise<AsyncDisposable> {
    this.log = captureLogText();
    this.control = await startControlPlane({ config: this.configOf(fields), logger: this.log.logger, clock });
    ({ accountId: this.accountId } = await this.control.account());
    return this.control;
  }

  /** A user who was invited, unless the fields say otherwise. */
  async create(fields: Partial<User>): Promise<User> {
    const user = someUser({ accountId: this.accountId, passwordHash: undefined, ...fields });
    const audit = someAudit("user.created", this.accountId);
    expect(await this.control.store.users.createUser(user, undefined, audit)).toBe("created");
    return user;
  }

  /** Returns where the service sends the browser to. */
  async begin(person: Person, query = ""): Promise<string> {
    return this.finish(person, `${this.base}/v1/oidc/start${query}`);
  }

  /** Opens an address that leads elsewhere, and returns where to. */
  async finish(person: Person, url: string): Promise<string> {
    const response = await person.request(url);
    expect(response.status).toBe(303);
    return response.headers.get("location")!;
  }

  /** Signs in and returns where that leads to. */
  async signIn(claims: Claims, person = new Person(), query = ""): Promise<string> {
    const callback = `${this.base}/v1/oidc/callback`;
    return this.finish(person, await person.passProvider(await this.begin(person, query), claims, callback));
  }

  async whoIs(person: Person): Promise<Record<string, unknown>> {
    const response = await person.request(`${this.base}/v1/session`);
    return { status: response.status, ...((await response.json()) as object) };
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#resources.disposeAsync();
  }
}
