import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import type { ConfigInput } from "../../../src/control-plane/config.ts";
import type { User } from "../../../src/control-plane/core/people/user.ts";
import { openStore } from "../../../src/control-plane/store/sqlite/open-store.ts";
import { captureLogText } from "../../support/captured-log.ts";
import { type ControlPlane, startControlPlane } from "../../support/control-plane.ts";
import { someAudit, someUser } from "../../support/control-plane/people.ts";
import { freePort } from "../../support/free-port.ts";
import { type Claims, Person } from "../../support/oidc/person.ts";
import { CLIENT_SECRET, type RunningProvider, startProvider } from "../../support/oidc/provider-process.ts";
import { tempDir } from "../../support/temp-dir.ts";

const ADMIN: Partial<User> = { role: "admin", email: "admin@example.com" };

let resources: AsyncDisposableStack;
let provider: RunningProvider;
let control: ControlPlane;
let base: string;
let accountId: string;
let log: ReturnType<typeof captureLogText>;
let configOf: (fields?: ConfigInput) => ConfigInput;

beforeAll(async () => {
  resources = new AsyncDisposableStack();
  const port = await freePort();
  base = `http://127.0.0.1:${port}`;
  const directory = resources.use(await tempDir());
  const secretFile = join(directory.path, "secret");
  await writeFile(secretFile, `${CLIENT_SECRET}\n`);
  provider = resources.use(await startProvider(`${base}/v1/oidc/callback`));
  configOf = (fields = {}) => ({
    listen: `127.0.0.1:${port}`,
    public_url: base,
    oidc_issuer: provider.issuer,
    oidc_client_id: "edge-control",
    oidc_client_secret_file: secretFile,
    oidc_name: "Example ID",
    ...fields,
  });
});
afterAll(async () => {
  await resources.disposeAsync();
});

/** Starts the service for one test, with an account that has a local admin. */
async function serve(fields?: ConfigInput): Promise<AsyncDisposable> {
  log = captureLogText();
  control = await startControlPlane({ config: configOf(fields), logger: log.logger });
  ({ accountId } = await control.account());
  return control;
}

async function create(fields: Partial<User>): Promise<User> {
  const user = someUser({ accountId, passwordHash: undefined, ...fields });
  expect(await control.store.users.createUser(user, undefined, someAudit("user.created", accountId))).toBe(true);
  return user;
}

const JANE: Claims = { sub: "jane", email: "jane@example.com", email_verified: true, name: "Jane", groups: ["staff"] };
const ROLES = { oidc_roles_claim: "groups", oidc_roles: { viewer: ["staff"], operator: ["desk"], admin: ["chiefs"] } };

async function begin(person: Person, query = ""): Promise<string> {
  const response = await person.request(`${base}/v1/oidc/start${query}`);
  expect(response.status).toBe(303);
  return response.headers.get("location")!;
}

/** Signs in and returns where that leads to. */
async function signIn(claims: Claims, person = new Person(), query = ""): Promise<string> {
  const url = await person.passProvider(await begin(person, query), claims, `${base}/v1/oidc/callback`);
  return finish(person, url);
}

async function finish(person: Person, url: string): Promise<string> {
  const response = await person.request(url);
  expect(response.status).toBe(303);
  return response.headers.get("location")!;
}

async function whoIs(person: Person): Promise<Record<string, unknown>> {
  const response = await person.request(`${base}/v1/session`);
  return { status: response.status, ...((await response.json()) as object) };
}

const failure = (code: string, reason: string): string => `/sign-in?failure=${code}&reason=${reason}`;

