import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { someAudit } from "../../support/control-plane/people.ts";
import { failure, JANE, OidcRig } from "../../support/oidc/oidc-rig.ts";
import { Person } from "../../support/oidc/person.ts";
import { CLIENT_SECRET } from "../../support/oidc/provider-process.ts";

let rig: OidcRig;
beforeAll(async () => {
  rig = await OidcRig.start();
});
afterAll(() => rig[Symbol.asyncDispose]());

describe("people who are invited", () => {
  beforeEach(async () => {
    const running = await rig.serve();
    return () => running[Symbol.asyncDispose]();
  });

  test("sign in by a verified address, and are known by issuer and subject from then on", async () => {
    const user = await rig.create({ email: "Jane@Example.com", role: "installer" });
    const jane = new Person();
    expect(await rig.signIn(JANE, jane, "?next=/assets%3Fq=1")).toBe("/assets?q=1");
    expect(await rig.whoIs(jane)).toMatchObject({
      status: 200,
      role: "installer",
      principal: { kind: "user", id: user.id },
    });
    const again = new Person();
    expect(await rig.signIn({ sub: "jane", email: "jane@married.example", email_verified: false }, again)).toBe(
      "/overview",
    );
    expect(await rig.whoIs(again)).toMatchObject({
      status: 200,
      principal: { id: user.id, email: "Jane@Example.com" },
    });
    // An address that the provider has verified is taken over, and the sessions stay; another user's is not.
    await rig.create({ email: "joe@example.com" });
    for (const email of ["joe@example.com", "jane@married.example"])
      expect(await rig.signIn({ sub: "jane", email, email_verified: true })).toBe("/overview");
    expect(await rig.whoIs(again)).toMatchObject({ principal: { id: user.id, email: "jane@married.example" } });
    const [, renamed] = await rig.control.store.audit.listEntries(rig.accountId, 2);
    expect(renamed).toMatchObject({ action: "user.changed", details: { email: "jane@married.example" } });
    expect(await rig.signIn({ sub: "jane", email: "Jane@Example.com", email_verified: true })).toBe("/overview");
    // Another person who is given the address later is somebody else.
    expect(await rig.signIn({ ...JANE, sub: "joan" })).toBe(failure("OidcNotAllowed", "other_identity"));
    const entries = await rig.control.store.audit.listEntries(rig.accountId, 9);
    expect(entries.map(({ action, outcome, actor }) => [action, outcome, actor.kind])).toEqual([
      ["session.opened", "OidcNotAllowed", "user"],
      ["session.opened", "ok", "user"],
      ["user.changed", "ok", "service"],
      ["session.opened", "ok", "user"],
      ["user.changed", "ok", "service"],
      ["session.opened", "ok", "user"],
      ["session.opened", "ok", "user"],
      ["session.opened", "ok", "user"],
      ["user.changed", "ok", "service"],
    ]);
    expect(entries.at(-1)).toMatchObject({ details: { linked: true, role: "installer" }, subject: { id: user.id } });
  });

  test("are not linked by an address that the provider has not verified, nor if they have a password", async () => {
    const user = await rig.create({ email: "jane@example.com" });
    for (const email_verified of [false, undefined]) {
      const person = new Person();
      expect(await rig.signIn({ ...JANE, email_verified }, person)).toBe(
        failure("OidcNotAllowed", "email_not_verified"),
      );
      expect(await rig.whoIs(person)).toMatchObject({ status: 401 });
    }
    expect(await rig.control.store.users.findUser(user.id)).toMatchObject({ oidc: undefined });
    await rig.create({ email: "joe@example.com", passwordHash: "$hash" });
    const joe = { sub: "joe", email: "joe@example.com", email_verified: true };
    expect(await rig.signIn(joe)).toBe(failure("OidcNotAllowed", "has_password"));
    expect(await rig.signIn({ ...joe, email: "new@example.com" })).toBe(failure("OidcNotAllowed", "not_invited"));
  });

  test("do not sign in while they are disabled", async () => {
    const user = await rig.create({ email: "jane@example.com" });
    expect(await rig.signIn(JANE)).toBe("/overview");
    await rig.control.store.users.changeUser(
      rig.accountId,
      user.id,
      { isDisabled: true },
      someAudit("user.changed", rig.accountId),
    );
    expect(await rig.signIn(JANE)).toBe(failure("OidcNotAllowed", "disabled"));
    const [refused] = await rig.control.store.audit.listEntries(rig.accountId, 1);
    expect(refused).toMatchObject({ action: "session.opened", outcome: "OidcNotAllowed", actor: { id: user.id } });
  });

  test("the session is always a new one, and the one before ends", async () => {
    await rig.create({ email: "jane@example.com" });
    const jane = new Person();
    jane.setCookie(rig.base, "edge_session", "es_planted-by-somebody-else");
    await rig.signIn(JANE, jane);
    const first = jane.cookie(rig.base, "edge_session")!;
    expect(first).not.toBe("es_planted-by-somebody-else");
    await rig.signIn(JANE, jane);
    expect(jane.cookie(rig.base, "edge_session")).not.toBe(first);
    const old = new Person();
    old.setCookie(rig.base, "edge_session", first);
    expect(await rig.whoIs(old)).toMatchObject({ status: 401 });
  });

  test("the sign-in page and admins are told of the provider, and nobody of its secret", async () => {
    const options = await (await fetch(`${rig.base}/v1/sign-in`)).json();
    expect(options).toMatchObject({ oidc: { name: "Example ID" } });
    const { apiKey } = await rig.control.account();
    const text = await (await fetch(`${rig.base}/v1/sign-in-settings`, { headers: { "X-API-Key": apiKey } })).text();
    expect(JSON.parse(text)).toEqual({
      oidc: {
        name: "Example ID",
        issuer: rig.provider.issuer,
        client_id: "edge-control",
        redirect_uri: `${rig.base}/v1/oidc/callback`,
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
    const running = await rig.serve();
    await rig.create({ email: "jane@example.com" });
    return () => running[Symbol.asyncDispose]();
  });

  test("a callback counts once: neither a replayed one nor one with the old cookie opens a session", async () => {
    const jane = new Person();
    const authorization = await rig.begin(jane);
    const kept = jane.cookie(rig.base, "edge_oidc")!;
    const url = await jane.passProvider(authorization, JANE, `${rig.base}/v1/oidc/callback`);
    expect(await rig.finish(jane, url)).toBe("/overview");
    expect(jane.cookie(rig.base, "edge_oidc")).toBeUndefined();
    expect(await rig.finish(jane, url)).toBe(failure("OidcFailed", "state"));
    const thief = new Person();
    thief.setCookie(rig.base, "edge_oidc", kept);
    expect(await rig.finish(thief, url)).toBe(failure("OidcFailed", "response"));
    expect(await rig.whoIs(thief)).toMatchObject({ status: 401 });
  });

  test("the callback of another browser opens no session: nobody is signed in as somebody else", async () => {
    const attacker = new Person();
    const url = await attacker.passProvider(await rig.begin(attacker), JANE, `${rig.base}/v1/oidc/callback`);
    const victim = new Person();
    expect(await rig.finish(victim, url)).toBe(failure("OidcFailed", "state"));
    // Nor with a sign-in of the victim's own under way, whose state the attacker does not know.
    await rig.begin(victim);
    expect(await rig.finish(victim, url)).toBe(failure("OidcFailed", "state"));
    // Nor with that state and the attacker's code: verifier and nonce are the victim's.
    const state = new URL(await rig.begin(victim)).searchParams.get("state")!;
    const mixed = new URL(url);
    mixed.searchParams.set("state", state);
    expect(await rig.finish(victim, mixed.href)).toBe(failure("OidcFailed", "response"));
    expect(await rig.whoIs(victim)).toMatchObject({ status: 401 });
  });

  test.each([
    ["without a cookie", undefined, "state"],
    ["with a cookie that is none", "bm9uc2Vuc2U", "state"],
  ])("a callback %s", async (_, cookie, reason) => {
    const person = new Person();
    if (cookie !== undefined) person.setCookie(rig.base, "edge_oidc", cookie);
    expect(await rig.finish(person, `${rig.base}/v1/oidc/callback?state=x&code=y`)).toBe(failure("OidcFailed", reason));
    expect(await rig.finish(person, `${rig.base}/v1/oidc/callback`)).toBe(failure("OidcFailed", reason));
  });

  test("a response of another issuer, and one that says the person was refused", async () => {
    const jane = new Person();
    const good = new URL(await jane.passProvider(await rig.begin(jane), JANE, `${rig.base}/v1/oidc/callback`));
    good.searchParams.set("iss", "https://evil.example");
    expect(await rig.finish(jane, good.href)).toBe(failure("OidcFailed", "response"));
    const state = new URL(await rig.begin(jane)).searchParams.get("state")!;
    const denied = new URLSearchParams({ error: "access_denied", state, iss: rig.provider.issuer });
    expect(await rig.finish(jane, `${rig.base}/v1/oidc/callback?${denied.toString()}`)).toBe(
      failure("OidcFailed", "response"),
    );
    expect(await rig.whoIs(jane)).toMatchObject({ status: 401 });
  });

  test("only navigation begins a sign-in, and it ends at a page of this service", async () => {
    const image = await fetch(`${rig.base}/v1/oidc/start`, {
      redirect: "manual",
      headers: { "Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors" },
    });
    expect([image.status, image.headers.getSetCookie()]).toEqual([403, []]);
    for (const next of ["https://evil.example", "//evil.example", "/\\evil.example", "/a\nb", "assets"]) {
      const response = await fetch(`${rig.base}/v1/oidc/start?next=${encodeURIComponent(next)}`, {
        redirect: "manual",
      });
      expect(response.status).toBe(422);
    }
    // A cookie that was planted does not lead elsewhere either.
    const jane = new Person();
    const authorization = await rig.begin(jane);
    const kept = JSON.parse(Buffer.from(jane.cookie(rig.base, "edge_oidc")!, "base64url").toString()) as object;
    const planted = Buffer.from(JSON.stringify({ ...kept, next: "//evil.example" })).toString("base64url");
    const url = await jane.passProvider(authorization, JANE, `${rig.base}/v1/oidc/callback`);
    jane.setCookie(rig.base, "edge_oidc", planted);
    expect(await rig.finish(jane, url)).toBe(failure("OidcFailed", "state"));
  });

  test("the cookie is not for scripts, ends soon, and is not sent with requests of other pages", async () => {
    const response = await fetch(`${rig.base}/v1/oidc/start`, { redirect: "manual" });
    expect(response.headers.getSetCookie()).toEqual([
      expect.stringMatching(/^edge_oidc=[\w-]+; Max-Age=600; Path=\/; HttpOnly; SameSite=Lax$/),
    ]);
    const { searchParams } = new URL(response.headers.get("location")!);
    expect(Object.fromEntries(searchParams)).toMatchObject({
      response_type: "code",
      code_challenge_method: "S256",
      redirect_uri: `${rig.base}/v1/oidc/callback`,
      nonce: expect.stringMatching(/.{20}/),
    });
  });

  test("neither codes nor tokens nor the secret are logged", async () => {
    const jane = new Person();
    const url = await jane.passProvider(await rig.begin(jane), JANE, `${rig.base}/v1/oidc/callback`);
    await rig.finish(jane, url);
    await rig.finish(jane, url);
    const { searchParams } = new URL(url);
    const secrets = [
      searchParams.get("code")!,
      searchParams.get("state")!,
      CLIENT_SECRET,
      jane.cookie(rig.base, "edge_session")!,
    ];
    for (const secret of secrets) expect(rig.log.text()).not.toContain(secret);
    expect(rig.log.text()).not.toContain("eyJ");
  });
});
