import { type AddressInfo, createServer } from "node:net";
import { expect, test } from "vitest";
import { RegistryImages } from "../../../../src/control-plane/images/registry-images.ts";
import { systemClock } from "../../../../src/lib/clock.ts";
import { ScriptedRegistry } from "../../../support/registry/scripted-registry.ts";

/** First byte of a TLS connection. */
const TLS_HANDSHAKE = 0x16;

const never = new AbortController().signal;
/** Does not pause before a retry. */
const quickClock = { ...systemClock, sleep: async () => {} };
/** Ten seconds pass in a tenth of one. For what ends only by the timeout. */
const impatientClock = {
  ...quickClock,
  timer: (ms: number, callback: () => void) => systemClock.timer(ms / 100, callback),
};

const REFUSAL = { code: "ImageNotResolved" };

/** Starts a server on loopback over plain TCP that sends these bytes for each request, and resets the handshakes of TLS. */
async function startServer(bytes: string) {
  const server = createServer((socket) => {
    socket.on("error", () => undefined);
    socket.on("data", (data) => {
      if (data[0] === TLS_HANDSHAKE) socket.resetAndDestroy();
      else socket.write(bytes);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    host: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    [Symbol.asyncDispose]: () => new Promise<void>((resolve) => server.close(() => resolve())),
  };
}

async function resolveFrom(bytes: string, clock = quickClock): Promise<unknown> {
  await using server = await startServer(bytes);
  const images = new RegistryImages({ clock, allowPrivate: [server.host] });
  return await images.resolve(`${server.host}/app:1`, undefined, never);
}

function response(status: string, ...headers: readonly string[]): string {
  return [`HTTP/1.1 ${status}`, ...headers, "Content-Length: 0", "", ""].join("\r\n");
}

const digest = (digit: string): string => `Docker-Content-Digest: sha256:${digit.repeat(64)}`;

test.each([
  [
    "a switch of protocols",
    "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n",
    "invalid_response",
  ],
  ["only informational responses", "HTTP/1.1 103 Early Hints\r\n\r\n".repeat(1000), "timeout"],
  ["headers without an end", `HTTP/1.1 200 OK\r\nA: ${"x".repeat(100_000)}`, "unreachable"],
  ["no HTTP", "SSH-2.0-OpenSSH_9.9\r\n", "unreachable"],
  ["a redirect to no address", response("307 Moved", "Location: http://["), "invalid_response"],
  ["a redirect to a file", response("307 Moved", "Location: file:///etc/passwd"), "invalid_response"],
  ["two digests", response("200 OK", digest("a"), digest("b")), "invalid_response"],
  ["a realm that is no address", response("401 No", 'WWW-Authenticate: Bearer realm="gopher://x"'), "invalid_response"],
])("%s ends as ImageNotResolved", async (_, bytes, reason) => {
  const clock = reason === "timeout" ? impatientClock : quickClock;
  await expect(resolveFrom(bytes, clock)).rejects.toMatchObject({ ...REFUSAL, details: { reason } });
});

test("an allowed registry that resets the handshakes of TLS is asked without TLS", async () => {
  expect(await resolveFrom(response("200 OK", digest("a")))).toMatch(/@sha256:a{64}$/);
});

test.each(["more than 64 KiB", "no JSON", "a token with a line break"])("a token server sends %s", async (what) => {
  const bodies: Record<string, string> = {
    "more than 64 KiB": "x".repeat(100_000),
    "a token with a line break": JSON.stringify({ token: "a\nb" }),
  };
  await using registry = await ScriptedRegistry.start((request, answer) => {
    if (request.url?.startsWith("/token")) answer.end(bodies[what] ?? "<html>");
    else answer.writeHead(401, { "WWW-Authenticate": `Bearer realm="http://${registry.host}/token"` }).end();
  });
  const images = new RegistryImages({ clock: quickClock, allowPrivate: [registry.host] });
  const refusal = { ...REFUSAL, details: { reason: "invalid_response" } };
  await expect(images.resolve(`${registry.host}/app:1`, undefined, never)).rejects.toMatchObject(refusal);
});

test("a token that cannot be in a header is refused without a request", async () => {
  await using registry = await ScriptedRegistry.start((_, answer) => answer.end());
  const images = new RegistryImages({ clock: quickClock, allowPrivate: [registry.host] });
  const resolved = images.resolve(`${registry.host}/app:1`, { token: "a\r\nX-Injected: b" }, never);
  await expect(resolved).rejects.toMatchObject({ ...REFUSAL, details: { reason: "denied" } });
  expect(registry.requests).toEqual([]);
});

test("a name server that never responds is given up", async () => {
  let asked = 0;
  const images = new RegistryImages({ clock: impatientClock, allowPrivate: [], lookup: () => void asked++ });
  const resolved = images.resolve("registry.example.com/app:1", undefined, never);
  await expect(resolved).rejects.toMatchObject({ ...REFUSAL, details: { reason: "timeout" } });
  expect(asked).toBe(1);
});