describe("people who are invited", () => {
  beforeEach(async () => {
    const running = await serve();
    return () => running[Symbol.asyncDispose]();
  });

  test("sign in by a verified address, and are known by issuer and subject from then on", async () => {
    const user = await create({ email: "Jane@Example.com", role: "installer" });
    const jane = new Person();
    expect(await signIn(JANE, jane, "?next=/assets%3Fq=1")).toBe("/assets?q=1");
    expect(await whoIs(jane)).toMatchObject({
      status: 200,
      role: "installer",
      principal: { kind: "user", id: user.id },
    });
    const again = new Person();
    expect(await signIn({ sub: "jane", email: "jane@married.example", email_verified: false }, again)).toBe(
      "/overview",
    );
    expect(await whoIs(again)).toMatchObject({ status: 200, principal: { id: user.id, email: "Jane@Example.com" } });
    // Another person who is given the address later is somebody else.
    expect(await signIn({ ...JANE, sub: "joan" })).toBe(failure("OidcNotAllowed", "other_identity"));
    const actions = (await control.store.audit.listEntries(accountId, 10)).map(({ action, actor }) => [
      action,
      actor.kind,
    ]);
    expect(actions.slice(0, 3)).toEqual([
      ["session.opened", "user"],
      ["session.opened", "user"],
      ["user.changed", "service"],
    ]);
  });

  test("are not linked by an address that the provider has not verified, nor if they have a password", async () => {
    const user = await create({ email: "jane@example.com" });
    for (const email_verified of [false, undefined]) {
      const person = new Person();
      expect(await signIn({ ...JANE, email_verified }, person)).toBe(failure("OidcNotAllowed", "email_not_verified"));
      expect(await whoIs(person)).toMatchObject({ status: 401 });
    }
    expect(await control.store.users.findUser(user.id)).toMatchObject({ oidc: undefined });
    await create({ email: "joe@example.com", passwordHash: "$hash" });
    const joe = { sub: "joe", email: "joe@example.com", email_verified: true };
    expect(await signIn(joe)).toBe(failure("OidcNotAllowed", "has_password"));
    expect(await signIn({ ...joe, email: "new@example.com" })).toBe(failure("OidcNotAllowed", "not_invited"));
  });

  test("do not sign in while they are disabled", async () => {
    const user = await create({ email: "jane@example.com" });
    expect(await signIn(JANE)).toBe("/overview");
    await control.store.users.changeUser(
      accountId,
      user.id,
      { isDisabled: true },
      someAudit("user.changed", accountId),
    );
    expect(await signIn(JANE)).toBe(failure("OidcNotAllowed", "disabled"));
  });

  test("the session is always a new one, and the one before ends", async () => {
    await create({ email: "jane@example.com" });
    const jane = new Person();
    jane.setCookie(base, "edge_session", "es_planted-by-somebody-else");
    await signIn(JANE, jane);
    const first = jane.cookie(base, "edge_session")!;
    expect(first).not.toBe("es_planted-by-somebody-else");
    await signIn(JANE, jane);
    expect(jane.cookie(base, "edge_session")).not.toBe(first);
    const old = new Person();
    old.setCookie(base, "edge_session", first);
    expect(await whoIs(old)).toMatchObject({ status: 401 });
  });

  test("the sign-in page and admins are told of the provider, and nobody of its secret", async () => {
    const options = await (await fetch(`${base}/v1/sign-in`)).json();
    expect(options).toMatchObject({ oidc: { name: "Example ID" } });
    const { apiKey } = await control.account();
    const text = await (await fetch(`${base}/v1/sign-in-settings`, { headers: { "X-API-Key": apiKey } })).text();
    expect(JSON.parse(text)).toEqual({
      oidc: {
        name: "Example ID",
        issuer: provider.issuer,
        client_id: "edge-control",
        redirect_uri: `${base}/v1/oidc/callback`,
        scope: "openid email profile",
        roles_claim: "roles",
        roles: null,
        domains: [],
        creates_users: false,
      },
    });
    expect(text).not.toContain(CLIENT_SECRET);
  });
});

