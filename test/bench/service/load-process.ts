import { KeepAliveClient, type Target, requestFor } from "./keep-alive-client.ts";

/** Message to this process, one for each window. */
export interface LoadOrder {
  readonly target: Target;
  readonly connections: number;
  readonly ms: number;
}

/** Its reply. */
export interface LoadReport {
  /** Responses within the window. */
  readonly requests: number;
  /** Actual duration of the window. */
  readonly ms: number;
}

async function load({ target, connections, ms }: LoadOrder): Promise<LoadReport> {
  using clients = new DisposableStack();
  const request = requestFor(target);
  const open = await Promise.all(Array.from({ length: connections }, () => KeepAliveClient.connect(target)));
  for (const client of open) clients.use(client);
  const start = performance.now();
  let requests = 0;
  await Promise.all(
    open.map(async (client) => {
      while (performance.now() - start < ms) {
        await client.ask(request);
        requests++;
      }
    }),
  );
  return { requests, ms: performance.now() - start };
}

process.on("message", (order: LoadOrder) => {
  void load(order).then((report) => process.send?.(report));
});
