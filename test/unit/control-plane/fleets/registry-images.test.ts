import { createHash } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import { describe, expect, test } from "vitest";
import { RegistryImages } from "../../../../src/control-plane/images/registry-images.ts";
import { systemClock } from "../../../../src/lib/clock.ts";
import type { RegistryAuth } from "../../../../src/protocol/apps/deploy-request.ts";
import { ScriptedRegistry } from "../../../support/registry/scripted-registry.ts";

const DIGEST = `sha256:${"a".repeat(64)}`;
const BASIC = `Basic ${Buffer.from("robot:pa55").toString("base64")}`;
const ROBOT: RegistryAuth = { username: "robot", password: "pa55" };
const never = new AbortController().signal;

/** Does not pause before a retry. */
const quickClock = { ...systemClock, sleep: async () => {} };
/** Ten seconds pass in a tenth of one. */
const impatientClock = {
  ...quickClock,
  timer: (ms: number, callback: () => void) => systemClock.timer(ms / 100, callback),
};

function resolve(registry: ScriptedRegistry, auth?: RegistryAuth, also: readonly string[] = [], clock = quickClock) {
  const images = new RegistryImages({ clock, allowPrivate: [registry.host, ...also] });
  return images.resolve(`${registry.host}/team/app:4`, auth, never);
}

function tell(response: ServerResponse): void {
  response.writeHead(200, { "Docker-Content-Digest": DIGEST }).end();
}

function refuse(response: ServerResponse, challenge: string): void {
  response.writeHead(401, { "WWW-Authenticate": challenge }).end();
}

const failure = (reason: string) => ({ code: "ImageNotResolved", details: { reason } });

describe("a digest", () => {
  test("is that of the header, asked for with all types of manifests", async () => {
    await using registry = await ScriptedRegistry.start((_, response) => tell(response));
    expect(await resolve(registry)).toBe(`${registry.host}/team/app:4@${DIGEST}`);
    expect(registry.asked).toEqual(["HEAD /v2/team/app/manifests/4"]);
    const accept = registry.requests[0]?.headers.accept;
    for (const type of ["oci.image.index", "manifest.list", "oci.image.manifest", "manifest.v2"])
      expect(accept).toContain(type);
  });

  test.each([200, 405, 501])("is the hash of the manifest where HEAD says %i without one", async (status) => {
    const manifest = JSON.stringify({ schemaVersion: 2 });
    await using registry = await ScriptedRegistry.start(({ method }, response) => {
      if (method === "HEAD") response.writeHead(status).end();
      else response.writeHead(200, { "Content-Type": "application/vnd.oci.image.index.v1+json" }).end(manifest);
    });
    const hash = createHash("sha256").update(manifest).digest("hex");
    expect(await resolve(registry)).toBe(`${registry.host}/team/app:4@sha256:${hash}`);
  });

  test("in the reference is kept without a request", async () => {
    const images = new RegistryImages({ clock: quickClock, allowPrivate: [] });
    const reference = `10.0.0.1/app@${DIGEST}`;
    expect(await images.resolve(reference, undefined, never)).toBe(reference);
  });

  test.each([
    ["an HTML page", { "Content-Type": "text/html" }, "<html>"],
    ["5 MiB", { "Content-Type": "application/vnd.oci.image.index.v1+json" }, "x".repeat(5 * 1024 * 1024)],
  ])("is not the hash of %s", async (_, headers, body) => {
    await using registry = await ScriptedRegistry.start(({ method }, response) => {
      response.writeHead(200, headers).end(method === "HEAD" ? undefined : body);
    });
    await expect(resolve(registry)).rejects.toMatchObject(failure("invalid_response"));
  });
});

/** Wants a token of its own token server. */
function withToken(request: IncomingMessage, response: ServerResponse, host: string): void {
  if (request.url?.startsWith("/token")) response.end(JSON.stringify({ token: "t0ken" }));
  else if (request.headers.authorization === "Bearer t0ken") tell(response);
  else refuse(response, `Bearer realm="http://${host}/token",service="r",scope="repository:team/app:pull"`);
}

