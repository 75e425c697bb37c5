import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { BASIC, MACHINE, USER, client, failure, soon, RegistryRig } from "./rig.ts";

let rig: RegistryRig;

beforeAll(async () => {
  rig = await RegistryRig.start();
});

afterAll(() => rig[Symbol.asyncDispose]());

describe("basic authentication", () => {
  test("grants access", async () => {
    expect((await client().resolve(`${rig.closed.host}/team/app:1`, MACHINE, BASIC, soon())).config.digest).toBe(
      rig.image.id,
    );
    expect(await rig.readLayer(rig.closed.host, BASIC)).toEqual(rig.layerBytes);
  });

  test("is denied without credentials and with wrong ones", async () => {
    const missing = await failure(client().resolve(`${rig.closed.host}/team/app:1`, MACHINE, undefined, soon()));
    expect(missing).toMatchObject({ kind: "image_denied", message: expect.stringContaining("none are known") });
    const wrong = { ...BASIC, password: "another word" } as const;
    const error = await failure(client().resolve(`${rig.closed.host}/team/app:1`, MACHINE, wrong, soon()));
    expect(error).toMatchObject({ kind: "image_denied", message: expect.stringContaining(rig.closed.host) });
    expect(error.message).not.toContain("another word");
  });
});

describe("authentication by token", () => {
  test("allows anonymous access if the token server does", async () => {
    const registry = await rig.front({ tokens: {} });
    const resolved = await client().resolve(`${registry.host}/team/app:1`, MACHINE, undefined, soon());
    expect(resolved.config.digest).toBe(rig.image.id);
    const [asked, ...others] = registry.requests.filter(({ path }) => path.startsWith("/token"));
    expect(others).toEqual([]);
    expect(asked?.path).toContain("service=test+registry&scope=repository%3Ateam%2Fapp%3Apull");
  });

  test("sends user name and password to the token server only", async () => {
    const registry = await rig.front({ tokens: { user: USER } });
    await client().resolve(`${registry.host}/team/app:1`, MACHINE, BASIC, soon());
    const shown = registry.requests.filter(({ headers }) => headers.authorization?.startsWith("Basic"));
    expect(shown.map(({ path }) => path.split("?")[0])).toEqual(["/token"]);
  });

  test("exchanges an identity token", async () => {
    const registry = await rig.front({ tokens: { user: USER, identityToken: "identity" } });
    const auth = { kind: "identity", username: "", identityToken: "identity" } as const;
    const resolved = await client().resolve(`${registry.host}/team/app:1`, MACHINE, auth, soon());
    expect(resolved.config.digest).toBe(rig.image.id);
    const wrong = { ...auth, identityToken: "other" };
    const error = await failure(client().resolve(`${registry.host}/team/app:1`, MACHINE, wrong, soon()));
    expect(error.kind).toBe("image_denied");
  });

  test("is denied with a wrong password, and without one", async () => {
    const registry = await rig.front({ tokens: { user: USER } });
    const wrong = { ...BASIC, password: "another word" } as const;
    const error = await failure(client().resolve(`${registry.host}/team/app:1`, MACHINE, wrong, soon()));
    expect(error).toMatchObject({ kind: "image_denied", message: expect.stringContaining("user name, password") });
    const missing = await failure(client().resolve(`${registry.host}/team/app:1`, MACHINE, undefined, soon()));
    expect(missing).toMatchObject({ kind: "image_denied", message: expect.stringContaining("none are known") });
  });

  test("fetches a new token when the current one has expired", async () => {
    const registry = await rig.front({ tokens: { user: USER } });
    const one = client();
    const image1 = await one.resolve(`${registry.host}/team/app:1`, MACHINE, BASIC, soon());
    registry.revokeTokens();
    const [layer] = image1.layers;
    if (!layer) throw new Error("the image has no layer");
    const { stream } = await one.openBlob(image1, layer, { auth: BASIC, signal: soon() });
    stream.destroy();
    expect(registry.requests.filter(({ path }) => path.startsWith("/token"))).toHaveLength(2);
  });

  test.each([
    ["token", 200, { kind: "unsupported", message: expect.stringContaining("longer") as string }],
    ["error", 500, { kind: "registry_unreachable", message: expect.not.stringContaining("xxx") as string }],
  ])("does not read %s of any length to its end", async (_what, status, failed) => {
    const token = "x".repeat(1_000_000);
    const body = JSON.stringify({ token, errors: [{ code: "NO", message: token }] });
    const registry = await rig.front({
      intercept: ({ path, headers }) =>
        path.startsWith("/token")
          ? { status, body }
          : { status: 401, headers: { "WWW-Authenticate": `Bearer realm="http://${headers.host}/token"` } },
    });
    const error = await failure(client().resolve(`${registry.host}/team/app:1`, MACHINE, BASIC, soon()));
    expect(error).toMatchObject(failed);
  });

  test("sends a configured token as it is", async () => {
    const seen: string[] = [];
    const registry = await rig.front({
      intercept: ({ headers }) => {
        seen.push(headers.authorization ?? "");
        return headers.authorization === "Bearer mine"
          ? undefined
          : { status: 401, headers: { "WWW-Authenticate": "Bearer realm=x" } };
      },
    });
    const reference = `${registry.host}/team/app:1`;
    await client().resolve(reference, MACHINE, { kind: "token", token: "mine" }, soon());
    expect(new Set(seen)).toEqual(new Set(["Bearer mine"]));
    const error = await failure(client().resolve(reference, MACHINE, { kind: "token", token: "other" }, soon()));
    expect(error.kind).toBe("image_denied");
  });
});