describe("a sign-in that was tampered with", () => {
  beforeEach(async () => {
    const running = await serve();
    await create({ email: "jane@example.com" });
    return () => running[Symbol.asyncDispose]();
  });

  test("a callback counts once: neither a replayed one nor one with the old cookie opens a session", async () => {
    const jane = new Person();
    const authorization = await begin(jane);
    const kept = jane.cookie(base, "edge_oidc")!;
    const url = await jane.passProvider(authorization, JANE, `${base}/v1/oidc/callback`);
    expect(await finish(jane, url)).toBe("/overview");
    expect(jane.cookie(base, "edge_oidc")).toBeUndefined();
    expect(await finish(jane, url)).toBe(failure("OidcFailed", "state"));
    const thief = new Person();
    thief.setCookie(base, "edge_oidc", kept);
    expect(await finish(thief, url)).toBe(failure("OidcFailed", "response"));
    expect(await whoIs(thief)).toMatchObject({ status: 401 });
  });

  test("the callback of another browser opens no session: nobody is signed in as somebody else", async () => {
    const attacker = new Person();
    const url = await attacker.passProvider(await begin(attacker), JANE, `${base}/v1/oidc/callback`);
    const victim = new Person();
    expect(await finish(victim, url)).toBe(failure("OidcFailed", "state"));
    // Nor with a sign-in of the victim's own under way, whose state the attacker does not know.
    await begin(victim);
    expect(await finish(victim, url)).toBe(failure("OidcFailed", "state"));
    // Nor with that state and the attacker's code: verifier and nonce are the victim's.
    const state = new URL(await begin(victim)).searchParams.get("state")!;
    const mixed = new URL(url);
    mixed.searchParams.set("state", state);
    expect(await finish(victim, mixed.href)).toBe(failure("OidcFailed", "response"));
    expect(await whoIs(victim)).toMatchObject({ status: 401 });
  });

  test.each([
    ["without a cookie", undefined, "state"],
    ["with a cookie that is none", "bm9uc2Vuc2U", "state"],
  ])("a callback %s", async (_, cookie, reason) => {
    const person = new Person();
    if (cookie !== undefined) person.setCookie(base, "edge_oidc", cookie);
    expect(await finish(person, `${base}/v1/oidc/callback?state=x&code=y`)).toBe(failure("OidcFailed", reason));
    expect(await finish(person, `${base}/v1/oidc/callback`)).toBe(failure("OidcFailed", reason));
  });

  test("a response of another issuer, and one that says the person was refused", async () => {
    const jane = new Person();
    const good = new URL(await jane.passProvider(await begin(jane), JANE, `${base}/v1/oidc/callback`));
    good.searchParams.set("iss", "https://evil.example");
    expect(await finish(jane, good.href)).toBe(failure("OidcFailed", "response"));
    const state = new URL(await begin(jane)).searchParams.get("state")!;
    const denied = new URLSearchParams({ error: "access_denied", state, iss: provider.issuer });
    expect(await finish(jane, `${base}/v1/oidc/callback?${denied}`)).toBe(failure("OidcFailed", "response"));
    expect(await whoIs(jane)).toMatchObject({ status: 401 });
  });

  test("only navigation begins a sign-in, and it ends at a page of this service", async () => {
    const image = await fetch(`${base}/v1/oidc/start`, {
      redirect: "manual",
      headers: { "Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors" },
    });
    expect([image.status, image.headers.getSetCookie()]).toEqual([403, []]);
    for (const next of ["https://evil.example", "//evil.example", "/\\evil.example", "/a\nb", "assets"]) {
      const response = await fetch(`${base}/v1/oidc/start?next=${encodeURIComponent(next)}`, { redirect: "manual" });
      expect(response.status).toBe(422);
    }
    // A cookie that was planted does not lead elsewhere either.
    const jane = new Person();
    const authorization = await begin(jane);
    const kept = JSON.parse(Buffer.from(jane.cookie(base, "edge_oidc")!, "base64url").toString()) as object;
    const planted = Buffer.from(JSON.stringify({ ...kept, next: "//evil.example" })).toString("base64url");
    const url = await jane.passProvider(authorization, JANE, `${base}/v1/oidc/callback`);
    jane.setCookie(base, "edge_oidc", planted);
    expect(await finish(jane, url)).toBe(failure("OidcFailed", "state"));
  });

  test("the cookie is not for scripts, ends soon, and is not sent with requests of other pages", async () => {
    const response = await fetch(`${base}/v1/oidc/start`, { redirect: "manual" });
    expect(response.headers.getSetCookie()).toEqual([
      expect.stringMatching(/^edge_oidc=[\w-]+; Max-Age=600; Path=\/; HttpOnly; SameSite=Lax$/),
    ]);
    const { searchParams } = new URL(response.headers.get("location")!);
    expect(Object.fromEntries(searchParams)).toMatchObject({
      response_type: "code",
      code_challenge_method: "S256",
      redirect_uri: `${base}/v1/oidc/callback`,
      nonce: expect.stringMatching(/.{20}/),
    });
  });

  test("neither codes nor tokens nor the secret are logged", async () => {
    const jane = new Person();
    const url = await jane.passProvider(await begin(jane), JANE, `${base}/v1/oidc/callback`);
    await finish(jane, url);
    await finish(jane, url);
    const { searchParams } = new URL(url);
    const secrets = [
      searchParams.get("code")!,
      searchParams.get("state")!,
      CLIENT_SECRET,
      jane.cookie(base, "edge_session")!,
    ];
    for (const secret of secrets) expect(log.text()).not.toContain(secret);
    expect(log.text()).not.toContain("eyJ");
  });
});