describe("credentials", () => {
  test.each([
    [undefined, undefined, ""],
    [ROBOT, BASIC, "&account=robot"],
  ])("a token is asked for with %j", async (auth, shown, query) => {
    await using registry = await ScriptedRegistry.start((request, response) => {
      withToken(request, response, registry.host);
    });
    expect(await resolve(registry, auth)).toContain(DIGEST);
    expect(registry.asked[1]).toBe(`GET /token?service=r&scope=repository%3Ateam%2Fapp%3Apull${query}`);
    expect(registry.requests.map(({ headers }) => headers.authorization)).toEqual([undefined, shown, "Bearer t0ken"]);
  });

  test.each([
    ["too long", "x".repeat(70_000)],
    ["no JSON", "<html>"],
    ["a broken header", JSON.stringify({ token: "a\r\nX-Other: b" })],
  ])("a token that is %s is refused", async (_, body) => {
    await using registry = await ScriptedRegistry.start(({ url }, response) => {
      if (url?.startsWith("/token")) response.end(body);
      else refuse(response, `Bearer realm="http://${registry.host}/token"`);
    });
    await expect(resolve(registry)).rejects.toMatchObject(failure("invalid_response"));
  });

  test("that no header can have are refused", async () => {
    await using registry = await ScriptedRegistry.start((_, response) => tell(response));
    await expect(resolve(registry, { token: "a\nb" })).rejects.toMatchObject(failure("denied"));
    expect(registry.asked).toEqual([]);
  });

  test("basic authentication and a given token work", async () => {
    await using registry = await ScriptedRegistry.start(({ headers: { authorization } }, response) => {
      if (authorization === BASIC || authorization === "Bearer own") tell(response);
      else refuse(response, 'Basic realm="r"');
    });
    expect(await resolve(registry, ROBOT)).toContain(DIGEST);
    expect(await resolve(registry, { token: "own" })).toContain(DIGEST);
    for (const auth of [undefined, { token: "other" }, { username: "robot", password: "wrong-one" }]) {
      const error: unknown = await resolve(registry, auth).catch((error: unknown) => error);
      expect(error).toMatchObject(failure("denied"));
      expect(JSON.stringify(error) + String(error)).not.toMatch(/wrong-one|other/);
    }
  });

  test("are not shown to a token server of another domain", async () => {
    await using registry = await ScriptedRegistry.start((_, response) => {
      refuse(response, 'Bearer realm="https://collector.example.com/token"');
    });
    await expect(resolve(registry, ROBOT)).rejects.toMatchObject(failure("foreign_token_server"));
  });

  test("are not shown to the target of a redirect, whose challenge does not count", async () => {
    await using other = await ScriptedRegistry.start((_, response) => refuse(response, 'Basic realm="r"'));
    await using registry = await ScriptedRegistry.start((_, response) => {
      response.writeHead(307, { Location: `http://u:p@${other.host}/x` }).end();
    });
    for (const auth of [ROBOT, { token: "own" }])
      await expect(resolve(registry, auth, [other.host])).rejects.toMatchObject(failure("denied"));
    expect(other.requests.map(({ headers }) => headers.authorization)).toEqual([undefined, undefined]);
  });
});

describe("a registry", () => {
  test.each([
    [404, "not_found"],
    [403, "denied"],
    [418, "invalid_response"],
  ])("that says %i is asked once", async (status, reason) => {
    await using registry = await ScriptedRegistry.start((_, response) => response.writeHead(status).end());
    await expect(resolve(registry)).rejects.toMatchObject(failure(reason));
    expect(registry.asked).toHaveLength(1);
  });

  test.each([
    [429, "rate_limited"],
    [503, "unreachable"],
  ])("that says %i is asked once more", async (status, reason) => {
    await using registry = await ScriptedRegistry.start((_, response) => response.writeHead(status).end());
    await expect(resolve(registry)).rejects.toMatchObject(failure(reason));
    expect(registry.asked).toHaveLength(2);
    await using recovered = await ScriptedRegistry.start((_, response) => {
      if (recovered.requests.length === 1) response.writeHead(status).end();
      else tell(response);
    });
    expect(await resolve(recovered)).toContain(DIGEST);
  });

  test("that redirects to itself is asked six times", async () => {
    await using registry = await ScriptedRegistry.start((_, response) =>
      response.writeHead(302, { Location: "/again" }).end(),
    );
    await expect(resolve(registry)).rejects.toMatchObject(failure("too_many_redirects"));
    expect(registry.asked).toHaveLength(6);
  });

  test.each(["headers", "body"])("that sends no %s is given up", async (part) => {
    await using registry = await ScriptedRegistry.start(({ method }, response) => {
      if (part === "headers") return;
      response.writeHead(200, { "Content-Type": "application/vnd.oci.image.index.v1+json" });
      if (method === "HEAD") response.end();
      else response.write("{");
    });
    await expect(resolve(registry, undefined, [], impatientClock)).rejects.toMatchObject(failure("timeout"));
  });

  test("that is not there is unreachable", async () => {
    const registry = await ScriptedRegistry.start(() => {});
    const { host } = registry;
    await registry[Symbol.asyncDispose]();
    const images = new RegistryImages({ clock: quickClock, allowPrivate: [host] });
    await expect(images.resolve(`${host}/app`, undefined, never)).rejects.toMatchObject(failure("unreachable"));
  });

  test("is not waited for after the caller has gone", async () => {
    const caller = new AbortController();
    await using registry = await ScriptedRegistry.start(() => caller.abort(new Error("gone")));
    const images = new RegistryImages({ clock: quickClock, allowPrivate: [registry.host] });
    await expect(images.resolve(`${registry.host}/app`, undefined, caller.signal)).rejects.toThrow("gone");
  });
});
