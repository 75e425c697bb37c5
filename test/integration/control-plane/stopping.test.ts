import { connect, type Socket } from "node:net";
import { afterEach, beforeEach, expect, test } from "vitest";
import { type ControlPlane, startControlPlane, type TestAccount } from "../../support/control-plane.ts";

let control: ControlPlane;
let account: TestAccount;

beforeEach(async () => {
  control = await startControlPlane();
  account = await control.account();
});
afterEach(() => control[Symbol.asyncDispose]());

/** A connection with an unfinished request when the server begins to stop, so that it is not closed as idle. */
async function underWay(start: string): Promise<Socket> {
  const socket = connect(control.server.port, "127.0.0.1");
  const answered = new Promise((resolve) => {
    socket.once("data", resolve);
  });
  // In one write with a complete request: once that is answered, the server has read the start of the next.
  socket.write(`GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n${start}`);
  await answered;
  return socket;
}

/** Sends the rest of the request and returns everything received until the connection is closed. */
function finish(socket: Socket, rest: string): Promise<string> {
  return new Promise((resolve, reject) => {
    let text = "";
    socket.setEncoding("latin1");
    socket.on("data", (chunk: string) => (text += chunk));
    socket.on("close", () => resolve(text));
    socket.on("error", reject);
    socket.write(rest);
  });
}

/** The response to a request that began before the server was told to stop and ended after. */
async function answerWhileStopping(requestLine: string, headers: readonly string[]): Promise<string> {
  const socket = await underWay(`${requestLine} HTTP/1.1\r\nHost: x\r\n`);
  const stopped = control.server.stop();
  const answer = await finish(socket, [...headers, "", ""].join("\r\n"));
  await stopped;
  return answer;
}

const REFUSAL = '{"code":"ServiceUnavailable","message":"The service is stopping."}';

test("the API responds with 503 and Retry-After", async () => {
  const answer = await answerWhileStopping("GET /v1/assets", [`X-API-Key: ${account.apiKey}`, "Connection: close"]);
  expect(answer).toMatch(/^HTTP\/1\.1 503 /);
  expect(answer).toMatch(/^retry-after: \d+\r$/im);
  expect(answer).toContain(REFUSAL);
});

test("the deploy endpoint answers 503 with one Fail event, and takes no deployment", async () => {
  const { uuid } = await control.asset(account);
  const body = JSON.stringify({ name: "web", image: "web:1" });
  const socket = await underWay(`POST /v1/assets/${uuid}/edge/apps HTTP/1.1\r\nHost: x\r\n`);
  const stopped = control.server.stop();
  const headers = [`X-API-Key: ${account.apiKey}`, "Content-Type: application/json", `Content-Length: ${body.length}`];
  const answer = await finish(socket, `${headers.join("\r\n")}\r\nConnection: close\r\n\r\n${body}`);
  await stopped;
  expect(answer).toMatch(/^HTTP\/1\.1 503 /);
  expect(answer).toMatch(/^content-type: text\/event-stream/im);
  expect(answer.match(/^data: .*$/gm)).toEqual([expect.stringContaining('"code":"ServiceUnavailable"')]);
  expect((await control.store.deployments.listDeployments(uuid, 10)).deployments).toEqual([]);
});

test("a wrong key gets the usual response", async () => {
  const answer = await answerWhileStopping("GET /v1/assets", ["X-API-Key: ek_wrong", "Connection: close"]);
  expect(answer).toMatch(/^HTTP\/1\.1 401 /);
});

test("/readyz answers 503, so that no new request is sent here, and /healthz 200", async () => {
  const [ready, alive] = await Promise.all([
    underWay("GET /readyz HTTP/1.1\r\n"),
    underWay("GET /healthz HTTP/1.1\r\n"),
  ]);
  const stopped = control.server.stop();
  const rest = "Host: x\r\nConnection: close\r\n\r\n";
  const [readiness, liveness] = await Promise.all([finish(ready, rest), finish(alive, rest)]);
  await stopped;
  expect(readiness).toMatch(/^HTTP\/1\.1 503 /);
  expect(readiness).toContain(REFUSAL);
  expect(liveness).toMatch(/^HTTP\/1\.1 200 /);
});

test("a device that connects gets 503 with Retry-After", async () => {
  const { deviceToken } = await control.asset(account);
  const answer = await answerWhileStopping("GET /v1/agent", [
    `Authorization: Bearer ${deviceToken}`,
    "Upgrade: websocket",
    "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
    "Sec-WebSocket-Version: 13",
    "Connection: Upgrade",
  ]);
  expect(answer).toMatch(/^HTTP\/1\.1 503 /);
  expect(answer).toMatch(/^retry-after: \d+\r$/im);
  expect(answer).toContain(REFUSAL);
});

test("after it has stopped no connection is accepted", async () => {
  await control.server.stop();
  await expect(fetch(`${control.url}/healthz`)).rejects.toThrow("fetch failed");
});
