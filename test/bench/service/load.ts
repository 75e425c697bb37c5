import { fork } from "node:child_process";
import { once } from "node:events";
import type { Target } from "./keep-alive-client.ts";
import type { LoadOrder, LoadReport } from "./load-process.ts";

/** A process that generates load. */
export interface Load extends AsyncDisposable {
  /** Sends requests on `connections` connections for the given time. Returns the responses per second. */
  perSecond(target: Target, connections: number, ms: number): Promise<number>;
}

export function startLoad(): Load {
  const child = fork("test/bench/service/load-process.ts", { execPath: "dist/node", stdio: "inherit" });
  const ended = once(child, "exit");
  const failed = ended.then(([code, signal]) => {
    throw new Error(`the load process ended early: ${String(signal ?? code)}`);
  });
  failed.catch(() => {});
  return {
    async perSecond(target, connections, ms) {
      const report = once(child, "message");
      child.send({ target, connections, ms } satisfies LoadOrder);
      const [{ requests, ms: took }] = (await Promise.race([report, failed])) as [LoadReport];
      return (requests / took) * 1000;
    },
    async [Symbol.asyncDispose]() {
      child.kill();
      await ended;
    },
  };
}
