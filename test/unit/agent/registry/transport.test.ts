import { type AddressInfo, createServer } from "node:net";
import { expect, test } from "vitest";
import { Transport } from "../../../../src/agent/registry/transport.ts";
import { systemClock } from "../../../../src/lib/clock.ts";

test("a server that switches protocols without being asked to is an error", async () => {
  const server = createServer((socket) => {
    socket.on("error", () => undefined);
    socket.once("data", () => {
      socket.write("HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n");
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const url = new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}/v2/`);
  const transport = new Transport({ clock: systemClock, userAgent: "test", responseTimeoutMs: 5_000 });
  const request = { method: "GET", url, headers: {}, trust: { insecure: true } } as const;
  const { signal } = new AbortController();
  await expect(transport.send(request, signal)).rejects.toMatchObject({
    kind: "unsupported",
    message: expect.stringContaining("does not respond with HTTP") as string,
  });
  await new Promise((resolve) => server.close(resolve));
});
