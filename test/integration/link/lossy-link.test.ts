import { once } from "node:events";
import { connect, createServer, type AddressInfo } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { LossyLink } from "../../support/link/lossy-link.ts";
import { waitFor } from "../../support/wait-for.ts";

const SENT = 4_000_000;

async function startSource(): Promise<number> {
  const server = createServer((socket) => {
    socket.on("error", () => {});
    socket.end(Buffer.alloc(SENT));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => void server.close());
  return (server.address() as AddressInfo).port;
}

test("a link with a rate holds few bytes of a client that does not read", async () => {
  await using link = await LossyLink.to(await startSource(), { bytesPerSecond: 100_000_000 });
  const client = connect({
    port: link.port,
    host: "127.0.0.1",
    onread: { buffer: Buffer.alloc(1), callback: () => false },
  });
  onTestFinished(() => void client.destroy());
  await waitFor("the link to be full", () => link.received > 60_000);
  // It gives the client all it takes, and then waits for it.
  let before = -1;
  let same = 0;
  await waitFor("the link to rest", () => {
    same = link.received === before ? same + 1 : 0;
    before = link.received;
    return same === 10;
  });
  expect(link.received).toBeLessThan(500_000);
});

test("a cut loses nothing that has reached the client", async () => {
  await using link = await LossyLink.to(await startSource(), { bytesPerSecond: 50_000_000, cutAfter: 300_000 });
  const client = connect(link.port, "127.0.0.1");
  const closed = Promise.withResolvers<void>();
  client.on("close", () => closed.resolve());
  let read = 0;
  client.on("error", () => {});
  client.on("data", (chunk: Buffer) => {
    read += chunk.length;
    // Slower than the link.
    client.pause();
    setTimeout(() => client.resume(), 2);
  });
  await closed.promise;
  expect([read, link.received, link.cuts]).toEqual([300_000, 300_000, 1]);
});