describe("roles and domains of the provider", () => {
  beforeEach(async () => {
    const running = await serve(ROLES);
    return () => running[Symbol.asyncDispose]();
  });

  test("the role is the provider's at each sign-in, and sessions with another role end", async () => {
    const user = await create({ email: "jane@example.com", role: "viewer" });
    const jane = new Person();
    expect(await signIn({ ...JANE, groups: ["staff", "desk"] }, jane)).toBe("/overview");
    expect(await whoIs(jane)).toMatchObject({ role: "operator" });
    expect(await signIn(JANE)).toBe("/overview");
    expect(await whoIs(jane)).toMatchObject({ status: 401 });
    expect(await control.store.users.findUser(user.id)).toMatchObject({ role: "viewer" });
  });

  test("without a value that has a role nobody signs in, invited or known", async () => {
    await create({ email: "jane@example.com" });
    expect(await signIn({ ...JANE, groups: ["others"] })).toBe(failure("OidcNotAllowed", "no_role"));
    expect(await signIn(JANE)).toBe("/overview");
    expect(await signIn({ ...JANE, groups: undefined })).toBe(failure("OidcNotAllowed", "no_role"));
  });

  test("the last admin with a password stays one, whatever the provider says", async () => {
    const identity = { issuer: provider.issuer, subject: "admin" };
    const admin = await create({ ...ADMIN, passwordHash: "$hash", oidc: identity });
    const person = new Person();
    expect(await signIn({ ...JANE, sub: "admin", email: "admin@example.com" }, person)).toBe("/overview");
    expect(await whoIs(person)).toMatchObject({ role: "admin" });
    expect(log.text()).toContain("the user is the last local admin");
    await create({ role: "admin", passwordHash: "$hash" });
    expect(await signIn({ ...JANE, sub: "admin", email: "admin@example.com" }, person)).toBe("/overview");
    expect(await control.store.users.findUser(admin.id)).toMatchObject({ role: "viewer" });
  });
});

