import { connect, type Socket } from "node:net";
import { expect, test } from "vitest";
import { startControlPlane } from "../../support/control-plane.ts";
import { waitFor } from "../../support/wait-for.ts";

/** Shorter than the service's own, and longer than a busy machine takes for a request. */
const TIMES = { headersMs: 6_000, requestMs: 8_000, checkMs: 500, stallMs: 2_000 };

function open(port: number, bytes: string): Promise<Socket & { answer: () => string }> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, "127.0.0.1", () => {
      socket.write(bytes);
      resolve(Object.assign(socket, { answer: () => text }));
    });
    let text = "";
    socket.on("data", (chunk) => (text += chunk.toString("latin1")));
    socket.on("error", reject);
  });
}

test("slow clients get 408, and thousands of idle ones delay no other", async () => {
  await using control = await startControlPlane({ requestTimes: TIMES });
  const { apiKey } = await control.account();
  const { port } = control.server;
  const head = `POST /v1/assets/x/edge/apps HTTP/1.1\r\nHost: x\r\nX-API-Key: ${apiKey}\r\nContent-Type: application/json\r\n`;
  const slowHeaders = await open(port, "GET /healthz HTTP/1.1\r\nHost: x\r\nX-Slow:");
  const slowBody = await open(port, `${head}Content-Length: 100\r\n\r\n{"name":`);
  const slowChunks = await open(port, `${head}Transfer-Encoding: chunked\r\n\r\n5\r\n{"nam\r\n`);
  const idle = await Promise.all(Array.from({ length: 1000 }, () => open(port, "")));
  expect((await fetch(`${control.url}/healthz`)).status).toBe(200);
  for (const slow of [slowHeaders, slowBody, slowChunks]) {
    await waitFor("408", () => slow.answer().startsWith("HTTP/1.1 408 "));
    expect(slow.answer()).toContain('{"code":"BadRequest","message":"The request did not arrive in time."}');
  }
  for (const socket of idle) socket.destroy();
});

test("a client that takes nothing of its responses is disconnected, which frees what waits for it", async () => {
  await using control = await startControlPlane({ requestTimes: TIMES });
  const socket = await open(control.server.port, "");
  socket.pause();
  let isClosed = false;
  socket.on("error", () => (isClosed = true));
  // More than the kernel keeps for a connection. Node.js reads no further requests as long as responses wait.
  socket.write("GET /openapi.json HTTP/1.1\r\nHost: x\r\n\r\n".repeat(60));
  // A connection that is not read only notices that it was closed when it sends.
  await waitFor("the end of the connection", () => {
    if (!isClosed) socket.write("GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n");
    return isClosed;
  });
});
