import { afterAll, beforeAll, expect, test } from "vitest";
import type { LookupAll } from "../../../../src/control-plane/images/public-address.ts";
import { RegistryImages } from "../../../../src/control-plane/images/registry-images.ts";
import { systemClock } from "../../../../src/lib/clock.ts";
import { type Certificate, CertificateAuthority } from "../../../support/link/certificates.ts";
import { ScriptedRegistry } from "../../../support/registry/scripted-registry.ts";
import { tempDir } from "../../../support/temp-dir.ts";

const DIGEST = `sha256:${"a".repeat(64)}`;
const never = new AbortController().signal;

let directory: Awaited<ReturnType<typeof tempDir>>;
let authority: CertificateAuthority;
let certificate: Certificate;
beforeAll(async () => {
  directory = await tempDir();
  authority = await CertificateAuthority.create(directory.path, "authority");
  certificate = await authority.issue("DNS:registry.example.com,IP:127.0.0.1");
});
afterAll(() => directory[Symbol.asyncDispose]());

const isPublic = (address: string): boolean => address === "127.0.0.1";

/** Resolves the names to these addresses, one for each connection; 127.0.0.1 stands for a public address. */
function imagesOf(addresses: readonly string[], allowPrivate: readonly string[] = []) {
  const left = [...addresses];
  const lookup: LookupAll = (_name, _options, callback) => callback(null, [{ address: left.shift() ?? "", family: 4 }]);
  const clock = { ...systemClock, sleep: async () => {} };
  return new RegistryImages({ clock, allowPrivate, lookup, isPublic, ca: authority.cert });
}

const refused = { code: "ImageNotResolved", details: { reason: "private_address" } };
const insecure = { code: "ImageNotResolved", details: { reason: "no_tls" } };

test("the address of each connection is checked, also if the name had another one before", async () => {
  await using registry = await ScriptedRegistry.start((request, response) => {
    if (request.method === "GET") response.end(JSON.stringify({ token: "t" }));
    else if (request.headers.authorization === "Bearer t")
      response.writeHead(200, { "Docker-Content-Digest": DIGEST }).end();
    else {
      const realm = `https://registry.example.com:${registry.port}/token`;
      response.writeHead(401, { "WWW-Authenticate": `Bearer realm="${realm}"` }).end();
    }
  }, certificate);
  const reference = `registry.example.com:${registry.port}/app:1`;
  const own = "127.0.0.1";
  expect(await imagesOf([own, own, own]).resolve(reference, undefined, never)).toBe(`${reference}@${DIGEST}`);
  for (const [addresses, requests] of [
    [["127.0.0.2"], 0],
    [[own, "127.0.0.2"], 1],
    [[own, own, "127.0.0.2"], 2],
  ] as const) {
    registry.requests.length = 0;
    await expect(imagesOf(addresses).resolve(reference, undefined, never)).rejects.toMatchObject(refused);
    expect(registry.requests).toHaveLength(requests);
  }
});

test.each([
  ["redirects", (to: string) => [307, { Location: to }] as const],
  ["names a token server", (to: string) => [401, { "WWW-Authenticate": `Bearer realm="${to}"` }] as const],
])("a public registry that %s reaches neither private addresses nor allowed hosts", async (_, lead) => {
  await using inside = await ScriptedRegistry.start((_, response) => response.end("{}"));
  let target = "";
  await using registry = await ScriptedRegistry.start((_, response) => {
    const [status, headers] = lead(target);
    response.writeHead(status, headers).end();
  }, certificate);
  const resolve = (allowed: readonly string[]) =>
    imagesOf(["127.0.0.1"], allowed).resolve(`registry.example.com:${registry.port}/app:1`, undefined, never);
  for (target of ["https://127.0.0.2/x", "https://[::1]/x", "https://[::ffff:127.0.0.1]/x", "https://10.1/x"]) {
    await expect(resolve([])).rejects.toMatchObject(refused);
    await expect(resolve([new URL(target).host])).rejects.toMatchObject(refused);
  }
  target = `http://${inside.host}/x`;
  await expect(resolve([])).rejects.toMatchObject(insecure);
  await expect(resolve([inside.host])).rejects.toMatchObject(insecure);
  expect(inside.requests).toEqual([]);
});

test("a certificate must be valid, and the port of an allowed host is compared", async () => {
  await using registry = await ScriptedRegistry.start((_, response) => response.end(), certificate);
  const other = imagesOf(["127.0.0.1"]).resolve(`other.example.com:${registry.port}/app:1`, undefined, never);
  await expect(other).rejects.toMatchObject({ details: { reason: "unreachable" } });
  const images = imagesOf([], [`127.0.0.2:${registry.port + 1}`]);
  await expect(images.resolve(`127.0.0.2:${registry.port}/app:1`, undefined, never)).rejects.toMatchObject(refused);
  expect(registry.requests).toEqual([]);
});