describe("people without an invitation", () => {
  test("become users of the one account, if their domain and their role allow it", async () => {
    // The account has to be there before the service is told of it.
    const directory = await tempDir();
    await using _directory = directory;
    const path = join(directory.path, "edge-control.sqlite");
    const open = async () => openStore(path);
    {
      await using store = await open();
      await store.accounts.createAccount({ id: "acc_one", name: "One", createdAt: 1 });
    }
    const config = configOf({ ...ROLES, oidc_account: "acc_one", oidc_domains: ["Example.com"] });
    await using running = await startControlPlane({ config, openStore: open });
    const jane = new Person();
    expect(await signIn({ ...JANE, groups: ["desk"] }, jane)).toBe("/overview");
    expect(await whoIs(jane)).toMatchObject({
      account: { id: "acc_one" },
      role: "operator",
      principal: { name: "Jane", email: "jane@example.com" },
    });
    expect(await running.store.users.listUsers("acc_one")).toMatchObject([
      { oidc: { issuer: provider.issuer, subject: "jane" }, passwordHash: undefined },
    ]);
    // Several at once are one user.
    const joe: Claims = { ...JANE, sub: "joe", email: "joe@example.com", name: undefined };
    const results = await Promise.all(Array.from({ length: 4 }, () => signIn(joe)));
    expect(results).toEqual(["/overview", "/overview", "/overview", "/overview"]);
    expect(await running.store.users.listUsers("acc_one")).toHaveLength(2);
    const stranger: Claims = { ...JANE, sub: "stranger", email: "x@example.com.evil.net" };
    expect(await signIn(stranger)).toBe(failure("OidcNotAllowed", "domain"));
    expect(await signIn({ ...stranger, email: "x@example.com", groups: [] })).toBe(
      failure("OidcNotAllowed", "no_role"),
    );
    expect(await signIn({ ...stranger, email: undefined })).toBe(failure("OidcNotAllowed", "no_email"));
    expect(await running.store.users.listUsers("acc_one")).toHaveLength(2);
  });

  test("cannot sign in when the configuration names no account that exists", async () => {
    await using _running = await serve({ ...ROLES, oidc_account: "acc_none" });
    expect(await signIn(JANE)).toBe(failure("OidcNotAllowed", "not_invited"));
    expect(log.text()).toContain("oidc_account names no account");
  });
});

describe("a provider that fails", () => {
  test("does not keep anybody from signing in otherwise, and works again without a restart", async () => {
    await using _running = await serve({ oidc_issuer: "http://127.0.0.1:9" });
    expect(await finish(new Person(), `${base}/v1/oidc/start`)).toBe(failure("OidcFailed", "unreachable"));
    expect((await fetch(`${base}/v1/sign-in`)).status).toBe(200);
    expect(log.text()).toContain("the identity provider did not confirm a sign-in");
  });

  test("between the two requests", async () => {
    await using own = await startProvider(`${base}/v1/oidc/callback`);
    await using _running = await serve({ oidc_issuer: own.issuer });
    await create({ email: "jane@example.com" });
    const jane = new Person();
    const url = await jane.passProvider(await begin(jane), JANE, `${base}/v1/oidc/callback`);
    await own.stop();
    expect(await finish(jane, url)).toBe(failure("OidcFailed", "response"));
    expect(await whoIs(jane)).toMatchObject({ status: 401 });
    expect(await finish(jane, `${base}/v1/oidc/start`)).toBe(failure("OidcFailed", "unreachable"));
  });

  test("by calling itself something else than the configuration does", async () => {
    await using _running = await serve({ oidc_issuer: provider.issuer.replace("127.0.0.1", "localhost") });
    expect(await finish(new Person(), `${base}/v1/oidc/start`)).toBe(failure("OidcFailed", "unreachable"));
    expect(log.text()).toMatch(/issuer/);
  });

  test.each([
    [45, "/overview"],
    [-45, "/overview"],
    [-7_200, failure("OidcFailed", "response")],
  ])("by a clock that is %i s ahead", async (shift, expected) => {
    await using own = await startProvider(`${base}/v1/oidc/callback`, shift);
    await using _running = await serve({ oidc_issuer: own.issuer });
    await create({ email: "jane@example.com" });
    expect(await signIn(JANE)).toBe(expected);
  });
});

test("without a provider there is nothing at its addresses", async () => {
  await using own = await startControlPlane();
  for (const path of ["start", "callback"]) expect((await fetch(`${own.url}/v1/oidc/${path}`)).status).toBe(404);
  expect(await (await fetch(`${own.url}/v1/sign-in`)).json()).not.toHaveProperty("oidc");
});
