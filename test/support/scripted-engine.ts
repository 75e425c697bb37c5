import { createServer } from "node:http";
import type { IncomingMessage, ServerResponse } from "node:http";
import { join } from "node:path";
import { tempDir } from "./temp-dir.ts";

/** Handles one call to the engine's API; may send no response. */
export type EngineScript = (request: IncomingMessage, response: ServerResponse) => void;

/** An engine socket whose responses the test writes. Disposing it closes it. */
export interface ScriptedEngine extends AsyncDisposable {
  readonly socketPath: string;
  /** Number of open connections. */
  connections(): Promise<number>;
}

/** Starts a scripted engine. @param socketPath default: a temporary path */
export async function startScriptedEngine(script: EngineScript, socketPath?: string): Promise<ScriptedEngine> {
  const directory = await tempDir();
  const path = socketPath ?? join(directory.path, "engine.sock");
  const server = createServer(script);
  // A client that gets no time for some seconds finds its connection open: Node.js closes idle ones after five.
  server.keepAliveTimeout = 0;
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(path, resolve);
  });
  return {
    socketPath: path,
    connections: () =>
      new Promise((resolve, reject) => {
        server.getConnections((error, count) => (error ? reject(error) : resolve(count)));
      }),
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => {
        server.close(resolve);
      });
      await directory[Symbol.asyncDispose]();
    },
  };
}
