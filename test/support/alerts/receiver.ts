import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

/** What a webhook got. */
export interface ReceivedEvent {
  readonly type: string;
  readonly data: Readonly<Record<string, unknown>>;
}

/** A server on loopback that takes the messages of webhooks. */
export async function startReceiver() {
  const received: ReceivedEvent[] = [];
  const server = createServer((request, response) => {
    let body = "";
    request.setEncoding("utf8").on("data", (chunk: string) => (body += chunk));
    request.on("end", () => {
      received.push(JSON.parse(body) as ReceivedEvent);
      response.end("thank you");
    });
  });
  await new Promise<void>((resolve) => {
    server.listen(0, "127.0.0.1", resolve);
  });
  const host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    received,
    host,
    url: `http://${host}/hook`,
    [Symbol.dispose]() {
      server.closeAllConnections();
      server.close();
    },
  };
}
